"""Every call of the system that a writing command makes fails once, in turn. The command ends with an exit code and a
message, or does without that call; the old file or the new one is there, whole, and nothing beside it.

    failing_calls.py BINARY SHIM
"""
import errno
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from tool import draws_png, environment

BINARY, SHIM = map(os.path.abspath, sys.argv[1:3])
ERRORS = {"open": errno.ENOSPC, "read": errno.EIO, "write": errno.ENOSPC, "fwrite": errno.ENOSPC, "fflush": errno.ENOSPC,
          "close": errno.EIO, "dup": errno.EMFILE, "fsync": errno.EIO, "fchmod": errno.EPERM, "rename": errno.EACCES,
          "mmap": errno.ENOMEM, "pthread_create": errno.EAGAIN}
# Files of a few pieces: a call in the middle of many is as another.
COMMANDS = [("convert a.mtx -o c.mtx", "c.mtx"), ("convert a.mtx.gz -o c.mtx.gz", "c.mtx.gz"),
            ("convert a.mtx.zst -o c.mtx.zst", "c.mtx.zst"), ("generate stencil:n=20 -o c.mtx", "c.mtx"),
            ("spgemm a.mtx a.mtx -o c.mtx", "c.mtx"), ("spmv a.mtx --repeat 1 --no-bandwidth -o y.mtx", "y.mtx"),
            ("spy a.mtx -o a.svg", "a.svg")]
BENCH = [("bench gen:diagonal:n=4 --backend cpu --no-bandwidth --warm --warmup 0 --repeat 1 --kernels csr.serial -o run.json", "run.json")]
PNG = [("spy a.mtx -o a.png", "a.png")]  # other calls are those of the libraries that look for fonts, and do without one
MOST_CALLS = 300


def run(folder, command, more=None):
    done = subprocess.run([BINARY, *command.split()], cwd=folder, env=environment(folder.parent) | (more or {}), timeout=60,
                          capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.decode(errors="replace")


def contents(folder):
    return {f.name: f.read_bytes() for f in folder.iterdir()}


def complaint(code, said, before, after, file, new, call):
    if code not in range(6):
        return f"exit code {code}"
    if code and call == "pthread_create":
        return f"exit code {code}: a thread that cannot be started is done without"
    if code and "tulle: " not in said:
        return f"exit code {code} without a message"
    if code == 0 and new is not None and after.get(file) != new:
        return "success, and not the new file"
    if {name: bytes for name, bytes in after.items() if name != file} != {name: bytes for name, bytes in before.items() if name != file}:
        return f"files are there: {sorted(after)}"
    lost = call in ("fwrite", "fflush")  # of what is printed: the file may be complete
    if code and after[file] != before[file] and not (lost and new in (None, after[file])):
        return "the old file is changed"
    return None


def fail_each(folder, mark, command, file, calls):
    """A complaint for each call that does not end well, and how many calls there were."""
    assert run(folder, command)[0] == 0, command
    is_record = file.endswith(".json")
    new = None if is_record else (folder / file).read_bytes()
    old = (folder / file).read_bytes() if is_record else b"old"
    found, tried = [], 0
    for call in calls:
        for number in range(1, MOST_CALLS + 1):
            (folder / file).write_bytes(old)
            before = contents(folder)
            code, said = run(folder, command, {"LD_PRELOAD": SHIM, "TULLE_FAIL_CALL": call, "TULLE_FAIL_NUMBER": str(number),
                                               "TULLE_FAIL_ERRNO": str(ERRORS[call]), "TULLE_FAIL_MARK": str(mark)})
            if not mark.exists():
                assert code == 0, (command, code, said)
                break
            mark.unlink()
            tried += 1
            wrong = complaint(code, said, before, contents(folder), file, new, call)
            if wrong:
                found.append(f"tulle {command}: {call} {number}: {wrong}\n{said}")
        else:
            found.append(f"tulle {command}: more than {MOST_CALLS} calls of {call}")
    (folder / file).unlink()
    return found, tried


def main():
    found, tried = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder, mark = pathlib.Path(name) / "work", pathlib.Path(name) / "mark"
        folder.mkdir()
        for file in ("a.mtx", "a.mtx.gz", "a.mtx.zst"):
            assert run(folder, f"generate stencil:n=20 -o {file}")[0] == 0
        for command, file in COMMANDS:
            more = fail_each(folder, mark, command, file, ERRORS)
            found, tried = found + more[0], tried + more[1]
        for command, file in BENCH:
            more = fail_each(folder, mark, command, file, ["open", "write", "close", "rename"])
            found, tried = found + more[0], tried + more[1]
        for command, file in PNG if draws_png(BINARY) else []:
            more = fail_each(folder, mark, command, file, ["write", "fsync", "fchmod", "rename"])
            found, tried = found + more[0], tried + more[1]
    print("\n".join(found))
    print(f"{tried} calls failed, {len(found)} complaints")
    sys.exit(1 if found or not tried else 0)


main()

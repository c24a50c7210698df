"""What commands print at 80 and at 120 columns, in a pipe and on a terminal: every line fits, colour is on the terminal alone,
and but for that both print what the transcript has: widths.py BINARY TRANSCRIPT [--update].

Numbers and their units stand as #, what depends on them as ?; a line that was broken is one line again, and space between
columns is two blanks.
"""
import difflib
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import threading

from tool import environment

MESH = "gen:stencil:points=7,n=9,values=spd"
QUICK = f"bench {{}} --no-bandwidth --backend cpu --warmup 1 --repeat 3 {MESH}"
# So short a name that it stays on one line of a comparison, whatever the widths of its times.
TWICE = "bench spmv --warm --kernels csr.split_rows --no-bandwidth --backend cpu --warmup 1 --repeat 3 gen:stencil:n=99"
COMMANDS = ["generate --list", f"info {MESH}", "info gen:fem:n=4,dof=3 --gather --method rcm", "kernels --backend cpu", "kernels gen:arrow:n=9000 --backend cpu",
            f"spmv {MESH} --kernel csr.balanced --verify", f"spmv {MESH} --kernel packed --precision mixed --tolerance 1e-3 --explain",
            "spmv gen:stencil:points=7,n=9,values=integer --kernel all --precision i32 --verify", f"spgemm {MESH} {MESH} --kernel gustavson --verify", f"solve {MESH} --kernel cg.operations",
            f"permute {MESH} --method random --repeat 3", QUICK.format("spmv --kernels csr.split_rows"), QUICK.format("spmm --kernels csr.balanced"),
            QUICK.format("spmv --warm --kernels csr.split_rows --passes"), QUICK.format("spmv --kernels csr.split_rows --latency"),
            QUICK.format("spmv --warm --sweep threads --kernels csr.rows"), QUICK.format("spgemm --kernels gustavson"),
            QUICK.format("solve --kernels cg.operations"), f"{TWICE} --compare old.json --allow 1000"]
FITS = ["doctor --threads 1", QUICK.format("spmv --no-diagnosis"), QUICK.format("spmv --precision-study --warm"), QUICK.format("solve")]  # and varies from machine to machine
PATIENCE = 120  # seconds for a command, which takes one at most on a quiet machine
SGR = re.compile(r"\x1b\[[0-9;]*m")
MASKS = [(r"(?<![\w.,=:-])~?-?\d[\d,.]*(?:e[-+]?\d+)?(?: (?:[num]?s|[kMGT]?B(?:/s)?)\b)?", "#"), (r"# - #|#%", "#"),
         (r"# +(bandwidth|latency|gather|imbalance)\b.*", "#  ?"), (r"# +-(?: +(?:bandwidth )?not measured.*)?$", "#  ?"), (r"\[threads=[^]]*\]", "[?]"), (r"(on cpu  +).*", r"\1?"),
         (r"^(.*): (read|launch) #.*", "?"), (r"(was not measured: ).*", r"\1?"), (r"(SpMV +).*(, medians)", r"\1?\2"), (r"(gain +#x, ).*", r"\1?"),
         (r"(preconditioner jacobi; ).*", r"\1?"), (r"REGRESSION", ""), (r", # slower by more than", ", ? slower by more than"),
         (r"[* ] (\S+, warm  )", r"  \1"), (r"  ~ other processes.*", ""), (r": out of caches", ""),
         (r"  because$|because, ", ""), (r"  \(# columns are too few for: because\)", "")]


def threads_of(process):
    """What the threads of a process that does not end wait for: a line each, of where the kernel waits and the system call."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    return "".join(f"\n  {task.name}: {[(task / what).read_text().strip() for what in ('wchan', 'syscall')]}" for task in tasks.iterdir())


def stop(process, said):
    try:
        said.append(f"no end within {PATIENCE} s; its threads:{threads_of(process)}")
    except OSError as e:
        said.append(f"no end within {PATIENCE} s: {e}")
    process.kill()


def run(binary, command, columns, folder, home, terminal):
    env = environment(home) | {"COLUMNS": str(columns)}
    if terminal:
        del env["NO_COLOR"]
    ours, theirs = pty.openpty() if terminal else os.pipe()
    said = []
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen([binary, *command.split()], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=err)
        os.close(theirs)
        timer = threading.Timer(PATIENCE, stop, [process, said])
        timer.start()
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # that is how a terminal ends
            pass
        os.close(ours)
        code = process.wait()
        timer.cancel()
        err.seek(0)
        return code, text.decode().replace("\r\n", "\n"), "".join(said) + err.read().decode()


def normalised(text):
    lines = []
    for line in text.splitlines():
        if line.startswith("    ") and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    for i, line in enumerate(lines):
        for pattern, replacement in MASKS:
            line = re.sub(pattern, replacement, line)
        lines[i] = re.sub(r"(?<=\S)   +", "  ", line).rstrip()
    return [line for line in lines if line]


def main():
    binary, transcript = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    complaints, actual = [], []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        old = run(binary, f"{TWICE} -o old.json", 100, folder, home, False)
        assert old[0] == 0, old
        record = pathlib.Path(folder, "old.json")
        run_before = json.loads(record.read_text())
        for benchmark in run_before["benchmarks"]:
            benchmark["upper_quartile"] = 1e12  # no disturbance is slower than that
        record.write_text(json.dumps(run_before))
        for command in COMMANDS + FITS:
            for columns in (80, 120):
                seen = []
                if command in FITS and columns == 120:
                    continue  # wider is easier, and these take long
                for terminal in (False, True) if command in COMMANDS else (True,):
                    where = f"{command} ({columns} columns, {'terminal' if terminal else 'pipe'})"
                    code, text, err = run(binary, command, columns, folder, home, terminal)
                    plain = SGR.sub("", text)
                    complaints += [f"{where}: exit code {code}: {err}"] * (code != 0)
                    complaints += [f"{where}: {len(line)} columns: {line}" for line in plain.splitlines() if len(line) > columns]
                    complaints += [f"{where}: colour in a pipe"] * ("\x1b" in text and not terminal)
                    complaints += [f"{where}: control characters"] * ("\x1b" in plain)
                    seen.append(normalised(plain))
                if command in COMMANDS:
                    complaints += [f"{command}: on a terminal:\n" + "\n".join(difflib.unified_diff(*seen, lineterm=""))] * (seen[0] != seen[1])
                    actual += [f"$ {command}  # {columns} columns", *seen[0]]
        code, text, _ = run(binary, f"{COMMANDS[5]} --color always", 80, folder, home, False)
        complaints += ["--color always: no colour"] * ("\x1b[32m" not in text)
        code, text, _ = run(binary, f"{COMMANDS[5]} --color never", 80, folder, home, True)
        complaints += ["--color never: colour"] * ("\x1b" in text)
        complaints += ["verified is not green on a terminal"] * ("\x1b[32m" not in run(binary, COMMANDS[5], 80, folder, home, True)[1])
    if "--update" in sys.argv:
        transcript.write_text("\n".join(actual) + "\n")
    else:
        complaints += difflib.unified_diff(transcript.read_text().splitlines(), actual, str(transcript), "now", lineterm="")
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


main()

"""What the tests of the command line share: running the binary, and where the files outside the tree are."""
import csv
import lzma
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # the exit code that CTest takes for a skipped test


def environment(home):
    """The same everywhere: no colour, lines that nothing breaks, no GPU, no cache from an earlier run, two threads that do not
    spin."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TULLE_", "OMP_"))}
    return kept | {"HOME": str(home), "TULLE_CACHE_DIR": str(home), "NO_COLOR": "1", "CUDA_VISIBLE_DEVICES": "",
                   "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "LC_ALL": "C", "COLUMNS": "1000", "TERM": "xterm"}


def draws_png(binary):
    """Whether it is built with cairo."""
    done = subprocess.run([binary, "spy", "no such file", "-o", "a.png"], capture_output=True, stdin=subprocess.DEVNULL)
    return b"without cairo" not in done.stderr


class Outcome:
    """Exit code (negative: the signal), output, processor seconds (steady on a busy machine) and peak resident bytes
    of one command."""

    def __init__(self, binary, *arguments, timeout=60, address_space=None):
        def limit():
            if address_space:
                resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryDirectory() as home:
            process = subprocess.Popen([binary, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=environment(home), preexec_fn=limit)
            usage = self._wait(process, time.monotonic() + timeout)
            self.code = process.returncode
            self.seconds = usage.ru_utime + usage.ru_stime
            self.peak_bytes = usage.ru_maxrss * 1024
            out.seek(0), err.seek(0)
            self.stdout, self.stderr = out.read().decode(), err.read().decode()

    @staticmethod
    def _wait(process, deadline):
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return usage
            if time.monotonic() > deadline:
                process.kill()
                deadline = float("inf")
            time.sleep(0.002)


def shared(folder):
    """A folder of the files that are not part of the tree; ends the test as skipped where there is none."""
    root = os.environ.get("TULLE_SHARED") or pathlib.Path(__file__).resolve().parents[3] / "shared"
    path = pathlib.Path(root) / folder
    if not path.is_dir():
        print(f"skipped: {path} is not there (TULLE_SHARED names the folder that holds {folder})")
        sys.exit(SKIPPED)
    return path


def check_files(folder, index, complaints, takes=lambda entry: True):
    """Unpacks every file that the index of a shared folder lists and `takes` does not turn down, prints what
    complaints(entry, file) finds wrong with it, and ends the test."""
    folder = shared(folder)
    entries = [entry for entry in csv.DictReader((folder / index).open(), delimiter="\t") if takes(entry)]
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for entry in entries:
            file = folder / entry["file"]
            unpacked = pathlib.Path(scratch) / file.stem if file.suffix == ".xz" else None
            if unpacked:
                unpacked.write_bytes(lzma.decompress(file.read_bytes()))
            for complaint in complaints(entry, unpacked or file):
                failures += 1
                print(f"{entry['file']} ({entry.get('expectation', '-')}): {complaint}")
            if unpacked:
                unpacked.unlink()  # nothing outside the scratch folder is ever touched
    print(f"{len(entries)} files, {failures} complaints")
    sys.exit(1 if failures or not entries else 0)

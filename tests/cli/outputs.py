"""What commands leave behind: streams that are closed or full, files that cannot be written, signals, names that are not
to be overwritten: outputs.py BINARY."""
import contextlib
import errno
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from tool import draws_png, environment

BINARY = os.path.abspath(sys.argv.pop(1))
ALWAYS = ["info a.mtx", "kernels", "spmv a.mtx", "spgemm a.mtx a.mtx --json", "generate --list", "--help", "--version", "help solve", "completions bash",
          "spmv --help", "convert a.mtx -o -", "spmv a.mtx -o -", "solve gen:stencil:n=4,values=spd",
          "solve gen:stencil:n=4,values=spd -o -", "solve gen:stencil:n=4,values=spd --plot -",
          "permute a.mtx --repeat 0 --save-permutation -"]  # what these print is what they are for
FILES = [("convert a.mtx -o c.mtx", "c.mtx"), ("convert a.mtx -o c.mtx.gz", "c.mtx.gz"),
         ("convert a.mtx -o c.mtx.zst", "c.mtx.zst"), ("generate stencil:n=12 -o c.mtx", "c.mtx"),
         ("spgemm a.mtx a.mtx -o c.mtx", "c.mtx"), ("spmv a.mtx -o y.mtx", "y.mtx"), ("spmv a.mtx -o y.mtx.gz", "y.mtx.gz"),
         ("permute a.mtx --repeat 0 -o c.mtx", "c.mtx"), ("permute a.mtx --repeat 0 --save-permutation p.txt", "p.txt"),
         ("solve gen:stencil:n=8,values=spd -o x.mtx", "x.mtx"), ("solve gen:stencil:n=8,values=spd -o x.mtx.gz", "x.mtx.gz"),
         ("solve gen:stencil:n=8,values=spd --plot r.svg", "r.svg"), ("spy a.mtx --compare -o b.svg", "b.svg"),
         ("spy a.mtx -o a.svg", "a.svg"), ("info a.mtx --plot a.svg", "a.svg")]
if draws_png(BINARY):
    FILES.append(("spy a.mtx --size 2000 -o a.png", "a.png"))
FAILING = {"info nofile": 3, "nocommand": 2, "info": 2, "spgemm a.mtx a.mtx --kernel nothing": 2, "info nofile --json": 3,
           "convert nofile -o c.mtx": 3}
BENCH = "bench gen:diagonal:n=4 --no-bandwidth --backend cpu --warm --warmup 0 --repeat 1 --kernels csr.serial -o {}"


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        home = tempfile.TemporaryDirectory()  # of the cache, which is no output
        self.addCleanup(home.cleanup)
        self.home = home.name
        self.assertEqual(self.run_it("generate stencil:n=12 -o a.mtx")[0], 0)

    def start(self, command, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([BINARY, *command.split()], cwd=self.folder, env=environment(self.home), **options)

    def run_it(self, command, **options):
        process = self.start(command, **options)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def limited(self, command, size=100):
        """With files of `size` bytes at most, as on a full disk."""
        return self.run_it(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))

    def files(self):
        return sorted(f.name for f in self.folder.iterdir())

    def has_begun(self):
        """Whether something is written to: an empty file may be the one that shows that the folder can be written to."""
        with contextlib.suppress(FileNotFoundError):
            return any(f.name != "a.mtx" and f.stat().st_size > 0 for f in self.folder.iterdir())
        return False

    def wait_until_it_writes(self, process, seconds=30):
        deadline = time.monotonic() + seconds
        while not self.has_begun() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)

    def on_a_terminal(self, command):
        """The exit code, what goes to standard output, and what a terminal is shown meanwhile."""
        terminal, end = pty.openpty()
        process = self.start(command, stderr=end)
        os.close(end)
        said = b""
        with contextlib.suppress(OSError):  # that is how a terminal ends
            while piece := os.read(terminal, 4096):  # at once: a full terminal stops the process
                said += piece
        os.close(terminal)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out, said

    def test_a_stream_that_is_closed_or_full_ends_in_the_code_of_the_cause(self):
        full = open("/dev/full", "w")
        self.addCleanup(full.close)
        out = [{"stdout": full}, {"preexec_fn": lambda: os.close(1)}]
        err = [{"stderr": full}, {"preexec_fn": lambda: os.close(2)}]
        both = [{"stdout": full, "stderr": full}, {"preexec_fn": lambda: os.closerange(1, 3)}]
        written = {command: 0 for command, _ in FILES if command.split()[0] not in ("info", "spmv", "spgemm", "permute", "solve")}
        for commands, of_out in (({c: 0 for c in ALWAYS}, 3), (written, 0), (FAILING, None)):
            for command, code in commands.items():
                for options, expected in [(o, of_out if of_out is not None else code) for o in out + both] + [(o, code) for o in err]:
                    with self.subTest(command=command, options=options):
                        self.assertEqual(self.run_it(command, **options)[0], expected)

    def test_what_is_printed_never_goes_into_a_file(self):
        self.run_it("convert a.mtx -o c.mtx")
        for closed in ((1,), (2,), (0, 1, 2)):
            code, _, _ = self.run_it("convert a.mtx -o d.mtx", preexec_fn=lambda: [os.close(fd) for fd in closed])
            self.assertEqual(code, 0)
            self.assertEqual((self.folder / "c.mtx").read_bytes(), (self.folder / "d.mtx").read_bytes())

    def test_a_pipe_that_nobody_reads_ends_quietly(self):
        for command, code in [(c, -signal.SIGPIPE) for c in ALWAYS] + list(FAILING.items()):
            with self.subTest(command=command):
                reader, writer = os.pipe()
                os.close(reader)
                process = self.start(command, stdout=writer)
                os.close(writer)
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, err)
                if code < 0:
                    self.assertNotIn(b"cannot be written", err)
        reader, writer = os.pipe()
        os.close(reader)
        self.assertEqual(self.run_it("convert a.mtx -o c.mtx", stderr=writer)[0], 0)
        os.close(writer)

    def test_a_failure_leaves_an_old_file_whole(self):
        for command, file in FILES:
            with self.subTest(command=command):
                target = self.folder / file
                target.write_text("old")
                code, _, err = self.limited(command)
                self.assertEqual(code, 3, err)
                self.assertIn(f"{file}: cannot be written: {os.strerror(errno.EFBIG)}", err.decode())
                self.assertEqual(target.read_text(), "old")
                target.unlink()
                self.assertEqual(self.limited(command)[0], 3)
                self.assertEqual(self.files(), ["a.mtx"])
                self.assertEqual(self.run_it(command)[0], 0)
                target.unlink()
        for command, file in FILES:
            (self.folder / file).write_text("old")
            code = self.run_it(command.replace("a.mtx", "nofile.mtx").replace("stencil", "nothing"))[0]
            self.assertIn(code, (2, 3), command)
            self.assertEqual((self.folder / file).read_text(), "old")
        (self.folder / "y.mtx").write_text("old")
        for command in ("spmv a.mtx", "solve a.mtx", "solve a.mtx --method jacobi"):
            self.assertEqual(self.run_it(f"{command} --kernel nothing -o y.mtx")[0], 2)
            self.assertEqual((self.folder / "y.mtx").read_text(), "old")

    def test_nothing_is_solved_for_a_file_that_cannot_be_written(self):
        for command in ("solve - -o none/x.mtx", "solve - --plot none/r.svg", "permute - --save-permutation none/p.txt", "spmv - -o none/y.mtx"):
            code, out, err = self.run_it(command)
            self.assertEqual((code, out), (3, b""))
            self.assertIn(b"cannot be written", err)

    def test_bench_overwrites_its_own_records_alone(self):
        matrix = (self.folder / "a.mtx").read_bytes()
        code, _, err = self.run_it(BENCH.format("a.mtx"))
        self.assertEqual(code, 3)
        self.assertIn(b"a.mtx: not overwritten", err)
        self.assertEqual(self.run_it("bench --no-bandwidth --backend cpu --warm --repeat 1 --kernels csr.serial --json a.mtx a.mtx")[0], 0)
        self.assertEqual((self.folder / "a.mtx").read_bytes(), matrix)
        for _ in range(2):
            self.assertEqual(self.run_it(BENCH.format("run.json"))[0], 0)
        old = (self.folder / "run.json").read_bytes()
        for change, code in ((("csr.serial", "nothing"), 2), (("gen:diagonal:n=4", "nofile.mtx"), 3)):
            self.assertEqual(self.run_it(BENCH.format("run.json").replace(*change))[0], code)
            self.assertEqual((self.folder / "run.json").read_bytes(), old)
        self.assertEqual(self.limited(BENCH.format("run.json"), size=len(old) // 2)[0], 3)
        self.assertEqual((self.folder / "run.json").read_bytes(), old)
        self.assertEqual(self.files(), ["a.mtx", "run.json"])

    def test_records_that_are_none_are_refused_in_our_words(self):
        for text in ("[1, 2]", '{"benchmarks": [{"name": 3}]}', '{"benchmarks": [{"name": "a", "real_time": "x"}]}',
                     '{"benchmarks": [{"name": "a", "real_time": 1, "lower_quartile": "x"}]}', '{"benchmarks": [7]}'):
            (self.folder / "old.json").write_text(text)
            code, out, err = self.run_it("bench gen:diagonal:n=4 --backend cpu --compare old.json")
            self.assertEqual((code, out), (3, b""), "before anything is measured")
            self.assertIn(b"old.json: no record of tulle bench: ", err)
            self.assertNotIn(b"exception", err)

    def test_names_reach_the_terminal_without_control_characters(self):
        name = "e\x1b[31m\x07\u009b\nvil.mtx"
        (self.folder / "a.mtx").rename(self.folder / name)
        for arguments in (["info", name], ["info", "no" + name], ["convert", name, "-o", "c" + name], [name], ["spmv", "--" + name],
                          ["spmv", name], ["info", name, "--json"], ["info", "no" + name, "--json"], ["spmv", name, "--x", name]):
            with self.subTest(arguments):
                done = subprocess.run([BINARY, *arguments], cwd=self.folder, env=environment(self.home), capture_output=True)
                for byte in (b"\x1b", b"\x07", "\u009b".encode(), b"\nvil"):
                    self.assertNotIn(byte, done.stdout + done.stderr)

    def test_signals_remove_what_is_half_written(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("generate stencil:n=100 -o c.mtx")
            self.wait_until_it_writes(process)
            self.assertTrue(self.has_begun(), "nothing is written yet")
            process.send_signal(number)
            process.communicate(timeout=10)
            self.assertEqual(process.returncode, -number)
            self.assertEqual(self.files(), ["a.mtx"])

    def test_a_signal_that_is_ignored_stays_ignored(self):
        process = self.start("generate stencil:n=60 -o c.mtx", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_until_it_writes(process)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_leftovers_of_any_process_number_block_nothing(self):
        for number in range(os.getpid(), os.getpid() + 500):
            (self.folder / f"c.mtx.{number}.tmp").touch()
        self.assertEqual(self.run_it("convert a.mtx -o c.mtx")[0], 0)

    def test_progress_is_shown_on_a_terminal_alone_and_erased(self):
        command = "solve gen:stencil:n=20,values=spd --method jacobi --rtol 0 --max-iterations 50000"  # longer than a fifth of a second
        code, out, said = self.on_a_terminal(command)
        self.assertEqual(code, 4)
        self.assertRegex(said, rb"^(\r\x1b\[K\[[= ]{20}\] +\d+% [\d,]+ iterations, residual [^\r]+)+\r\x1b\[Ktulle: NOT_CONVERGED")
        self.assertIn(b"NOT_CONVERGED", out)
        self.assertNotIn(b"\r", self.run_it(command)[2])

    def test_bench_shows_what_runs_and_how_much_is_done(self):
        command = "bench a.mtx --backend cpu --no-bandwidth --no-diagnosis --repeat 3 --kernels csr.serial,csr.rows"
        _, out, said = self.on_a_terminal(command)
        steps = [step.decode() for step in re.findall(rb"\r\x1b\[K(\[[^\r]+)", said)]
        done = [int(re.search(r"(\d+)%", step)[1]) for step in steps]
        self.assertEqual(done, sorted(done))
        self.assertGreater(len(set(done)), 4, "it moves within one matrix")
        for words in ("a.mtx f64: preparing", "a f64 csr.serial: plan", "a f64 csr.serial: cold", "a f64 csr.rows: warm"):
            self.assertTrue(any(words in step for step in steps), (words, steps))
        self.assertTrue(said.replace(b"\r\n", b"\n").rstrip().endswith(b"\x1b[K") or b"overloaded" in said, said)
        self.assertNotIn(b"\x1b", out)

    def test_dev_stdout_is_standard_output(self):
        with (self.folder / "both").open("wb") as out:
            self.assertEqual(self.run_it("spmv a.mtx -o /dev/stdout", stdout=out)[0], 0)
        self.assertIn(b"%%MatrixMarket", (self.folder / "both").read_bytes())
        self.assertIn(b"GFLOP/s", (self.folder / "both").read_bytes())

    def test_permissions_stay_and_a_link_leads_to_what_is_replaced(self):
        target = self.folder / "c.mtx"
        target.write_text("old")
        target.chmod(0o640)
        (self.folder / "link.mtx").symlink_to("c.mtx")
        self.assertEqual(self.run_it("convert a.mtx -o link.mtx")[0], 0)
        self.assertTrue((self.folder / "link.mtx").is_symlink())
        self.assertEqual(target.stat().st_mode & 0o7777, 0o640)
        self.assertEqual(target.read_bytes()[:2], b"%%")
        target.chmod(0o400)
        if os.geteuid() != 0:
            self.assertEqual(self.run_it("convert a.mtx -o c.mtx")[0], 3, "the file is read-only")


class KilledAtAnyMoment(unittest.TestCase):
    """kill -9 at 200 moments spread over the time that the command takes: there is the old file or the new one."""

    def test_leaves_the_old_file_or_the_new_one(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            commands = {"generate stencil:n=20 -o c.mtx": "c.mtx", "generate stencil:n=14 -o c.mtx.gz": "c.mtx.gz",
                        "spy gen:stencil:n=14 -o a.svg": "a.svg", "spmv gen:diagonal:n=9999 --repeat 1 --no-bandwidth -o y.mtx": "y.mtx"}
            seen = {"old": 0, "new": 0}
            for command, file in commands.items():
                target = folder / file

                def start():
                    return subprocess.Popen([BINARY, *command.split()], cwd=folder, env=environment(folder),
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

                before = time.monotonic()
                self.assertEqual(start().wait(60), 0)
                seconds = time.monotonic() - before
                new = target.read_bytes()
                for i in range(50):
                    target.write_text("old")
                    process = start()
                    time.sleep(seconds * (i + 0.5) / 50)
                    process.kill()
                    process.wait(60)
                    content = target.read_bytes()
                    self.assertIn(content, (b"old", new), command)
                    seen["new" if content == new else "old"] += 1
            print(seen)


unittest.main()

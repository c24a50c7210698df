"""What people expect of any command line: help, versions, completions that complete, manual pages that format, `--`, -q, -v:
habits.py BINARY COMPLETIONS MANUAL, the last two being the folders that the build made."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tool import environment

MANUAL, COMPLETIONS, BINARY = (pathlib.Path(sys.argv.pop()).resolve() for _ in range(3))


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": 60, "stdin": subprocess.DEVNULL} | options
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run([str(c) for c in command], env=environment(home), **options)


def tulle(*arguments, **options):
    return run(BINARY, *arguments, **options)


def labels_of(text):
    """ "  -o, --output FILE" and the like, of a text of help."""
    return re.findall(r"^ {2,6}-.*?(?=  |$)", text, re.MULTILINE)


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


COMMANDS = re.findall(r"^  ([a-z]+)  ", tulle("--help").stdout, re.MULTILINE)


class Help(unittest.TestCase):
    def test_lines_fit_and_speak_plainly(self):
        self.assertGreater(len(COMMANDS), 12)
        for command in ([], *([c] for c in COMMANDS), *(["bench", c] for c in ("spmv", "spmm", "spgemm", "solve"))):
            with self.subTest(command):
                done = tulle(*command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 80], [])
                self.assertIsNone(re.search(r"\b(INT|UINT|FLOAT|TEXT|BOOLEAN|NUMBER)\b| in \[\d|\{.*,.*\}|REQUIRED|:KEY", done.stdout), done.stdout)
                self.assertIn("\nUsage: tulle", done.stdout)

    def test_help_is_help(self):
        self.assertEqual(tulle("help").stdout, tulle("--help").stdout)
        for command in COMMANDS:
            self.assertEqual(tulle("help", command).stdout, tulle(command, "--help").stdout)
            self.assertEqual(tulle("help", command).stdout, tulle(command, "-h").stdout)

    def test_versions(self):
        self.assertRegex(tulle("-V").stdout, r"^tulle \d+\.\d+\.\d+\n$")
        for command in (["--version"], ["spmv", "-V"], ["-V", "spmv"]):
            self.assertEqual(tulle(*command).stdout, tulle("-V").stdout)

    def test_every_command_has_an_example(self):
        for command in COMMANDS:
            if command not in ("help",):
                self.assertIn("\nExamples:\n  ", tulle("help", command).stdout, command)


class Manners(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("a.mtx", "-a.mtx", "spmv"):
            self.assertEqual(self.it("generate", "diagonal:n=3", "-o", "x.mtx").returncode, 0)
            os.rename(os.path.join(self.folder, "x.mtx"), os.path.join(self.folder, name))

    def it(self, *arguments, **options):
        return tulle(*arguments, cwd=self.folder, **options)

    def test_two_dashes_end_the_options(self):
        self.assertEqual(self.it("info", "-a.mtx").returncode, 2)
        for arguments in (["info", "--", "-a.mtx"], ["info", "--backend", "cpu", "--", "-a.mtx"], ["--", "info", "a.mtx"],
                          ["info", "a.mtx", "--"], ["info", "spmv"], ["spgemm", "a.mtx", "--", "-a.mtx"]):
            done = self.it(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("3 x 3, 3 nonzeros", done.stdout)
        self.assertEqual(self.it("info", "--", "--json").returncode, 3, "a file of that name is not there")

    def test_quiet_and_verbose(self):
        convert = ("convert", "a.mtx", "-o", "b.mtx")
        self.assertIn("wrote", self.it(*convert).stderr)
        for command in (("-q", *convert), (*convert, "-q"), (*convert, "--quiet")):
            self.assertEqual(self.it(*command).stderr, "")
        self.assertIn("no.mtx", self.it("info", "no.mtx", "-q").stderr)
        self.assertIn("on the CPU: 2 threads", self.it("spmv", "a.mtx", "-v", "-j", "2", "--backend", "cpu").stderr)
        said = self.it("spmv", "a.mtx").stderr.splitlines()
        self.assertEqual([line for line in said if "the machine is overloaded" not in line], [])
        failed = self.it("solve", "gen:stencil:n=4,values=spd", "--max-iterations", "1", "--rtol", "1e-12", "-q")
        self.assertEqual(failed.returncode, 4)
        self.assertIn("NOT_CONVERGED", failed.stderr)

    def test_threads_by_a_letter(self):
        for option in (["-j", "1"], ["-j1"], ["--threads=1"], ["--threads", "1"]):
            self.assertEqual(self.it("info", "a.mtx", *option).returncode, 0)

    def test_refused_names_write_nothing(self):
        for name in ("b.mtx.bz2", "b.txt", "b.csv", "b.mtx.zip", "b.txt.gz", "b.mtx.gz.xz"):
            for command in (["convert", "a.mtx"], ["generate", "diagonal:n=3"], ["spmv", "a.mtx"], ["permute", "a.mtx"]):
                done = self.it(*command, "-o", name)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{name}: a matrix is written as .mtx", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["-a.mtx", "a.mtx", "spmv"])
        for name in ("b.mtx", "b", "b.mm", "b.MTX", "b.mtx.gz", "b.gz"):
            self.assertEqual(self.it("convert", "a.mtx", "-o", name).returncode, 0, name)
        self.assertEqual(self.it("convert", "a.mtx", "-o", "/dev/null").returncode, 0)


    def test_what_does_nothing_is_refused(self):
        for command, said in (
                ("spmv a.mtx --autotune --kernel coo", "--autotune finds a kernel, and --kernel coo names one"),
                ("permute a.mtx --method rcm --permutation p.txt", "--method and --permutation exclude each other"),
                ("permute a.mtx --window 8", "--window goes with --method length"),
                ("permute a.mtx --seed 8", "--seed goes with --method random"),
                ("permute a.mtx --part-rows 8 --permutation p.txt", "--part-rows goes with --method partition"),
                ("permute a.mtx -o b.mtx --save-permutation ./b.mtx", "both want the file ./b.mtx"),
                ("spgemm a.mtx a.mtx --tile-size 8", "--tile-size goes with --kernel kernel0"),
                ("generate --list -o b.mtx", "--list goes with neither GENERATOR nor -o"),
                ("kernels --backend cpu --device 0", "--device 0 goes with a GPU, not with --backend cpu"),
                ("info a.mtx --backend cpu --device 0", "--device 0 goes with a GPU, not with --backend cpu"),
                ("solve a.mtx --rtol -1", "--rtol -1: must be a number, 0 or above"),
                ("solve a.mtx --method jacobi --order rcm", "--order goes with --form rows or symmetric"),
                ("--json info a.mtx", "--json goes after the command: tulle info --json"),
                ("--threads 2 spmv a.mtx", "--threads goes after the command: tulle spmv --threads")):
            with self.subTest(command):
                done = self.it(*command.split())
                self.assertEqual((done.returncode, done.stdout if "--json" not in command else ""), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)
        done = self.it("spmv", "a.mtx", "-o", "")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the name of a file is needed, and '' is none", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["-a.mtx", "a.mtx", "spmv"])

    def test_endings_in_capitals(self):
        for name, magic in (("b.mtx.GZ", b"\x1f\x8b"), ("b.MTX.ZST", b"\x28\xb5\x2f\xfd"), ("b.MTX", b"%%")):
            self.assertEqual(self.it("convert", "a.mtx", "-o", name).returncode, 0)
            self.assertEqual((pathlib.Path(self.folder) / name).read_bytes()[:len(magic)], magic)
            self.assertIn("b: 3 x 3", self.it("info", name).stdout)
        done = self.it("spy", "a.mtx", "-o", "b.SVG")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_files_that_were_written_are_named(self):
        for command, name in (("spmv a.mtx -o y.mtx", "y.mtx"), ("solve gen:diagonal:n=3,values=spd -o x.mtx", "x.mtx"), ("solve gen:diagonal:n=3,values=spd --plot r.svg", "r.svg"),
                              ("info a.mtx --plot l.svg", "l.svg"), ("permute a.mtx --repeat 0 --save-permutation p.txt", "p.txt")):
            self.assertIn(f"wrote {name}, ", self.it(*command.split()).stderr)

    def test_a_solve_that_fails_says_why(self):
        pathlib.Path(self.folder, "n.mtx").write_text(
            "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 9\n2 2 -1\n")
        shapes = set()
        for how in ("none", "jacobi", "block_jacobi"):
            done = self.it("solve", "n.mtx", "--preconditioner", how, "--json")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("A is not symmetric: a_ij and a_ji differ at row 0, column 1, counted from 0", done.stderr)
            shapes.add(tuple(json.loads(done.stdout)))
        self.assertEqual(len(shapes), 1, shapes)
        done = self.it("convert", "n.mtx", "--symmetric", "-o", "m.mtx")
        self.assertEqual(done.returncode, 3)
        self.assertIn("--symmetric: A is not symmetric: row 0", done.stderr)


class Completions(unittest.TestCase):
    """The script of bash is driven as bash drives it; those of zsh and fish where these shells are."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("cant.mtx", "a b.mtx", "fem.mtx.gz"):
            (self.folder / name).touch()
        (self.folder / "sub").mkdir()

    def complete(self, line, breaks="$' \\t\\n\"\\'><=;|&(:'"):
        script = f"""
          source {COMPLETIONS / "tulle"}
          COMP_WORDBREAKS={breaks} COMP_LINE=$1 COMP_POINT=${{#1}}
          _tulle
          printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = run("bash", "--norc", "-u", "-c", script, "bash", line, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return [word for word in done.stdout.split("\n") if word]

    def test_scripts_are_those_of_the_commands(self):
        for shell, file in (("bash", "tulle"), ("zsh", "_tulle"), ("fish", "tulle.fish")):
            self.assertEqual(tulle("completions", shell).stdout, (COMPLETIONS / file).read_text())

    def test_commands_and_options(self):
        self.assertEqual(self.complete("tulle "), COMMANDS)
        self.assertEqual(self.complete("tulle sp"), [c for c in COMMANDS if c.startswith("sp")])
        self.assertEqual(self.complete("tulle help sp"), self.complete("tulle sp"))
        self.assertEqual(self.complete("tulle help "), COMMANDS)
        self.assertEqual(self.complete("tulle --ver"), ["--version", "--verbose"])
        self.assertEqual(self.complete("tulle spmv a.mtx --veri"), ["--verify"])
        self.assertEqual(self.complete("tulle -q spmv --veri"), ["--verify"])
        for command in COMMANDS:
            names = [word for word in self.complete(f"tulle {command} -") if word.startswith("--")]
            text = tulle(command, "--help").stdout
            self.assertEqual(names, re.findall(r"(?<= )--[\w-]+", "\n".join(labels_of(text))), command)
            self.assertIn("--help", names)

    def test_values(self):
        self.assertEqual(self.complete("tulle spmv --backend "), ["auto", "cpu", "cuda"])
        self.assertEqual(self.complete("tulle spmv --precision f"), ["f32", "f64"])
        self.assertEqual(self.complete("tulle spmv --precision=f"), ["f32", "f64"])
        self.assertEqual(self.complete("tulle spmv --precision=f", breaks="' '"), ["--precision=f32", "--precision=f64"])
        self.assertIn("csr.balanced", self.complete("tulle spmv a.mtx --kernel csr.b"))
        self.assertIn("chosen,csr.balanced", self.complete("tulle bench a.mtx --kernels chosen,csr.b"))
        self.assertEqual(self.complete("tulle completions "), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete("tulle --color "), ["auto", "always", "never"])
        self.assertEqual(self.complete("tulle --color=al"), ["always"])
        self.assertEqual(self.complete("tulle info -- --"), [])
        self.assertEqual(self.complete("tulle info -- c"), ["cant.mtx"])
        self.assertEqual(self.complete("tulle spmv --repeat "), [])
        self.assertIn("gustavson", self.complete("tulle spgemm --kernel "))
        self.assertNotIn("gustavson", self.complete("tulle spmv --kernel "))

    def test_files_and_generators(self):
        self.assertEqual(sorted(self.complete("tulle info ")), ["a b.mtx", "cant.mtx", "fem.mtx.gz", "sub"])
        self.assertEqual(self.complete("tulle info c"), ["cant.mtx"])
        self.assertEqual(self.complete("tulle info a.mtx -o c"), ["cant.mtx"])
        self.assertEqual(self.complete("tulle info ge"), ["gen:"])
        self.assertEqual(self.complete("tulle info gen:st"), ["stencil:"])
        self.assertEqual(self.complete("tulle info gen:st", breaks="' '"), ["gen:stencil:"])
        self.assertEqual(self.complete("tulle spgemm cant.mtx --mask gen:f"), ["fem:"])
        self.assertEqual(self.complete("tulle generate st"), ["stencil:"])
        self.assertEqual(self.complete("tulle info gen:stencil:n="), [])

    def test_bash_reads_it(self):
        self.assertEqual(run("bash", "-n", COMPLETIONS / "tulle").stderr, "")

    @needs("zsh")
    def test_zsh_reads_it(self):
        self.assertEqual(run("zsh", "-n", COMPLETIONS / "_tulle").stderr, "")
        done = run("zsh", "-f", "-c", f"fpath=({COMPLETIONS} $fpath); autoload -Uz compinit; compinit -D; "
                                      "autoload +X _tulle && print $_comps[tulle]")
        self.assertEqual((done.stdout, done.stderr), ("_tulle\n", ""))

    @needs("fish")
    def test_fish_completes(self):
        def complete(line):
            return [word.split("\t")[0] for word in run(
                "fish", "-N", "-c", f"source {COMPLETIONS / 'tulle.fish'}; complete -C '{line}'", cwd=self.folder).stdout.splitlines()]
        self.assertEqual(sorted(complete("tulle ")), sorted(COMMANDS))
        self.assertEqual(complete("tulle spmv --backend "), ["auto", "cpu", "cuda"])
        self.assertEqual(complete("tulle spmv --verif"), ["--verify"])
        self.assertIn("gen:stencil:", complete("tulle info gen:st"))


class Manual(unittest.TestCase):
    def test_a_page_for_each_command(self):
        pages = {p.name for p in MANUAL.iterdir()}
        self.assertEqual({p for p in pages if p.count("-") < 2}, {"tulle.1", *(f"tulle-{c}.1" for c in COMMANDS)})

    @needs("groff")
    def test_groff(self):
        for page in sorted(MANUAL.iterdir()):
            done = run("groff", "-man", "-Tutf8", "-ww", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertGreater(len(done.stdout), 500, page)

    @needs("mandoc")
    def test_mandoc(self):
        said = run("mandoc", "-T", "lint", "-W", "warning", *sorted(MANUAL.iterdir())).stdout
        self.assertEqual([line for line in said.splitlines() if "missing date" not in line], [])  # the same on every day

    @needs("mandoc")
    def test_pages_say_what_help_says(self):
        for command in COMMANDS:
            page = run("mandoc", "-T", "ascii", MANUAL / f"tulle-{command}.1").stdout
            words = " ".join(re.sub(r".\x08", "", page).split())
            for label in labels_of(tulle("help", command).stdout):
                self.assertIn(label.strip(), words)


unittest.main()

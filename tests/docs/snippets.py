"""Runs what the documents show: every fenced block of README.md and docs/*.md (but for notes and decisions).

Above a block stands, as a comment of HTML, what is done with it:

    <!-- run -->              it runs, after the blocks of its language above it on the page
    <!-- run: global -->      C and C++: the same outside of a function (classes, functions)
    <!-- compile: why -->     C and C++: it is compiled, but not run, for the reason given
    <!-- no run: why -->      neither
    <!-- PATH -->             it is part of that file of the tree, which something else runs
    <!-- hidden CODE -->      code that readers need not see, as if in a block that runs

A block of text (```text) needs no mark. A `console` block has commands behind "$ "; what they print is held to what
stands below them, but for numbers with a unit, and `...` stands for any lines.

    snippets.py marks                     every block has a mark, and is in the file that it names; what
                                          ARCHITECTURE.md and Python's reference name is there
    snippets.py shell BINARIES            runs the console blocks, with these folders on the PATH
    snippets.py shell BINARIES --update   writes what they print into the documents
    snippets.py python                    runs the blocks of Python; the package is on PYTHONPATH
    snippets.py emit-cpp|emit-c FILE      writes a program of the blocks of C++ or C
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import traceback
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$"
    r"|^<!-- hidden(?: (?P<of>\w+))?\n(?P<hidden>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
LANGUAGES = {"console", "cpp", "c", "python", "cmake", "text"}
NUMBER = r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?"
UNITS = r"(?:ns|us|µs|ms|s|min|[kMG]?B|[kMG]B/s|GFLOP/s|GFLOPS|%|x|×)"
BUSY = re.compile(r"busy|overloaded")


@dataclass
class Block:
    page: str
    line: int
    mark: str
    language: str
    code: str

    def __str__(self):
        return f"{self.page}:{self.line}"


def pages():
    return [
        ROOT / "README.md",
        *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.parts[-2] not in ("notes", "adr")),
    ]


def blocks(page):
    text = page.read_text()
    name = page.relative_to(ROOT).as_posix()
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code" if match["hidden"] is None else "hidden"))
        if match["hidden"] is not None:
            yield Block(name, line, "run", match["of"] or "cpp", match["hidden"])
        else:
            yield Block(name, line, match["mark"] or "", match["language"], match["code"])


def all_blocks():
    return [block for page in pages() for block in blocks(page)]


def lines_of(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def is_part(block, file):
    """Whether the lines of the block stand in the file, one after another, at any indentation."""
    wanted, there = lines_of(block), file.read_text().splitlines()
    return any(lines_of("\n".join(there[i : i + len(wanted)])) == wanted for i in range(len(there) - len(wanted) + 1))


def check_marks():
    wrong = []
    for block in all_blocks():
        kind, _, rest = block.mark.partition(": ")
        if block.language not in LANGUAGES:
            wrong.append(
                f"{block}: a block of {block.language or 'no language'}; there are {', '.join(sorted(LANGUAGES))}"
            )
        elif block.language == "text" or kind == "run" or (kind in ("no run", "compile") and rest):
            continue
        elif not block.mark or not (ROOT / block.mark).is_file():
            wrong.append(f"{block}: no mark that says how the block is tested")
        elif not is_part(block.code, ROOT / block.mark):
            wrong.append(f"{block}: it is not in {block.mark}")
    for document in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        for path in re.findall(
            r"`((?:bench|cli|cmake|docs|examples|include|python|src|tests|tools)/[\w./-]+)`",
            (ROOT / document).read_text(),
        ):
            if "NNNN" not in path and not (ROOT / path).exists():
                wrong.append(f"{document}: there is no {path}")
    exported = re.search(r"__all__ = (\[.*?\])", (ROOT / "python/tulle/__init__.py").read_text(), re.DOTALL)
    reference = (ROOT / "docs/python-api.md").read_text()
    wrong += [
        f"docs/python-api.md: tulle.{name} is missing"
        for name in re.findall(r'"(\w+)"', exported[1])
        if not re.search(rf"::: tulle\.(?:_\w+\.)?{name}$", reference, re.MULTILINE)
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(all_blocks())} blocks on {len(pages())} pages have their marks")


def masked(line):
    """A line of output without what differs from run to run and from machine to machine: numbers with a unit, the width
    of columns, what stands behind the label of a report, and the reason for a kernel."""
    if report := re.match(r"  (\w[\w =^-]*?)  +\S", line):
        return f"  {report[1]}"
    line = re.sub(r"^[\w.]+: .* (?:nonzeros|us|ms)\b.*\]$", "KERNEL", line)
    line = re.sub(r"(?<=\d),(?=\d{3})", "", re.sub(rf"{NUMBER}(\s*){UNITS}(?![\w/])", "#", line))
    return re.sub(r"[-=─━]{3,}", "---", re.sub(r"\s+", " ", line)).strip()


def matches(expected, actual):
    """Whether the lines of two outputs are alike; `...` stands for any."""

    def alike(wanted, there):
        if "..." not in wanted:
            return wanted == there
        at = wanted.index("...")
        return wanted[:at] == there[:at] and any(alike(wanted[at + 1 :], there[i:]) for i in range(at, len(there) + 1))

    # Lines that go on with the text of a report's line are left out.
    return alike(*([masked(line) for line in lines if not line.startswith(" " * 10)] for lines in (expected, actual)))


def run_console(block, folder, environment):
    """The block as it would be written today, and what is wrong with it."""
    wrong, now = [], []
    for step in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        expected = output.splitlines()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        actual = [line.rstrip() for line in done.stdout.splitlines() if not BUSY.search(line)]
        if done.returncode:
            actual.append(f"[exit {done.returncode}]")
        right = matches(expected, actual) if expected else done.returncode == 0
        if not right:
            wrong += difflib.unified_diff(expected, actual, f"{block}: {command}", "now", lineterm="")
        now += [f"$ {command}", *(expected if right or not expected else actual)]
    return "\n".join(now) + "\n", wrong


def run_shell(folders, update):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TULLE_", "OMP_"))}
    environment |= {
        "NO_COLOR": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "passive",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "PATH": os.pathsep.join([*map(os.path.abspath, folders), os.environ["PATH"]]),
    }
    wrong, count = [], 0
    for page in pages():
        text = page.read_text()
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
            environment |= {"HOME": folder, "TULLE_CACHE_DIR": folder}
            for block in blocks(page):
                if block.language == "console" and block.mark == "run":
                    now, complaints = run_console(block, folder, environment)
                    count += 1
                    if update:
                        text = text.replace(f"```console\n{block.code}```", f"```console\n{now}```")
                    else:
                        wrong += complaints
        if update:
            page.write_text(text)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{count} blocks of commands ran")


def run_python():
    try:
        import tulle  # noqa: F401
    except ImportError:
        print("skipped: the Python package was not built")
        sys.exit(SKIPPED)
    failed = count = 0
    for page in pages():
        names, before = {"__name__": "__main__"}, os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in blocks(page):
                if block.language == "python" and block.mark == "run":
                    count += 1
                    try:
                        exec(compile("\n" * block.line + block.code, block.page, "exec"), names)
                    except Exception:  # noqa: BLE001
                        failed += 1
                        traceback.print_exc()
            os.chdir(before)
    if failed:
        sys.exit(f"{failed} of {count} blocks of Python failed")
    print(f"{count} blocks of Python ran")


def emit(language, to):
    """One program of all pages: a function for each, whose statements are its blocks."""
    includes, bodies, calls = [], [], []
    for page in pages():
        outside, inside = [], []
        for block in blocks(page):
            kind, _, how = block.mark.partition(": ")
            if block.language != language or kind not in ("run", "compile"):
                continue
            includes += re.findall(r"^#include .*$", block.code, re.MULTILINE)
            code = re.sub(r"^#include .*\n", "", block.code, flags=re.MULTILINE)
            where = f'#line {block.line + 1} "{page}"\n'
            if how == "global":
                outside.append(where + code)
            else:
                inside.append(where + (code if kind == "run" else f"if (never()) {{\n{code}}}\n"))
        if inside or outside:
            name = re.sub(r"\W", "_", page.stem)
            if language == "cpp":
                bodies.append(
                    f"namespace page_{name} {{\n{''.join(outside)}\nstatic void run() {{\n{''.join(inside)}}}\n}}\n"
                )
                calls.append(f"page_{name}::run();")
            else:
                bodies.append(f"{''.join(outside)}\nstatic void page_{name}(void) {{\n{''.join(inside)}}}\n")
                calls.append(f"page_{name}();")
    head = "\n".join(sorted(set(includes)))
    never = (
        "static int volatile no = 0;\nstatic int never(void) { return no; }\n"
        if language == "c"
        else "static bool never() { static volatile bool no = false; return no; }\n"
    )
    void = "void" if language == "c" else ""
    pathlib.Path(to).write_text(
        f"{head}\n{never}\n{''.join(bodies)}\nint main({void}) {{\n  {' '.join(calls)}\n  return 0;\n}}\n"
    )


def main():
    match sys.argv[1:]:
        case ["marks"]:
            check_marks()
        case ["shell", *folders]:
            run_shell([f for f in folders if f != "--update"], "--update" in folders)
        case ["python"]:
            run_python()
        case ["emit-cpp", file]:
            emit("cpp", file)
        case ["emit-c", file]:
            emit("c", file)
        case _:
            sys.exit(__doc__)


main()

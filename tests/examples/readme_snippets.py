"""The README's code is the examples' code: each block under an "<!-- examples/... -->" line is found in that file."""
import pathlib
import re
import sys
import textwrap


def stripped(text):
    return [line.rstrip() for line in textwrap.dedent(text).strip("\n").splitlines()]


def contains(lines, block):
    starts = range(len(lines) - len(block) + 1)
    return any(stripped("\n".join(lines[i:i + len(block)])) == block for i in starts)


def main():
    root = pathlib.Path(sys.argv[1])
    blocks = re.findall(r"<!-- (examples/\S+) -->\n```\w*\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    if {name for name, _ in blocks} != {f"examples/{name}" for name in ("spmv.cpp", "spmv.c", "spgemm.cpp", "spgemm.c", "elasticity.cpp")}:
        sys.exit(f"README.md shows {[name for name, _ in blocks]}")
    for name, block in blocks:
        if not contains((root / name).read_text().splitlines(), stripped(block)):
            sys.exit(f"README.md: the block of {name} is not in that file")
    print(f"{len(blocks)} blocks are what the examples say")


if __name__ == "__main__":
    main()

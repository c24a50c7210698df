#!/usr/bin/env python3
"""Writes the result tables of Markdown files from the JSON that `tulle bench --json` wrote.

A table stands between two markers, and is replaced as a whole:

    <!-- table:NAME precision=f64 cache=cold kind=choice -->
    <!-- /table -->

NAME.json is looked up in bench/results. The settings are optional; those shown are the defaults. Kinds: `choice`, one
row a matrix, what a plan chooses beside the best of our kernels and the vendor's best, losses first; `kernels`, the
microseconds of every kernel.

    tools/bench_table.py README.md docs/*.md            rewrite the tables
    tools/bench_table.py --check README.md docs/*.md    exit code 1 where one is out of date
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

MARKER = re.compile(r"(<!-- table:(?P<name>[\w.-]+)(?P<settings>[^>]*?) *-->\n).*?(<!-- /table -->)", re.DOTALL)
DEFAULTS = {"precision": "f64", "cache": "cold", "kind": "choice"}


def fastest(records: list[dict]) -> dict | None:
    """The fastest record whose answer was within its bound."""
    right = [r for r in records if isinstance(r["error_ratio"], (int, float)) and r["error_ratio"] <= 1]
    return min(right, key=lambda r: r["real_time"], default=None)


def markdown(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A Markdown table whose first `left` columns are aligned left."""
    rule = [":--" if i < left else "--:" for i in range(len(header))]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in [header, rule, *rows])


def choice_row(matrix: str, records: list[dict]) -> tuple[float, list[str]] | None:
    """Speed of the plan's choice over the vendor's best (or over our best, without one), and the row."""
    chosen = next((r for r in records if r["chosen"]), None)
    own = fastest([r for r in records if not r["vendor"]])
    vendor = fastest([r for r in records if r["vendor"]])
    if chosen is None or own is None:
        return None
    time = chosen["real_time"]
    regret = time / own["real_time"]
    speedup = vendor["real_time"] / time if vendor else None
    row = [matrix, f"{chosen['rows']:,}", f"{chosen['nnz']:,}", f"`{chosen['kernel']}`", f"{time:.1f}",
           f"{chosen['gbs']:.0f}", f"{chosen['percent_of_bandwidth']:.0f}", f"{regret:.2f} (`{own['kernel']}`)"]
    if vendor is None:
        return 1 / regret, [*row, "-", "-"]
    ratio = f"{speedup:.2f}"
    return speedup, [*row, f"{vendor['real_time']:.1f} (`{vendor['kernel']}`)", f"**{ratio}**" if speedup < 1 else ratio]


def choice_table(by_matrix: dict[str, list[dict]]) -> str:
    """One row a matrix, the worst result first; results below 1 in bold."""
    rows = sorted(filter(None, (choice_row(m, r) for m, r in by_matrix.items())), key=lambda row: row[0])
    header = ["matrix", "rows", "nonzeros", "chosen", "µs", "GB/s", "% of bandwidth", "time / best of ours",
              "vendor's best, µs", "speed / vendor"]
    return markdown(header, [row for _, row in rows])


def kernels_table(by_matrix: dict[str, list[dict]]) -> str:
    """Microseconds of every kernel; the fastest of each matrix in bold, the plan's choice marked *."""
    kernels = list(dict.fromkeys(r["kernel"] for records in by_matrix.values() for r in records))
    rows = []
    for matrix, records in by_matrix.items():
        best, of = fastest(records), {r["kernel"]: r for r in records}
        cells = []
        for kernel in kernels:
            record = of.get(kernel)
            text = f"{record['real_time']:.1f}{'*' if record['chosen'] else ''}" if record else "-"
            cells.append(f"**{text}**" if record is best and record else text)
        rows.append([matrix, *cells])
    return markdown(["matrix", *(f"`{k}`" for k in kernels)], rows)


def caption(run: dict) -> str:
    """One line on where the numbers come from."""
    c = run["context"]
    where = ", ".join(filter(None, [c["device"], c.get("driver"), f"{c['threads']} threads" if c["backend"] == "cpu" else ""]))
    return f"\n{where}; read bandwidth {c['bandwidth']['read'] / 1e9:.0f} GB/s; commit {c['commit']}, {c['date'][:10]}.\n"


def table(run: dict, settings: dict[str, str]) -> str:
    """The text between the markers."""
    by_matrix: dict[str, list[dict]] = {}
    for r in run["benchmarks"]:
        if r["precision"] == settings["precision"] and r["cache"] == settings["cache"] and not r["variant"]:
            by_matrix.setdefault(r["matrix"], []).append(r)
    if not by_matrix:
        raise SystemExit(f"bench_table: no records of {settings['precision']}, {settings['cache']}")
    make = {"choice": choice_table, "kernels": kernels_table}
    if settings["kind"] not in make:
        raise SystemExit(f"bench_table: no kind '{settings['kind']}'; there are: {', '.join(make)}")
    return make[settings["kind"]](by_matrix) + caption(run)


def replace_tables(text: str, results: Path) -> str:
    """`text` with every table written anew."""

    def write(marker: re.Match[str]) -> str:
        given = dict(word.split("=", 1) for word in marker["settings"].split())
        if unknown := given.keys() - DEFAULTS.keys():
            raise SystemExit(f"bench_table: table:{marker['name']}: unknown setting '{min(unknown)}'")
        run = json.loads((results / f"{marker['name']}.json").read_text(encoding="utf-8"))
        return marker[1] + table(run, DEFAULTS | given) + marker[4]

    return MARKER.sub(write, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="Markdown files")
    parser.add_argument("--results", type=Path, default=Path(__file__).resolve().parent.parent / "bench" / "results",
                        help="folder of the JSON files")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    stale = []
    for file in options.files:
        before = file.read_text(encoding="utf-8")
        after = replace_tables(before, options.results)
        if after == before:
            continue
        stale.append(file)
        if not options.check:
            file.write_text(after, encoding="utf-8")
    for file in stale:
        print(f"{file}: {'out of date' if options.check else 'written'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes the result tables of Markdown files from the JSON that `tulle bench -o FILE` wrote.

A table stands between two markers, and is replaced as a whole:

    <!-- table:NAME precision=f64 cache=cold kind=choice -->
    <!-- /table -->

NAME.json is looked up in bench/results. The settings are optional; those shown are the defaults. Kinds: `choice`, one
row per matrix, what a plan chooses beside the best of our kernels and the vendor's best, losses first; `kernels`, the
microseconds of every kernel; `vendor`, speeds over the vendor's best CSR algorithm and its best routine of all, of the
choice and of effort none, with what planning costs and the geometric means, losses first; `spmm`, several right-hand sides
beside the vendor's and beside as many single ones (from peers.json, matched by the matrix's hash); `spgemm`, what the plan of
C = A B chooses beside the fastest of the vendor's algorithms, losses first; `latency` (of a run with --latency, so cache=warm), microseconds of one application by where the clock stands, each with its speed over the faster of
the vendor's CSR algorithms, smallest matrix first; `passes` (of a run with --passes), what dot products and Jacobi steps add
beside what they may. Records of bench/block_choice.cpp, bench/spmm_families.cpp (kind=choice, means or bounds; plan=untold: by plans that were not told the columns), bench/choice_cpu.cpp (kind=choice by family, kind=sizes, kind=worst, kind=peers and kind=losses beside other libraries), tools/tune (kind=choice by family, kind=worst, kind=vendor), bench/compare_spmv_cpu.py, compare_spgemm_cpu.py, compare_python.py, python_overhead.py,
measure_spgemm_limits.py, measure_busy_cpu.py, tools/scipy_acceptance and of `tulle bench --precision-study` (cache=both: cold beside warm; values=WORDS,
forms=WORDS: those that begin so, _ for a blank, commas between), and those of two commits side by side, have tables of their own, whatever the settings.

    tools/bench_table.py README.md docs/*.md            rewrite the tables
    tools/bench_table.py --check README.md docs/*.md    exit code 1 where one is out of date
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from pathlib import Path

MARKER = re.compile(r"(<!-- table:(?P<name>[\w.-]+)(?P<settings>[^>]*?) *-->\n).*?(<!-- /table -->)", re.DOTALL)
DEFAULTS = {"precision": "f64", "cache": "cold", "kind": "choice", "values": "", "forms": "", "plan": "told"}


def fastest(records: list[dict]) -> dict | None:
    """The fastest record whose answer was within its bound."""
    right = [r for r in records if isinstance(r["error_ratio"], (int, float)) and r["error_ratio"] <= 1]
    return min(right, key=lambda r: r["real_time"], default=None)


def markdown(header: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A Markdown table whose first `left` columns are aligned left."""
    rule = [":--" if i < left else "--:" for i in range(len(header))]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in [header, rule, *rows])


def bold_below(number: float, bar: float = 1.0) -> str:
    return f"**{number:.2f}**" if number < bar else f"{number:.2f}"


def bold_above(number: float, bar: float = 1.04) -> str:
    return f"**{number:.3f}**" if number > bar else f"{number:.3f}"


def whole(number: float | None) -> str:
    """Without a fraction; - where it was not measured."""
    return "-" if number is None else f"{number:.0f}"


def choice_table(by_matrix: dict[str, list[dict]]) -> str:
    """Speed of the plan's choice over the vendor's best (or over our best, without one); results below 1 in bold."""
    rows = []
    for matrix, records in by_matrix.items():
        chosen = next((r for r in records if r["chosen"]), None)
        own = fastest([r for r in records if not r["vendor"]])
        vendor = fastest([r for r in records if r["vendor"]])
        if chosen is None or own is None:
            continue
        time = chosen["real_time"]
        speedup = (vendor or own)["real_time"] / time
        rows.append((speedup, [
            matrix, f"{chosen['rows']:,}", f"{chosen['nnz']:,}", f"`{chosen['kernel']}`", f"{time:.1f}", f"{chosen['gbs']:.0f}",
            whole(chosen["percent_of_bandwidth"]), f"{time / own['real_time']:.2f} (`{own['kernel']}`)",
            f"{vendor['real_time']:.1f} (`{vendor['kernel']}`)" if vendor else "-", bold_below(speedup) if vendor else "-"]))
    header = ["matrix", "rows", "nonzeros", "chosen", "µs", "GB/s", "% of bandwidth", "time / best of ours",
              "vendor's best, µs", "speed / vendor"]
    return markdown(header, [row for _, row in sorted(rows, key=lambda row: row[0])])


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


def geometric_mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def vendor_table(by_matrix: dict[str, list[dict]]) -> str:
    """Speeds over the vendor's CSR algorithms and over all of its routines; the worst first, the means last."""
    rows, speeds = [], []
    for matrix, records in by_matrix.items():
        chosen = next((r for r in records if r["chosen"]), None)
        stream = next((r for r in records if r["kernel"] == "csr.stream"), None)
        csr = fastest([r for r in records if r["kernel"].startswith("cusparse.csr")])
        vendor = fastest([r for r in records if r["vendor"]])
        own = fastest([r for r in records if not r["vendor"]])
        if not (chosen and stream and csr and vendor and own):
            continue
        time = chosen["real_time"]
        over = [csr["real_time"] / time, vendor["real_time"] / time, csr["real_time"] / stream["real_time"],
                vendor["real_time"] / stream["real_time"]]
        speeds.append([*over, time / own["real_time"]])
        pays = chosen["break_even"]
        rows.append((over[0], [matrix, f"{chosen['nnz']:,}", f"`{chosen['kernel']}`", f"{time:.1f}",
                               f"{csr['real_time']:.1f}", bold_below(over[0]),
                               f"{vendor['real_time']:.1f} (`{vendor['kernel'].removeprefix('cusparse.')}`)",
                               bold_below(over[1]), bold_below(over[2]), bold_below(over[3]),
                               f"{time / own['real_time']:.2f}", whole(chosen["percent_of_bandwidth"]),
                               whole(100 * chosen["moved_gbs"] / chosen["read_gbs"] if chosen["read_gbs"] else None),
                               f"{chosen['plan_us'] / time:.0f}",
                               "-" if pays is None else f"{pays:.0f}"]))
    means = [geometric_mean([s[i] for s in speeds]) for i in range(5)]
    last = ["**geometric mean**", "", "", "", "", f"{means[0]:.2f}", "", f"{means[1]:.2f}", f"{means[2]:.2f}",
            f"{means[3]:.2f}", f"{means[4]:.3f}", "", "", "", ""]
    header = ["matrix", "nonzeros", "chosen", "µs", "vendor CSR, µs", "speed", "vendor's best of all, µs", "speed",
              "effort none / CSR", "none / all", "regret", "% bw needed", "% bw moved", "plan, applications", "pays after"]
    return markdown(header, [row for _, row in sorted(rows, key=lambda row: row[0])] + [last])


def spmm_table(by_matrix: dict[str, list[dict]], singles: dict[tuple[str, str], float]) -> str:
    """`packed` beside the vendor's SpMM and beside as many products with one vector."""
    rows = []
    for matrix, records in by_matrix.items():
        packed = next((r for r in records if r["kernel"] == "packed"), None)
        vendor = fastest([r for r in records if r["vendor"]])
        if packed is None or vendor is None:
            continue
        one = singles.get((packed["matrix_hash"], packed["precision"]))
        count = int(re.search(r"rhs=(\d+)", packed["name"])[1])
        rows.append([matrix, str(count), f"{packed['real_time']:.0f}", f"{vendor['real_time']:.0f} (`{vendor['kernel']}`)",
                     bold_below(vendor["real_time"] / packed["real_time"], 1.2),
                     "-" if one is None else bold_below(count * one / packed["real_time"], 3)])
    return markdown(["matrix", "right-hand sides", "packed, µs", "vendor's best, µs", "speed", "against as many single products"], rows)


def human_bytes(count: float) -> str:
    unit = next(u for u in (1e9, 1e6, 1e3) if count >= u or u == 1e3)
    return f"{count / unit:.3g} {({1e9: 'GB', 1e6: 'MB', 1e3: 'kB'})[unit]}"


def spgemm_table(by_matrix: dict[str, list[dict]]) -> str:
    """The whole call and the numeric phase of the choice, and the whole call of the vendor's fastest algorithm that was right."""
    rows, speeds = [], []
    for matrix, records in by_matrix.items():
        wholes = [r for r in records if r["phase"] == "whole"]
        whole = fastest([r for r in wholes if r["chosen"]])
        numeric = next((r for r in records if r["phase"] == "numeric" and r["chosen"]), None)
        if whole is None or numeric is None:
            continue
        vendor = fastest([r for r in wholes if r["vendor"]])
        speed = vendor["real_time"] / whole["real_time"] if vendor else math.inf
        if vendor:
            speeds.append(speed)
        rows.append((speed, [
            matrix, f"{whole['products']:,}", f"{whole['compression']:.2f}", f"{whole['real_time']:.0f}", f"{whole['gflops']:.1f}",
            f"{vendor['real_time']:.0f} (`{vendor['kernel'].removeprefix('cusparse.')}`)" if vendor else "failed",
            bold_below(speed) if vendor else "-", f"{numeric['real_time']:.0f}",
            bold_below(whole["real_time"] / numeric["real_time"], 1.5),
            f"{human_bytes(whole['peak_bytes'])} / {human_bytes(vendor['peak_bytes']) if vendor else '-'}"]))
    last = ["**geometric mean**", "", "", "", "", "", f"{geometric_mean(speeds):.2f}" if speeds else "-", "", "", ""]
    header = ["C = A A, or A Aᵀ", "products", "an entry of C", "whole call, µs", "GFLOPS", "vendor's fastest, µs", "speed", "numeric, µs",
              "whole / numeric", "peak bytes, vendor's"]
    return markdown(header, [row for _, row in sorted(rows, key=lambda row: row[0])] + [last])


def passes_table(by_matrix: dict[str, list[dict]]) -> str:
    """What fused passes of the choice add to apply, beside 1.2 times their bytes at the read bandwidth and 2 µs; more in bold."""
    rows = []
    for matrix, records in by_matrix.items():
        r = next((r for r in records if r["chosen"] and "apply_dots_us" in r), None)
        if r is None:
            continue
        cells = []
        for name in ("apply_dots", "jacobi"):
            allowed = 1.2 * r[f"{name}_bytes"] / r["read_gbs"] / 1e3 + 2 if r["read_gbs"] else None
            more = r[f"{name}_us"] - r["real_time"] if r[f"{name}_us"] else None
            text = "-" if more is None else f"{more:.1f}"
            cells += [f"**{text}**" if None not in (more, allowed) and more > allowed else text,
                      "-" if allowed is None else f"{allowed:.1f}"]
        rows.append([matrix, f"`{r['kernel']}`", f"{r['real_time']:.1f}", *cells])
    return markdown(["matrix", "kernel", "apply, µs", "dots add", "allowed", "jacobi adds", "allowed"], rows)


CLOCKS = {"event": "real_time", "host": "host_us", "submit": "submit_us", "64 queued, host": "queued_us",
          "graph of 64, event": "graph_us", "graph of 1, host": "graph_host_us"}


def latency_table(by_matrix: dict[str, list[dict]]) -> str:
    """One row for what effort standard chooses and one for effort none's kernel where that is another; means last."""
    rows, speeds = [], {"standard": {}, "none": {}}
    for matrix, records in sorted(by_matrix.items(), key=lambda item: (item[1][0]["nnz"], item[0])):
        right = [r for r in records if "host_us" in r and fastest([r])]
        vendor = [r for r in right if r["kernel"].startswith("cusparse.csr")]
        chosen = next((r for r in right if r["chosen"]), None)
        stream = next((r for r in right if r["kernel"] == "csr.stream"), None)
        efforts = {"both": chosen} if chosen and chosen is stream else {"standard": chosen, "none": stream}
        for effort, record in efforts.items():
            if record is None:
                continue
            cells = []
            for clock in CLOCKS.values():
                best = min((r[clock] for r in vendor if r[clock] is not None), default=None)
                if record[clock] is None or best is None:
                    cells.append("-" if record[clock] is None else f"{record[clock]:.1f}")
                    continue
                speed = best / record[clock]
                for e in speeds if effort == "both" else [effort]:
                    speeds[e].setdefault(clock, []).append(speed)
                cells.append(f"{record[clock]:.1f} ({bold_below(speed)})")
            rows.append([matrix, f"{record['nnz']:,}", effort, f"`{record['kernel']}`", *cells])
    means = [["**geometric mean**", "", effort, "", *(f"({geometric_mean(of[c]):.2f})" if c in of else "-" for c in CLOCKS.values())]
             for effort, of in speeds.items() if of]
    return markdown(["matrix", "nonzeros", "effort", "kernel", *(f"{clock}, µs" for clock in CLOCKS)], rows + means)


def single_times(results: Path) -> dict[tuple[str, str], float]:
    """Cold microseconds of what the plan chose, by matrix hash and precision."""
    run = json.loads((results / "peers.json").read_text(encoding="utf-8"))
    return {(r["matrix_hash"], r["precision"]): r["real_time"] for r in run["benchmarks"] if r["chosen"] and r["cache"] == "cold"}


def caption(run: dict) -> str:
    """One line on where the numbers come from."""
    c = run["context"]
    where = ", ".join(filter(None, [c["device"], c.get("driver"), f"{c['threads']} threads" if c["backend"] == "cpu" else ""]))
    read = c["bandwidth"]["read"]
    bandwidth = f"{read / 1e9:.0f} GB/s" if read else "not measured"
    return f"\n{where}; read bandwidth {bandwidth}; commit {c['commit']}, {c['date'][:10]}.\n"


def table(run: dict, settings: dict[str, str], results: Path) -> str:
    """The text between the markers."""
    by_matrix: dict[str, list[dict]] = {}
    read = (run["context"]["bandwidth"]["read"] or 0) / 1e9
    for r in run["benchmarks"]:
        if "phase" in r and r["kernel"] == "default":  # what records up to 2026-11 call it
            r["kernel"] = "gustavson"
        if r["precision"] == settings["precision"] and r.get("cache", settings["cache"]) == settings["cache"] and not r.get("variant"):
            by_matrix.setdefault(r["matrix"], []).append(r | {"read_gbs": read})
    if not by_matrix:
        raise SystemExit(f"bench_table: no records of {settings['precision']}, {settings['cache']}")
    make = {"choice": choice_table, "kernels": kernels_table, "vendor": vendor_table, "latency": latency_table,
            "passes": passes_table,
            "spmm": lambda matrices: spmm_table(matrices, single_times(results)), "spgemm": spgemm_table}
    if settings["kind"] not in make:
        raise SystemExit(f"bench_table: no kind '{settings['kind']}'; there are: {', '.join(make)}")
    return make[settings["kind"]](by_matrix) + caption(run)


def installs_table(run: dict) -> str:
    """What tools/bare_system typed, and the seconds that it took."""
    c = run["context"]
    rows = [[r["by"], f"`{r['typed']}`", f"{r['seconds']:,}"] for r in run["installs"]]
    return markdown(["by", "typed", "seconds"], rows, left=2) + f"\n{c['system']}; {c['cpu']}, {c['cpus']} cores; commit {c['commit']}, {c['date'][:10]}.\n"


def wheels_table(run: dict) -> str:
    """What tools/make_wheels --record wrote: sizes, and the environments in which the tests passed."""
    rows = []
    for w in run["wheels"]:
        tests = "; ".join(f"Python {t['python']}{'t' if t['free_threaded'] else ''} with NumPy {t['numpy']}: {t['ended'].split(' in ')[0]}"
                          for t in w["tests"])
        rows.append([f"`{w['wheel']}`", f"{w['bytes'] / 1e6:.1f}", tests or "-"])
    return markdown(["wheel", "MB", "tests"], rows) + f"\nCommit {run['context']['commit']}, {run['context']['date'][:10]}.\n"


def cpu_table(run: dict) -> str:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
    if "mmread" in run["results"][0]:
        from compare_python import table as table_of  # noqa: PLC0415 (not needed for the others)
    elif "python_calls" in run["results"][0]:
        from python_overhead import table as overhead_table  # noqa: PLC0415

        return overhead_table(run) + "\n"
    elif "products" in run["results"][0]:
        from compare_spgemm_cpu import table as table_of  # noqa: PLC0415 (not needed for the others)
    else:
        from compare_spmv_cpu import table as table_of  # noqa: PLC0415

    return table_of(run, "median") + "\n"


def limits_table(run: dict) -> str:
    """One row per matrix: its least memory limit, and under each multiple of it the bytes counted and the time."""
    times = sorted({r["limit"] // r["least"] for r in run["limits"] if r["limit"]})
    cells: dict[str, dict[int | None, str]] = {}
    for r in run["limits"]:
        text = f"{human_bytes(r['peak_bytes'])}, {r['microseconds'] / 1e3:.3g} ms"
        good = r["kept"] and r["same_bits"]
        row = cells.setdefault(r["matrix"], {0: human_bytes(r["least"])})
        row[r["limit"] and r["limit"] // r["least"]] = text if good else f"**{text}: not kept**"
    header = ["C = A A", "least limit", *(f"{t} times that" if t > 1 else "held, time under it" for t in times), "no limit"]
    rows = [[matrix, row[0], *(row.get(t, "-") for t in times), row[None]] for matrix, row in cells.items()]
    c = run["context"]
    device = c["machine"]["cuda"]["devices"][0]["name"] if c["backend"] == "cuda" else c["machine"]["cpu"]["name"]
    return markdown(header, rows) + f"\n{device}; commit {c['commit']}, {c['date'][:10]}.\n"


def kept_table(run: dict) -> str:
    """Speed kept between two commits, one row per operation: cases, geometric mean, least."""
    kept: dict[str, list[float]] = {}
    for r in run["benchmarks"]:
        if "speed_kept" in r:
            kept.setdefault(r["name"].split("/")[0], []).append(r["speed_kept"])
    rows = [[operation, str(len(k)), f"{geometric_mean(k):.3f}", f"{min(k):.3f}"] for operation, k in kept.items()]
    c = run["context"]
    return markdown(["operation", "cases", "speed kept, geometric mean", "least"], rows) + (
        f"\n{c['device']}; commit {c['commit_before']} before, {c['commit']} after, {c['date'][:10]}.\n")


def acceptance_table(run: dict) -> str:
    """Of tools/scipy_acceptance, one row per suite: tests, outcomes that changed, products, those by tulle, and what was left."""
    names = {"scipy": "scipy.sparse", "pyamg": "PyAMG", "networkx": "NetworkX", "sklearn": "scikit-learn, sparse", "cupy": "CuPy, csr and csc, products"}
    other = "CuPy" if run["suites"][0]["suite"] == "cupy" else "SciPy"
    rows, left_of = [], {}
    for s in run["suites"]:
        left = {t: n["left_to_scipy"] for t, n in s["types"].items() if n["left_to_scipy"]}
        for t, n in left.items():
            left_of[t] = left_of.get(t, 0) + n
        rows.append([names[s["suite"]], f"{s['tests']:,}", f"{len(s['changed'])}", f"{s['products']:,}", f"{100 * s['by_tulle']:.1f}%",
                     f"{s['left_to_scipy']:,}"])
    products, left = (sum(s[key] for s in run["suites"]) for key in ("products", "left_to_scipy"))
    rows.append(["**all**", f"{sum(s['tests'] for s in run['suites']):,}", f"**{sum(len(s['changed']) for s in run['suites'])}**",
                 f"{products:,}", f"**{100 * run['by_tulle']:.1f}%**", f"{left:,}"])
    words = {"float128": "long double", "complex256": "complex long double"}
    most = sorted(left_of.items(), key=lambda item: -item[1])[:4]
    v = run["versions"]
    packages = {"cupy-cuda13x": "CuPy"} if other == "CuPy" else {"scipy": "SciPy", "pyamg": "PyAMG", "networkx": "NetworkX", "scikit-learn": "scikit-learn"}
    packages |= {"numpy": "NumPy", "python": "Python"}
    return markdown(["tests of", "tests", "outcomes changed", "products", "by tulle", f"left to {other}"], rows) + (
        "\n" + (f"Left to {other} most: {', '.join(f'{n:,} of {words.get(t, t)}' for t, n in most)}. " if most else "") +
        ", ".join(f"{word} {v[key]}" for key, word in packages.items() if key in v) + f"; commit {v['commit']}, {run['date'][:10]}.\n")


def busy_table(run: dict) -> str:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))
    from measure_busy_cpu import table as table_of  # noqa: PLC0415 (not needed for the others)

    c = run["context"]
    return markdown(*table_of(run), left=2) + (
        f"\n{c['cpu']}, {c['cores']} cores, microseconds; commit {c['before']} before, {c['commit']}, {c['date'][:10]}.\n")


def choices_table(run: dict, precision: str) -> str:
    """What `default` takes of block matrices, and its time over the best of the table; families in rows, blocks in columns."""
    letters = {"bin_bsr.compact": "c", "bsr": "b", "packed": "p", "csr5": "5"}
    rows: dict[tuple[str, bool], tuple[dict[str, list[str]], list[str]]] = {}
    regrets: dict[bool, list[float]] = {True: [], False: []}
    for r in run["choices"]:
        if r["precision"] != precision:
            continue
        family, block, fill = r["matrix"].rsplit(", ", 2)
        regret = r["chosen_us"] / min(r["us"].values())
        regrets[r["fitted"]].append(regret)
        of_block, fills = rows.setdefault((family, r["fitted"]), ({}, []))
        of_block.setdefault(block, []).append(
            f"{letters.get(r['chosen'], '?')} " + (f"**{regret:.2f}**" if regret > 1.05 else f"{regret:.2f}"))
        fills.append(fill)
    blocks = list(dict.fromkeys(b for of_block, _ in rows.values() for b in of_block))
    table = [[family, "fitted" if fitted else "judged", ", ".join(dict.fromkeys(fills)),
              *("; ".join(of_block.get(b, ["-"])) for b in blocks)] for (family, fitted), (of_block, fills) in rows.items()]
    c = run["context"]
    of_set = "; ".join(f"{name}: {len(regrets[f])} matrices, {sum(r > 1.05 for r in regrets[f])} above 1.05, mean "
                       f"{geometric_mean(regrets[f]):.3f}, worst {max(regrets[f]):.2f}"
                       for f, name in ((True, "fitted"), (False, "judged")) if regrets[f])
    names = ", ".join(f"{letter}: `{kernel}`" for kernel, letter in letters.items())
    return markdown(["neighbours", "", "full", *blocks], table, left=3) + (
        f"\n{names}. {of_set}. {c['device']}; commit {c['commit']}, {c['date'][:10]}.\n")


def choice_cuda_table(run: dict, kind: str) -> str:
    """What `default`, and by family effort max, takes on a GPU beside the fastest of its kernels and the vendor's fastest: by family, losses first; the worst
    of the families that nothing was fitted to and of the others (kind=worst); those slower than the vendor's (kind=vendor)."""
    def is_vendor(kernel: str) -> bool:
        return kernel.startswith("cusparse")

    cases = []
    for r in run["choice_cuda"]:
        ours = min((us, k) for k, us in r["us"].items() if not is_vendor(k))
        vendor = min((us, k) for k, us in r["us"].items() if is_vendor(k))
        taken = r["us"][r["chosen"]]
        cases.append((r, taken, ours, vendor, taken / ours[0], vendor[0] / taken))
    c = run["context"]
    caption_line = f"\n{c['device']}; commit {c['commit']}, {c['date'][:10]}.\n"
    if kind in ("worst", "vendor"):
        listed = sorted(cases, key=lambda x: -x[4]) if kind == "worst" else sorted(cases, key=lambda x: x[5])
        shown = listed[:30] if kind == "worst" else [x for x in listed if x[5] < 1]
        rows = [[f"{r['family']} {r['parameters']}", "fitted" if r["fitted"] else "left out", f"{r['nnz']:,}", r["precision"],
                 f"`{r['chosen']}` {taken:.1f}", f"`{ours[1]}` {ours[0]:.1f}", f"`{vendor[1]}` {vendor[0]:.1f}", f"{regret:.2f}",
                 f"{speed:.2f}"] for r, taken, ours, vendor, regret, speed in shown]
        return markdown(["matrix", "", "nonzeros", "precision", "chosen, µs", "fastest of ours, µs", "vendor's fastest, µs", "regret",
                         "speed over the vendor's"], rows) + caption_line

    def regret_and_speed(regrets: list, speeds: list) -> list:
        if not regrets:
            return ["-", "-"]
        return [f"{geometric_mean(regrets):.3f} / {max(regrets):.2f}", f"{geometric_mean(speeds):.2f} / {min(speeds):.2f}"]

    def cells(of: list) -> list:
        out = [str(len({(x[0]["parameters"], x[0]["nnz"]) for x in of}))]
        for p in ("f64", "f32"):
            these = [x for x in of if x[0]["precision"] == p]
            measured = [x for x in these if x[0].get("measured_us")]
            out += regret_and_speed([x[4] for x in these], [x[5] for x in these])
            out += regret_and_speed([x[0]["measured_us"] / x[2][0] for x in measured], [x[3][0] / x[0]["measured_us"] for x in measured])
        return out

    rows = []
    for fitted, group in ((False, "left out of every fit"), (True, "left out one at a time")):
        of = [x for x in cases if x[0]["fitted"] == fitted]
        if not of:
            continue
        rows.append([f"**{group}**", *cells(of)])
        families = {x[0]["family"] for x in of}
        by_loss = sorted(families, key=lambda f: (-geometric_mean([x[4] for x in of if x[0]["family"] == f]), f))
        rows += [[f, *cells([x for x in of if x[0]["family"] == f])] for f in by_loss]
    headings = [f"{p}, {what}" for p in ("f64", "f32") for what in ("regret", "over the vendor", "regret at effort max", "over the vendor at effort max")]
    return markdown(["family", "matrices", *headings], rows) + caption_line


def choice_cpu_table(run: dict, kind: str) -> str:
    """What `default` takes on a CPU beside the fastest of its kernels: by family, by size (kind=sizes), or the worst (kind=worst)."""
    ways = [(p, t) for p in ("f64", "f32") for t in (1, 2)]
    for r in (r for m in run["choice_cpu"] for r in m["runs"] if r["threads"] == 1):  # the same on one thread, but for noise
        both = [k for k in ("csr.serial", "csr.balanced") if k in r["us"]]
        if both:  # a large matrix has what a plan takes alone
            r["us"] |= dict.fromkeys(both, min(r["us"][k] for k in both))
    # Of a large matrix the record has what was chosen when it was measured, which may not be what is chosen now.
    found = [(m, r, r["us"][r["chosen"]] / min(r["us"].values())) for m in run["choice_cpu"] for r in m["runs"] if r["chosen"] in r["us"]]
    group = lambda m: "real" if m["family"] == "real" else "fitted" if m["fitted"] else "judged"
    c = run["context"]
    caption_line = f"\n{c['device']}; commit {c['commit']}, {c['date'][:10]}.\n"

    def cells(those: list[tuple[dict, dict, float]]) -> list[str]:
        by_way = [[g for _, r, g in those if (r["precision"], r["threads"]) == w] for w in ways]
        return [f"{bold_above(geometric_mean(g))} / {max(g):.2f}" if g else "-" for g in by_way]

    if kind in ("peers", "losses"):
        return choice_cpu_peers(found, kind) + caption_line
    found = [f for f in found if len(f[1]["us"]) > 1]  # else what was chosen was measured alone: the matrix is large
    if kind == "worst":
        rows = [[f"{m['family']} {m['matrix']} {m.get('parameters', '')}".strip(), group(m), f"{m['stats']['nnz']:,}", r["precision"],
                 str(r["threads"]), f"`{r['chosen']}` {r['us'][r['chosen']]:.4g}",
                 "`{}` {:.4g}".format(*min(r["us"].items(), key=lambda i: i[1])), f"{g:.2f}"]
                for m, r, g in sorted(found, key=lambda f: -f[2]) if group(m) != "fitted"][:20]
        return markdown(["matrix", "", "nonzeros", "precision", "threads", "chosen, µs", "fastest, µs", "regret"], rows, left=2) + caption_line
    header = ["matrices", *(f"{p}, {t} thread{'s' if t > 1 else ''}" for p, t in ways)]
    if kind == "sizes":
        decades = sorted({len(str(m["stats"]["nnz"])) for m, _, _ in found})
        rows = []
        for d in decades:
            those = [f for f in found if len(str(f[0]["stats"]["nnz"])) == d and group(f[0]) != "fitted"]
            planned = [r["plan_us"] / r["us"][r["planned"]] for _, r, _ in those if r["planned"] in r["us"]]
            rows.append([f"10^{d - 1}", str(len({id(m) for m, _, _ in those})), *cells(those), f"{geometric_mean(planned):.0f} / {max(planned):.0f}"])
        return markdown(["nonzeros from", *header, "plan, applications"], rows) + caption_line
    names = list(dict.fromkeys((group(m), m["family"]) for m, _, _ in found))
    rows = [[f"**{g}**", str(sum(group(m) == g for m in run["choice_cpu"])), *cells([f for f in found if group(f[0]) == g])]
            for g in ("fitted", "judged", "real")]
    for g, family in sorted(names, key=lambda n: ("judged", "fitted", "real").index(n[0])):
        if g != "real":
            those = [f for f in found if f[0]["family"] == family]
            rows.append([f"{family} ({g})", str(len({id(m) for m, _, _ in those})), *cells(those)])
    return markdown(["family", *header], rows) + caption_line


def choice_cpu_peers(found: list[tuple[dict, dict, float]], kind: str) -> str:
    """What is chosen, called through a plan, beside the best of other libraries, from 100 nonzeros on; the slowest first (kind=losses).
    Where another kernel is chosen now than when the plan was measured, its time and what a plan adds."""
    calls = sorted(r["peers"]["default"] - r["us"][r["planned"]] for m, r, _ in found
                   if r["threads"] == 1 and m["stats"]["nnz"] < 3000 and r["planned"] in r["us"])
    call = max(0.0, calls[len(calls) // 2])  # what a plan adds to its kernel: checks
    compared = []
    for m, r, _ in found:
        others = {k: t for k, t in r["peers"].items() if k != "default"}
        if m["stats"]["nnz"] >= 100 and others:
            best = min(others, key=others.get)
            mine = r["peers"]["default"] if r["planned"] == r["chosen"] else r["us"][r["chosen"]] + call
            compared.append((others[best] / mine, m, r, mine, best, others))
    if kind == "losses":
        rows = [[f"{m['family']} {m['matrix']} {m.get('parameters', '')}".strip(), f"{m['stats']['nnz']:,}", r["precision"], str(r["threads"]),
                 f"`{r['chosen']}` {mine:.4g}", f"{best} {others[best]:.4g}", f"{speed:.2f}"]
                for speed, m, r, mine, best, others in sorted(compared, key=lambda c: c[0])[:40]]
        return markdown(["matrix", "nonzeros", "precision", "threads", "tulle, µs", "best of the others, µs", "speed"], rows)
    rows = []
    for way in sorted({(r["precision"], r["threads"]) for _, _, r, *_ in compared}, key=lambda w: (w[1], w[0] != "f64")):
        those = [c for c in compared if (c[2]["precision"], c[2]["threads"]) == way]
        by_peer = [f"{geometric_mean([c[5][p] / c[3] for c in those if p in c[5]]):.2f}" for p in ("mkl", "mkl.in_place", "eigen", "scipy")]
        rows.append([f"{way[0]}, {way[1]} thread{'s' if way[1] > 1 else ''}", str(len(those)), f"**{geometric_mean([c[0] for c in those]):.2f}**",
                     f"{min(c[0] for c in those):.2f}", str(sum(c[0] < 0.9 for c in those)), str(sum(c[0] < 1 for c in those)), *by_peer])
    return markdown(["", "matrices", "speed over the best", "least", "below 0.9", "below 1", "over `mkl`", "`mkl.in_place`", "Eigen", "SciPy"], rows)


def rows_table(run: dict) -> str:
    """A table that was made when it was measured."""
    c = run["context"]
    return markdown(run["header"], run["rows"]) + f"\n{c['device']}; commit {c['commit']}, {c['date'][:10]}.\n"


def columns_table(run: dict, settings: dict[str, str]) -> str:
    """Of bench/spmm_families.cpp, for one precision: by matrix what a plan chooses that was told the columns (plan=untold: was not) beside the fastest of the vendor's algorithms
    whose answer was right, or (kind=means) geometric means; kind=bounds: the share of what binds it that it reaches."""
    cases: dict[tuple[str, int, str], dict[str, dict[str, str]]] = {}
    for r in (dict(zip(run["header"], row)) for row in run["rows"]):
        if r["type"] == settings["precision"]:
            cases.setdefault((r["matrix"], int(r["columns"]), r["order"]), {})[r["kernel"]] = r
    ways = sorted({(order, columns) for _, columns, order in cases}, key=lambda w: (w[0] != "row", w[1]))
    speeds: dict[tuple[str, int], list[float]] = {}
    lines: list[tuple[float, list[str]]] = []
    for matrix in dict.fromkeys(m for m, _, _ in cases):
        cells, least = [], math.inf
        for order, columns in ways:
            kernels = cases.get((matrix, columns, order), {})
            right = {k: float(r["us"]) for k, r in kernels.items() if float(r["error"]) <= 1}
            vendor = min((t for k, t in right.items() if k.startswith("cusparse")), default=math.nan)
            plan = "default" if settings["plan"] == "untold" else "default told"
            if plan not in right or math.isnan(vendor):
                cells.append("")
                continue
            own, r = right[plan], kernels[plan]
            gather, memory = float(r["gather us"]), float(r["memory us"])
            speed = vendor / own
            speeds.setdefault((order, columns), []).append(speed)
            least = min(least, speed)
            cells.append(f"{own:.0f}: {100 * max(gather, memory) / own:.0f}% {'L2' if gather > memory else 'memory'}"
                         if settings["kind"] == "bounds" else f"{own:.0f} / {vendor:.0f} = {bold_below(speed)}")
        first = next(iter(cases[matrix, ways[0][1], ways[0][0]].values())) if (matrix, ways[0][1], ways[0][0]) in cases else {}
        lines.append((least, [matrix, first.get("rows", ""), first.get("nnz", ""), *cells]))
    c = run["context"]
    caption_line = f"\n{c['device']}, {settings['precision']}, cold, µs; commit {c['commit']}, {c['date'][:10]}.\n"
    if settings["kind"] == "means":
        rows = [[f"{columns}, by {order}s", str(len(x)), f"{geometric_mean(x):.2f}", bold_below(min(x)), str(sum(s < 1 for s in x))]
                for (order, columns), x in sorted(speeds.items(), key=lambda w: (w[0][0] != "row", w[0][1]))]
        return markdown(["columns", "matrices", "speed, geometric mean", "least", "below 1"], rows) + caption_line
    header = ["matrix", "rows", "nonzeros", *(f"{columns}, by {order}s" for order, columns in ways)]
    return markdown(header, [cells for _, cells in sorted(lines, key=lambda line: line[0])]) + caption_line


def stored_words(stored: dict[str, dict[str, int]]) -> str:
    """`f32`, or by share of the entries: `f64 20%, f32 80%`."""
    if len(stored) == 1:
        return next(iter(stored))
    entries = sum(s["entries"] for s in stored.values())
    return ", ".join(f"{name} {100 * s['entries'] / max(entries, 1):.0f}%" for name, s in stored.items())


def precision_table(run: dict, settings: dict[str, str]) -> str:
    """One row for each way to store the values: what it takes, its speed over f64, its error over what is promised."""
    caches = ["cold", "warm"] if settings["cache"] == "both" else [settings["cache"]]
    wanted = {key: [w.replace("_", " ") for w in settings[key].split(",") if w] for key in ("values", "forms")}
    found: dict[tuple[str, ...], dict[str, dict]] = {}
    for r in run["benchmarks"]:
        if all(not words or r[field].startswith(tuple(words)) for words, field in ((wanted["values"], "values"), (wanted["forms"], "form"))):
            found.setdefault((r["matrix"], r["values"], r["form"], r["kernel"]), {})[r["cache"]] = r
    rows = []
    for (matrix, values, form, kernel), by_cache in found.items():
        r = next(iter(by_cache.values()))
        times = [cell for c in caches for cell in
                 ((f"{by_cache[c]['real_time']:.1f}", f"{by_cache[c]['over_f64']:.2f}") if c in by_cache else ("-", "-"))]
        error = r["error_ratio"]
        rows.append([matrix, values, form, f"`{kernel}`", stored_words(r["stored"]), f"{r['bytes_per_nonzero']:.2f}",
                     f"{r['plan_us'] / 1e3:.3g}", *times, f"{error:.2g}" if isinstance(error, (int, float)) and error <= 1 else f"**{error}**"])
    header = ["matrix", "values", "form", "kernel", "stored", "bytes a nonzero", "plan, ms",
              *(cell for c in caches for cell in (f"{c}, µs", "over f64")), "error / promise"]
    return markdown(header, rows, left=5) + caption(run)


def replace_tables(text: str, results: Path) -> str:
    """`text` with every table written anew."""

    def write(marker: re.Match[str]) -> str:
        given = dict(word.split("=", 1) for word in marker["settings"].split())
        if unknown := given.keys() - DEFAULTS.keys():
            raise SystemExit(f"bench_table: table:{marker['name']}: unknown setting '{min(unknown)}'")
        run = json.loads((results / f"{marker['name']}.json").read_text(encoding="utf-8"))
        made = (cpu_table(run) if "results" in run else installs_table(run) if "installs" in run
                else wheels_table(run) if "wheels" in run else limits_table(run) if "limits" in run
                else busy_table(run) if "busy" in run
                else acceptance_table(run) if "suites" in run
                else choices_table(run, (DEFAULTS | given)["precision"]) if "choices" in run
                else choice_cpu_table(run, (DEFAULTS | given)["kind"]) if "choice_cpu" in run
                else columns_table(run, DEFAULTS | given) if "gather us" in run.get("header", [])
                else choice_cuda_table(run, (DEFAULTS | given)["kind"]) if "choice_cuda" in run
                else rows_table(run) if "rows" in run
                else precision_table(run, DEFAULTS | given) if run["benchmarks"] and "form" in run["benchmarks"][0]
                else kept_table(run) if "commit_before" in run["context"] else table(run, DEFAULTS | given, results))
        return marker[1] + made + marker[4]

    return MARKER.sub(write, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="Markdown files")
    parser.add_argument("--results", type=Path, default=Path(__file__).resolve().parent.parent / "bench" / "results",
                        help="folder of the JSON files")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    stale = False
    for file in options.files:
        before = file.read_text(encoding="utf-8")
        after = replace_tables(before, options.results)
        if after == before:
            continue
        stale = True
        if not options.check:
            file.write_text(after, encoding="utf-8")
        print(f"{file}: {'out of date' if options.check else 'written'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())

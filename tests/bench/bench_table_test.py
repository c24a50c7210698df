"""tools/bench_table.py on made-up records."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "bench_table.py"


def record(kernel, matrix, time, chosen=False, vendor=False, error_ratio=0.5):
    return {"name": f"spmv/{kernel}/{matrix}/f64/cold", "kernel": kernel, "matrix": matrix, "precision": "f64",
            "cache": "cold", "variant": "", "rows": 1000, "nnz": 5000, "real_time": time, "gbs": 10.0,
            "percent_of_bandwidth": 50.0, "moved_gbs": 16.0, "plan_us": 10 * time, "break_even": None, "chosen": chosen, "vendor": vendor, "error_ratio": error_ratio}


RUN = {
    "context": {"device": "Device", "driver": "", "backend": "cpu", "threads": 2, "commit": "abc", "date": "2026-01-02T",
                "bandwidth": {"read": 20e9}},
    "benchmarks": [
        record("sell", "won", 10.0, chosen=True), record("cusparse.csr1", "won", 20.0, vendor=True),
        record("sell", "lost", 30.0, chosen=True), record("csr.merge", "lost", 25.0),
        record("cusparse.csr1", "lost", 15.0, vendor=True),
        record("broken", "lost", 1.0, error_ratio="inf"),
    ],
}


def latencies(kernel, matrix, nnz, times, **kind):
    clocks = dict(zip(["host_us", "submit_us", "queued_us", "graph_us", "graph_host_us"], times[1:]))
    return record(kernel, matrix, times[0], **kind) | {"cache": "warm", "nnz": nnz} | clocks


LATENCIES = RUN | {"benchmarks": [
    latencies("csr.warp", "larger", 5000, [5.0, 10.0, 2.0, 4.0, 2.0, 8.0], chosen=True),
    latencies("csr.stream", "larger", 5000, [6.0, 10.0, 2.0, 4.0, 3.0, 8.0]),
    latencies("cusparse.csr1", "larger", 5000, [10.0, 15.0, 3.0, 8.0, None, None], vendor=True),
    latencies("cusparse.csr2", "larger", 5000, [12.0, 9.0, 3.0, 9.0, None, None], vendor=True),
    latencies("csr.stream", "smaller", 100, [5.0, 10.0, 2.0, 4.0, 2.5, 8.0], chosen=True),
    latencies("cusparse.csr1", "smaller", 100, [20.0, 30.0, 3.0, 8.0, 5.0, 16.0], vendor=True),
]}


def stored(values, form, times, **more):
    shared = {"matrix": "m", "values": values, "form": form, "kernel": "packed", "stored": {"f64": {"rows": 4, "entries": 8, "bytes": 64}},
              "bytes_per_nonzero": 8.1, "plan_us": 5000, "error_ratio": 0.5} | more
    return [shared | {"cache": cache, "real_time": time, "over_f64": 10 / time} for cache, time in zip(("cold", "warm"), times)]


STUDY = RUN | {"benchmarks": [
    *stored("as given", "f64", [10.0, 5.0]),
    *stored("80% of rows small", "norm=1e-09", [8.0, 4.0], error_ratio=2.0,
            stored={"f64": {"rows": 1, "entries": 2, "bytes": 16}, "f32": {"rows": 3, "entries": 6, "bytes": 24}}),
]}


class BenchTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name) / "page.md"
        (Path(folder.name) / "run.json").write_text(json.dumps(RUN))
        (Path(folder.name) / "latency.json").write_text(json.dumps(LATENCIES))
        (Path(folder.name) / "study.json").write_text(json.dumps(STUDY))

    def table(self, settings, *options):
        """Exit code, page and messages for a page that has this table alone."""
        return self.run_tool(f"before\n<!-- table:{settings} -->\n<!-- /table -->\nafter\n", *options)

    def run_tool(self, text, *options):
        if text is not None:
            self.page.write_text(text, encoding="utf-8")
        call = [sys.executable, str(TOOL), "--results", str(self.page.parent), *options, str(self.page)]
        result = subprocess.run(call, capture_output=True, text=True, check=False)
        return result.returncode, self.page.read_text(encoding="utf-8"), result.stderr

    def test_losses_come_first_and_are_bold(self):
        code, text, _ = self.table("run")
        self.assertEqual(code, 0)
        self.assertLess(text.index("| lost |"), text.index("| won |"))
        self.assertIn("**0.50**", text)
        self.assertIn("| 2.00 |", text)
        self.assertIn("1.20 (`csr.merge`)", text)
        self.assertNotIn("broken", text)  # a wrong answer is never the best
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))

    def test_takes_runs_without_a_bandwidth(self):
        missing = {"context": RUN["context"] | {"bandwidth": {"read": None}},
                   "benchmarks": [b | {"percent_of_bandwidth": None} for b in RUN["benchmarks"]]}
        (self.page.parent / "run.json").write_text(json.dumps(missing))
        code, text, said = self.table("run")
        self.assertEqual(code, 0, said)
        self.assertIn("| 10 | - | 1.20 (`csr.merge`)", text)
        self.assertIn("read bandwidth not measured", text)

    def test_kernels_table_marks_fastest_and_chosen(self):
        _, text, _ = self.table("run kind=kernels")
        self.assertIn("| won | **10.0*** | 20.0 |", text)

    def test_latencies_stand_beside_the_vendors_best_of_each_clock(self):
        code, text, _ = self.table("latency cache=warm kind=latency")
        self.assertEqual(code, 0)
        self.assertLess(text.index("| smaller |"), text.index("| larger |"))
        self.assertIn("| larger | 5,000 | standard | `csr.warp` | 5.0 (2.00) | 10.0 (**0.90**) | 2.0 (1.50) | 4.0 (2.00) | 2.0 | 8.0 |", text)
        self.assertIn("| larger | 5,000 | none | `csr.stream` | 6.0 (1.67) |", text)
        self.assertIn("| smaller | 100 | both | `csr.stream` | 5.0 (4.00) |", text)
        self.assertIn("| **geometric mean** |  | standard |  | (2.83) |", text)  # of 2 and 4
        self.assertIn("| **geometric mean** |  | none |  | (2.58) |", text)  # of 5/3 and 4

    def test_a_study_of_precision_has_a_row_for_each_form(self):
        code, text, _ = self.table("study cache=both")
        self.assertEqual(code, 0)
        self.assertIn("| m | as given | f64 | `packed` | f64 | 8.10 | 5 | 10.0 | 1.00 | 5.0 | 2.00 | 0.5 |", text)
        self.assertIn("| m | 80% of rows small | norm=1e-09 | `packed` | f64 25%, f32 75% | 8.10 | 5 | 8.0 | 1.25 | 4.0 | 2.50 | **2.0** |", text)
        _, text, _ = self.table("study values=80%_of_rows")
        self.assertIn("| norm=1e-09 |", text)
        self.assertNotIn("| as given |", text)

    def test_check_changes_nothing_and_tells(self):
        code, text, _ = self.table("run", "--check")
        self.assertEqual(code, 1)
        self.assertNotIn("| won |", text)
        self.run_tool(None)
        code, _, _ = self.run_tool(None, "--check")
        self.assertEqual(code, 0)

    def test_rewriting_is_idempotent(self):
        _, once, _ = self.run_tool("<!-- table:run -->\nold\n<!-- /table -->\n")
        _, twice, _ = self.run_tool(None)
        self.assertEqual(once, twice)
        self.assertNotIn("old", once)

    def test_refuses_settings_and_selections_that_do_not_exist(self):
        for settings, wrong in (("run colour=red", "colour"), ("run precision=f32", "f32")):
            code, _, message = self.table(settings)
            self.assertNotEqual(code, 0)
            self.assertIn(wrong, message)


if __name__ == "__main__":
    unittest.main()

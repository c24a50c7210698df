"""`tulle bench` as it is called: records, exit codes, comparison, sweeps and the error study: bench.py BINARY."""
import collections
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tool import Outcome

BINARY = sys.argv.pop(1)
STENCIL = "gen:stencil:n=12"
QUICK = [STENCIL, "--no-bandwidth", "--warm", "--warmup", 1, "--repeat", 3]  # measuring the machine takes longer than these
ONE = [*QUICK, "--kernels", "csr.serial"]


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "run.json"

    def bench(self, *arguments, code=0):
        outcome = Outcome(BINARY, "bench", "--backend", "cpu", *arguments, timeout=120)
        self.assertEqual(outcome.code, code, outcome.stderr)
        return outcome.stdout

    def run_of(self, *arguments, code=0):
        """What --json prints; every answer in it is within its bound."""
        run = json.loads(self.bench(*arguments, "--json", code=code))
        self.assertTrue(run["benchmarks"] or run.get("errors"))
        for b in run["benchmarks"]:
            self.assertLessEqual(b["error_ratio"], 1, b["name"])
        return run

    def test_records_every_kernel_that_takes_the_matrix(self):
        run = self.run_of(STENCIL, "gen:rmat:scale=8", "--precision", "both", "--repeat", 2, "--warmup", 1)
        self.assertEqual(run["context"]["schema_version"], 1)
        self.assertGreater(run["context"]["bandwidth"]["read"], 0)
        self.assertTrue(run["context"]["commit"])
        for b in run["benchmarks"]:
            self.assertGreater(b["real_time"], 0)
            self.assertGreaterEqual(b["real_time"], b["min"])
            self.assertEqual(b["iterations"], 2)
            self.assertIn(b["bottleneck"], {"bandwidth", "latency", "gather", "imbalance", None})  # None: no probe could be made
            self.assertTrue(b["bottleneck_why"])
        names = [b["name"] for b in run["benchmarks"]]
        self.assertEqual(len(names), len(set(names)))
        for kernel in ("csr.serial", "csr.rows", "csr.balanced", "coo", "sell", "bsr", "packed"):
            self.assertLessEqual({f"spmv/{kernel}/{STENCIL}/f32/cold", f"spmv/{kernel}/{STENCIL}/f64/warm"}, set(names))
        chosen = [(b["matrix"], b["precision"], b["cache"]) for b in run["benchmarks"] if b["chosen"]]
        self.assertEqual(len(chosen), 8)
        self.assertEqual(len(set(chosen)), 8)

    def test_takes_a_matrix_after_a_list(self):
        run = self.run_of(*QUICK[1:], "--kernels", "csr.serial,sell", STENCIL, "gen:diagonal:n=9")
        self.assertEqual({b["matrix"] for b in run["benchmarks"]}, {STENCIL, "gen:diagonal:n=9"})
        solve = self.run_of("solve", "--no-bandwidth", "--repeat", 1, "--preconditioner", "jacobi,none",
                            "gen:stencil:n=9,values=spd")
        self.assertEqual({b["preconditioner"] for b in solve["benchmarks"]}, {"jacobi", "none"})

    def test_compares_with_an_earlier_run(self):
        self.bench(*ONE, "-o", self.file)
        old = json.loads(self.file.read_text())
        times = ("real_time", "lower_quartile", "upper_quartile")
        # What is allowed and a millionfold change keep the noise of the machine out of the answer.
        for factor, code in ((1e-6, 1), (1e6, 0)):
            changed = [b | {key: b[key] * factor for key in times} for b in old["benchmarks"]]
            self.file.write_text(json.dumps(old | {"benchmarks": changed}))
            text = self.bench(*ONE, "--allow", 100, "--compare", self.file, code=code)
            self.assertEqual("REGRESSION" in text, code == 1)
            self.assertIn(f"1 compared, {code} slower by more than 100% with quartiles that do not overlap", text)

    def test_compares_what_two_runs_have_in_common_alone(self):
        self.bench(*ONE, "-o", self.file)
        old = json.loads(self.file.read_text())
        old["context"] |= {"device": "abacus", "threads": 99}
        self.file.write_text(json.dumps(old))
        outcome = Outcome(BINARY, "bench", "--backend", "cpu", *QUICK, "--kernels", "csr.serial,coo", "--allow", 1000, "--compare", self.file)
        self.assertIn("device: abacus, now ", outcome.stderr)
        self.assertIn("threads: 99, now ", outcome.stderr)
        self.assertRegex(outcome.stdout, r"coo/.* -  +~?\d\S* \ws +-  only in the new run")
        new = self.file.with_name("new.json")
        outcome = Outcome(BINARY, "bench", "--backend", "cpu", *QUICK, "--kernels", "coo", "--compare", self.file, "-o", new)
        self.assertEqual(outcome.code, 3)
        self.assertIn(f"--compare {self.file}: it has no benchmark in common with {new}", outcome.stderr)
        self.assertTrue(json.loads(new.read_text())["benchmarks"], "what was measured is kept")

    def test_leaves_records_that_are_not_there_to_our_own_words(self):
        for arguments in ([*QUICK, "--compare", "nosuch.json"], ["--from", "nosuch.json", "--plot", "-"], ["--from", "/", "--plot", "-"]):
            outcome = Outcome(BINARY, "bench", *arguments)
            self.assertEqual((outcome.code, outcome.stdout), (3, ""))
            self.assertRegex(outcome.stderr, r"^tulle: (nosuch.json: No such file|/: Is a directory)")

    def test_leaves_out_the_bandwidth_of_the_memory_and_shares_of_it(self):
        tables = self.bench(*ONE)
        self.assertNotIn("triad", tables)
        self.assertIn("launch", tables)
        run = self.run_of(*ONE)
        self.assertEqual(set(run["context"]["bandwidth"].values()), {None})
        self.assertGreater(run["context"]["launch_us"], 0)
        self.assertEqual([b["percent_of_bandwidth"] for b in run["benchmarks"]], [None])

    def test_says_of_nothing_that_was_not_measured_what_holds_it_back(self):
        long = ["gen:stencil:n=60", *QUICK[1:], "--kernels", "csr.serial", "--no-diagnosis"]  # longer than ten launches
        self.assertRegex(self.bench(*long), r" - +not measured")
        run = self.run_of(*long, "-o", self.file)
        self.assertEqual([(b["bottleneck"], b["bottleneck_why"]) for b in run["benchmarks"]], [(None, "not measured")])
        for kind in ("roofline", "bars"):
            self.assertIn("<svg", self.bench("--from", self.file, "--plot", "-", "--plot-kind", kind))
        self.bench(*long, "--compare", self.file, "--allow", 1000)

    def test_writes_the_same_records_to_a_file_and_to_stdout(self):
        self.assertEqual(self.run_of(*ONE, "-o", self.file), json.loads(self.file.read_text()))
        tables = self.bench(*ONE, "-o", self.file)
        self.assertIn("csr.serial", tables)
        self.assertRaises(ValueError, json.loads, tables)  # the records went to the file
        self.assertEqual(len(json.loads(self.bench(*ONE, "-o", "-"))["benchmarks"]), 1)

    def test_is_quiet_beside_records_on_stdout(self):
        for quiet in ([], ["-q"]):
            outcome = Outcome(BINARY, "bench", "--backend", "cpu", *ONE, "--json", *quiet)
            self.assertEqual((outcome.code, "csr.serial" in outcome.stderr), (0, not quiet))
            self.assertEqual(len(json.loads(outcome.stdout)["benchmarks"]), 1)

    def test_writes_records_to_files_of_their_name(self):
        for name, meant in (("run.txt", "run.json"), ("run.json.gz", "run.json"), ("run.svg", "run.json")):
            outcome = Outcome(BINARY, "bench", *ONE, "-o", self.file.with_name(name))
            self.assertEqual(outcome.code, 2)
            self.assertIn(f"did you mean '{self.file.with_name(meant)}'?", outcome.stderr)
        self.assertEqual(list(self.file.parent.iterdir()), [])
        self.bench(*ONE, "-o", "/dev/null")

    def test_refuses_what_it_cannot_read_or_write(self):
        self.file.write_text("not json")
        for arguments in ([*QUICK, "--compare", self.file], ["/no/such/file.mtx", "--warm", "--no-bandwidth"],
                          [*QUICK, "-o", "/no/such/folder/out.json"], ["spgemm", "/no/such/file.mtx", "--no-bandwidth"]):
            with self.subTest(arguments):
                self.bench(*arguments, code=3)

    def test_goes_on_after_a_matrix_that_cannot_be_read(self):
        broken = self.file.with_name("broken.mtx")
        broken.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 3 1\n")
        run = self.run_of(broken, *ONE, code=3)
        self.assertEqual(len(run["benchmarks"]), 1)
        self.assertEqual(run["skipped"][0]["matrix"], str(broken))

    def test_measures_nothing_where_a_name_is_wrong(self):
        for arguments, code in (([*ONE, "/no/such/file.mtx"], 3), ([*ONE, "gen:nothing"], 2), ([*ONE, "gen:stencil:m=3"], 2),
                                ([*QUICK, "--kernels", "csr.serial,csr.nonsense"], 2), (["solve", *QUICK, "--kernels", "csr.serial"], 2),
                                (["spgemm", *QUICK, "gen:nothing", "/no/such/file.mtx"], 2), ([*QUICK, "--policy", "simple"], 2),
                                ([*QUICK, "--sweep", "block_size"], 2), ([*QUICK, "--sweep", "lanes"], 2)):
            with self.subTest(arguments):
                self.assertEqual(self.bench(*arguments, code=code), "")

    def test_refuses_by_name_what_an_operation_does_not_have(self):
        for operation, *options in (["spgemm", "--warm"], ["spgemm", "--effort", "none"], ["spgemm", "--no-diagnosis"], ["spgemm", "--order", "row"],
                                    ["spgemm", "--rhs", "1"], ["spmm", "--errors"], ["solve", "--cold"], ["solve", "--tolerance", "0.1"]):
            for words in ([operation, *options], [*options, operation]):
                outcome = Outcome(BINARY, "bench", *words, "gen:stencil:n=4,values=spd", "--no-bandwidth")
                self.assertEqual((outcome.code, outcome.stdout), (2, ""), words)
                self.assertIn(f"bench {operation} does not have {options[0]}", outcome.stderr)

    def test_refuses_kernels_that_are_none(self):
        for kernels, said in (("", "a name is empty"), ("vendor", "no vendor kernel of y = A x on backend cpu")):
            outcome = Outcome(BINARY, "bench", "--backend", "cpu", *QUICK, "--kernels", kernels)
            self.assertEqual((outcome.code, outcome.stdout), (2, ""), kernels)
            self.assertIn(said, outcome.stderr)
        self.bench("spgemm", "gen:stencil:n=4", "--no-bandwidth", "--kernels", "vendor", code=2)
        self.bench("--errors", "--kernels", "chosen", code=2)

    def test_suggests_the_operation_that_was_meant(self):
        for word, meant in (("spmw", "spmv"), ("sovle", "solve"), ("spgem", "spgemm")):
            outcome = Outcome(BINARY, "bench", word, STENCIL)
            self.assertEqual(outcome.code, 3)
            self.assertIn(f"{word}: no such file; did you mean 'bench {meant}'?", outcome.stderr)
        self.assertNotIn("did you mean", Outcome(BINARY, "bench", "nosuch.mtx").stderr)

    def test_says_best_of_ours_where_all_were_measured(self):
        few = [*QUICK, "--kernels", "chosen,csr.serial,coo"]
        self.assertRegex(self.bench(*few), r"best of the \d measured")
        self.assertNotIn("best of ours", self.bench(*few))
        self.assertIn("the choice / best of ours", self.bench(*QUICK))

    def test_says_what_a_parameter_is_for(self):
        outcome = Outcome(BINARY, "bench", "--backend", "cpu", *QUICK, "--sweep", "block_size")
        self.assertIn("threads of a block", outcome.stderr)
        outcome = Outcome(BINARY, "bench", "--backend", "cpu", *QUICK, "--sweep", "sigma", "--kernels", "csr.serial")
        self.assertEqual(outcome.code, 2)
        self.assertIn("none of the kernels asked for has it", outcome.stderr)

    def test_an_operation_is_a_subcommand(self):
        for operation in ("spmv", "spmm", "spgemm", "solve"):
            self.assertIn(operation, self.bench("--help"))
            self.assertIn(f"tulle bench {operation}", self.bench(operation, "--help"))
        self.assertNotIn("--rhs", self.bench("solve", "--help"))
        run = self.run_of("--json", *QUICK[1:], "spmm", STENCIL, "--kernels", "csr.balanced")
        self.assertEqual([(b["rhs"], b["matrix"]) for b in run["benchmarks"]], [(8, STENCIL)])
        for words in (["spmm", "--rhs", 1], ["--rhs", 1, "spmm"]):
            self.assertEqual([b["rhs"] for b in self.run_of(*words, *QUICK, "--kernels", "csr.balanced")["benchmarks"]], [1])
        self.assertRegex(self.bench("spmm", "--help"), r"--rhs N +Right-hand sides, multiplied at once \(default 8\)")
        self.assertIn("iterates in f32", " ".join(self.bench("solve", "--help").split()))

    def test_says_that_other_processes_are_in_the_way(self):
        spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() + 1)]
        try:
            outcome = Outcome(BINARY, "bench", "--backend", "cpu", "gen:stencil:n=60", "--no-bandwidth", "--no-diagnosis", "--warm",
                              "--repeat", 50, "--kernels", "csr.balanced", "-o", self.file)
        finally:
            for process in spin:
                process.kill()
                process.wait()
        self.assertEqual(outcome.code, 0, outcome.stderr)
        record = json.loads(self.file.read_text())
        self.assertTrue(record["context"]["disturbed"])
        self.assertGreater(record["context"]["cores_of_others"], 0.25)
        for b in record["benchmarks"]:
            self.assertTrue(b["disturbed"])
            self.assertGreater(b["cores_of_others"], 0.25)
            self.assertLessEqual(b["lower_quartile"], b["median"])
            self.assertGreaterEqual(b["upper_quartile"], b["median"])
        self.assertRegex(outcome.stdout, r"csr.balanced +~\d")
        self.assertIn("other processes kept up to", outcome.stdout)
        self.assertIn("the machine is overloaded", outcome.stderr)

    def test_refuses_wrong_usage(self):
        for arguments in ([], [*QUICK, "--kernels", "csr.nonsense"], [*QUICK, "--repeat", 0], [*QUICK, "--sweep", "nonsense"],
                          ["--suite", "nonsense"], [*QUICK, "--latency", "--cold"], [*QUICK, "--latency", "--sweep", "sigma"],
                          [*QUICK, "--kernels", "default"],  # a word of earlier versions
                          [*QUICK, "--preconditioner", "none"], [*QUICK, "--rtol", 1e-6],
                          ["solve", "gen:stencil:n=4,values=spd", "--rtol", "nan"], ["spgemm", "gen:stencil:n=4", "--reorder", "rcm"],
                          [*QUICK, "--precision", "mixed"], [*QUICK, "--tolerance", 1e-3], [*QUICK, "--precision-study", "--kernels", "packed"],
                          ["spgemm", STENCIL, "--precision", "mixed", "--tolerance", 1e-3], ["solve", STENCIL, "--precision-study"],
                          ["solve", "gen:stencil:n=4,values=spd", "--precision", "mixed", "--tolerance", 1e-3],
                          ["spgemm"], ["spgemm", "gen:stencil:n=4", "--sweep", "sigma"],
                          ["spgemm", "gen:stencil:n=4", "--kernels", "csr.balanced"]):
            with self.subTest(arguments):
                self.bench(*arguments, code=2)

    def test_chosen_kernels_are_the_choice_and_the_one_without_set_up(self):
        run = self.run_of(*QUICK, "--kernels", "chosen")
        self.assertEqual(sum(b["chosen"] for b in run["benchmarks"]), 1)
        self.assertIn("csr.balanced", [b["kernel"] for b in run["benchmarks"]])
        self.assertLessEqual(len(run["benchmarks"]), 2)

    def test_effort_none_chooses_the_kernel_without_set_up(self):
        run = self.run_of(*QUICK, "--kernel", "chosen", "--effort", "none")
        self.assertEqual([(b["kernel"], b["effort"]) for b in run["benchmarks"]], [("csr.balanced", "none")])

    def test_latency_on_the_cpu_is_the_hosts_alone(self):
        run = self.run_of(STENCIL, "--no-bandwidth", "--latency", "--repeat", 3)
        self.assertLessEqual(len(run["benchmarks"]), 2, "the choice and the kernel without set-up")
        for b in run["benchmarks"]:
            self.assertEqual((b["cache"], b["iterations"]), ("warm", 3))
            self.assertGreater(b["host_us"], 0)
            self.assertEqual({b[clock] for clock in ("submit_us", "queued_us", "graph_us", "graph_host_us")}, {None})
            self.assertIn("CPU", b["latency_missing"])

    def test_measures_several_right_hand_sides(self):
        for order in ("row", "column"):
            run = self.run_of("spmm", *QUICK, "--rhs", 3, "--order", order)
            self.assertGreaterEqual(len(run["benchmarks"]), 2)
            for b in run["benchmarks"]:
                self.assertTrue(b["name"].startswith("spmm/"), b["name"])
                self.assertEqual(b["rhs"], 3)
                self.assertEqual(b["compulsory_bytes"], b["nnz"] * 12 + (b["rows"] + 1) * 4 + 3 * 2 * 8 * b["rows"])
            self.assertTrue(run["skipped"], "kernels that take one at a time")

    def test_measures_the_transpose(self):
        run = self.run_of("gen:rmat:scale=8", *QUICK[1:], "--transpose")
        for b in run["benchmarks"]:
            self.assertTrue(b["name"].endswith("/transposed"), b["name"])
        self.assertIn("csr.transposed", [b["kernel"] for b in run["benchmarks"]])

    def test_holds_mixed_precision_to_what_was_promised(self):
        for bound in ("componentwise", "row", "norm"):
            run = self.run_of(*QUICK, "--precision", "mixed", "--tolerance", 1e-3, "--bound", bound)
            for b in run["benchmarks"]:
                self.assertEqual((b["precision"], b["tolerance"], b["bound"]), ("mixed", 1e-3, bound))
                self.assertTrue(b["name"].endswith(f"/warm/{bound}=0.001"), b["name"])
                self.assertEqual(sum(s["entries"] for s in b["stored"].values()), b["nnz"], b["name"])
        for b in self.run_of(*QUICK, "--precision", "mixed", "--shrink", 0.5, "--percent", 60)["benchmarks"]:
            self.assertEqual((b["shrink"], b["percent"]), (0.5, 60))

    def test_studies_precision(self):
        run = self.run_of(STENCIL, "gen:fem:n=4,values=integer", "--precision-study", "--repeat", 2, "--warmup", 1, "--precision", "mixed",
                          "--shrink", 1)
        names = [b["name"] for b in run["benchmarks"]]
        self.assertEqual(len(names), len(set(names)))
        seen = {(b["form"], b["values"]) for b in run["benchmarks"] if b["matrix"] == STENCIL}
        self.assertLessEqual({("f64", "as given"), ("f32", "as given"), ("f32 under f64", "as given"), ("row=1e-05", "as given"),
                              ("norm=9.31323e-10", "80% of rows small"), ("shrink=1,percent=99", "as given"), ("lossless", "bf16")}, seen)
        for b in run["benchmarks"]:
            self.assertGreater(min(b["real_time"], b["over_f64"], b["bytes_per_nonzero"]), 0, b["name"])
            self.assertGreaterEqual(sum(s["entries"] for s in b["stored"].values()), b["nnz"], b["name"])

    def test_measures_solvers_in_mixed_precision(self):
        run = json.loads(self.bench("solve", "gen:stencil:n=9,values=spd", "--precision", "mixed", "--repeat", 2, "--warmup", 1, "--json"))
        self.assertTrue(run["benchmarks"])
        for b in run["benchmarks"]:
            self.assertEqual((b["precision"], b["status"]), ("mixed", "SUCCESS"))
            self.assertLessEqual(b["relative_residual"], 1e-8)
            self.assertGreater(b["corrections"], 0)

    def test_sweeps_a_parameter(self):
        for b in self.run_of(*QUICK, "--sweep", "sigma", "--kernels", "sell")["benchmarks"]:
            self.assertTrue(b["variant"].startswith("sigma="))
            self.assertIn(b["variant"], b["parameters"])

    def test_errors_grow_from_integers_to_doubles_to_singles(self):
        errors = collections.defaultdict(dict)
        tables = self.bench("--errors", "--no-bandwidth", "--kernels", "csr.serial", "-o", self.file)
        self.assertRegex(tables, "csr.serial, row of .* f64 ratio .* f32 ratio\n")
        for e in json.loads(self.file.read_text())["errors"]:
            self.assertLessEqual(e["error_ratio"], 1, e["name"])
            self.assertLessEqual(e["relative_error"], e["bound"], e["name"])
            errors[e["precision"]][e["length"]] = e["relative_error"]
        self.assertEqual(len(errors["f32"]), 11)
        self.assertEqual(set(errors["i32"].values()), {0})
        for length in (64, 1024, 65536, 1 << 20):
            self.assertLess(0, errors["f64"][length])
            self.assertLess(errors["f64"][length], errors["f32"][length])
        for precision in ("f32", "f64"):
            self.assertGreater(errors[precision][1 << 20], errors[precision][4])

    def test_measures_products(self):
        run = self.run_of("spgemm", "gen:stencil:n=9", "gen:uniform:n=60,cols=40,degree=3", "--precision", "both", "--repeat", 2,
                          "--warmup", 1)
        names = [b["name"] for b in run["benchmarks"]]
        self.assertEqual(len(names), len(set(names)))
        for b in run["benchmarks"]:
            square = b["matrix"] == "gen:stencil:n=9"
            entry = 12 if b["precision"] == "f64" else 8
            self.assertGreater(min(b["real_time"], b["gflops"], b["peak_bytes"]), 0)
            self.assertEqual((b["wrong"], b["sorted"], b["iterations"], b["transposed_b"]), ("", True, 2, not square), b["name"])
            self.assertEqual((b["checked_rows"], b["cols"]), (b["rows"], b["rows"]))
            self.assertGreaterEqual(b["products"], b["nnz_c"])
            self.assertEqual(b["compulsory_bytes"], entry * (b["nnz_c"] + (1 if square else 2) * b["nnz"]) + 12 * b["rows"])
        self.assertEqual(len({(b["matrix"], b["nnz_c"]) for b in run["benchmarks"]}), 2)
        for kernel, phase in itertools.product(("gustavson", "kernel0"), ("f32/whole", "f64/numeric")):
            self.assertIn(f"spgemm/{kernel}/gen:stencil:n=9/{phase}", names)

    def test_measures_the_origins_where_they_are_asked_for(self):
        run = self.run_of("spgemm", "gen:stencil:n=4", "--no-bandwidth", "--kernels", "study", "--repeat", 1)
        self.assertEqual({(b["kernel"], b["chosen"]) for b in run["benchmarks"]}, {("kernel0", False)})


unittest.main()

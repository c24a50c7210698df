"""What --json prints parses, and has its keys; help has an example; limits are kept: json_output.py BINARY."""
import json
import pathlib
import sys
import tempfile
import unittest

from tool import Outcome

BINARY = sys.argv.pop(1)
COMMANDS = ["info", "kernels", "spmv", "spgemm", "solve", "bench", "convert", "generate", "permute", "spy", "doctor"]


class JsonOutput(unittest.TestCase):
    def parsed(self, *arguments, code=0):
        outcome = Outcome(BINARY, *arguments)
        self.assertEqual(outcome.code, code, outcome.stderr)
        record = json.loads(outcome.stdout)
        self.assertEqual(record["schema_version"], 1)
        return record

    def test_info(self):
        record = self.parsed("info", "gen:diagonal:n=10", "--json")
        self.assertEqual((record["rows"], record["cols"], record["nnz"]), (10, 10, 10))
        self.assertEqual(record["compulsory_bytes"]["f64"], 10 * 12 + 11 * 4 + 2 * 80)
        self.assertEqual(record["stats"]["max"], 1)
        self.assertEqual([c["backend"] for c in record["choice"]], ["cpu"])

    def test_kernels(self):
        kernels = self.parsed("kernels", "gen:diagonal:n=10", "--json")["kernels"]
        serial = next(k for k in kernels if k["name"] == "csr.serial")
        self.assertEqual(serial["backend"], "cpu")
        self.assertTrue(serial["supported"])
        self.assertTrue(all(k["summary"] for k in kernels))

    def test_spmv(self):
        record = self.parsed("spmv", "gen:stencil:points=5,n=20", "--verify", "--json", "--explain")
        self.assertLessEqual({"kernel", "reason", "backend", "microseconds", "error_ratio", "stats"}, set(record))
        self.assertLessEqual(record["error_ratio"], 1)
        self.assertGreater(record["microseconds"], 0)
        self.assertIn(record["kernel"], record["reason"])

    def test_spmv_is_the_same_matrix_and_kernel_every_time(self):
        command = ["spmv", "gen:rmat:scale=8", "--json", "--kernel", "csr.balanced"]
        first, second = self.parsed(*command), self.parsed(*command)
        self.assertEqual(first["hash"], second["hash"])
        self.assertEqual(first["kernel"], "csr.balanced")

    def test_alpha_and_beta_keep_the_bound(self):
        for alpha in (0, 1, -1, 2.5):
            for beta in (0, 1, -1, 2.5):
                record = self.parsed("spmv", "gen:short:n=500", "--alpha", alpha, "--beta", beta, "--kernel", "all",
                                     "--verify", "--json", "--repeat", 1)
                for result in record["results"]:
                    self.assertLessEqual(result["error_ratio"], 1, (alpha, beta, result))

    def test_mixed_precision_keeps_its_promise(self):
        for bound in ("componentwise", "row", "norm"):
            for tolerance in (1e-9, 1e-6, 1e-2):
                record = self.parsed("spmv", "gen:rmat:scale=9", "--precision", "mixed", "--tolerance", tolerance, "--bound", bound,
                                     "--kernel", "all", "--alpha", -2.5, "--beta", 0.5, "--verify", "--json", "--repeat", 1)
                self.assertEqual((record["precision"], record["tolerance"], record["bound"]), ("mixed", tolerance, bound))
                for result in record["results"]:
                    self.assertLessEqual(result["error_ratio"], 1, result)
                    self.assertEqual(sum(s["entries"] for s in result["stored"].values()), record["nnz"], result)

    def test_a_rule_of_magnitude_is_held_to_what_it_lost(self):
        for rule in (["--below", 0.5], ["--shrink", 1, "--percent", 40]):
            record = self.parsed("spmv", "gen:rmat:scale=9", "--precision", "mixed", *rule, "--kernel", "all", "--verify", "--json")
            self.assertEqual(record[rule[0][2:]], rule[1])
            self.assertTrue(all(result["error_ratio"] <= 1 for result in record["results"]))

    def test_autotune_reports_a_kernel(self):
        names = {k["name"] for k in self.parsed("kernels", "--json")["kernels"]}
        self.assertIn(self.parsed("spmv", "gen:short:n=500", "--autotune", "--json")["kernel"], names)

    def test_solve(self):
        for more in ([], ["--method", "jacobi"], ["--reorder", "rcm", "--preconditioner", "block_jacobi"]):
            record = self.parsed("solve", "gen:stencil:n=9,values=spd", "--json", *more)
            self.assertEqual((record["rows"], record["status"], record["converged"]), (729, "SUCCESS", True))
            self.assertLessEqual(record["residual"], record["target"])
            self.assertAlmostEqual(record["target"], 1e-8 * record["rhs"])
            self.assertAlmostEqual(record["relative_residual"], record["residual"] / record["rhs"])
            self.assertLessEqual({"matrix", "nnz", "precision", "backend", "method", "reason", "setup_us", "solve_us", "iteration_us"},
                                 set(record))
        record = self.parsed("solve", "gen:stencil:n=9,values=spd", "--json", "--max-iterations", 2, code=4)
        self.assertEqual((record["status"], record["converged"], record["iterations"]), ("NOT_CONVERGED", False, 2))

    def test_solve_in_mixed_precision(self):
        system = ["solve", "gen:stencil:n=9,values=spd", "--precision", "mixed", "--rtol", 1e-12, "--json"]
        for method in ("cg", "jacobi"):
            record = self.parsed(*system, "--method", method)
            self.assertEqual((record["precision"], record["converged"]), ("mixed", True))
            self.assertLessEqual(record["residual"], record["target"])
            self.assertLessEqual(record["wide_iterations"], record["iterations"])
            near_by = self.parsed(*system, "--method", method, "--tolerance", 1e-4, "--bound", "norm")
            self.assertEqual((near_by["tolerance"], near_by["bound"], near_by["converged"]), (1e-4, "norm", True))
            self.assertIn("true_residual", near_by)

    def test_spgemm(self):
        record = self.parsed("spgemm", "gen:stencil:points=5,n=9", "gen:stencil:points=5,n=9", "--verify", "--json")
        self.assertLessEqual({"kernel", "reason", "backend", "microseconds", "numeric_us", "rows", "cols", "nnz", "products",
                              "compression", "peak_bytes", "error_ratio", "checked_rows"}, set(record))
        self.assertEqual((record["rows"], record["cols"], record["inner"]), (81, 81, 81))
        self.assertLessEqual(record["error_ratio"], 1)
        self.assertEqual(record["checked_rows"], 81)
        self.assertAlmostEqual(record["compression"], record["products"] / record["nnz"])

    def test_spgemm_gives_the_same_bits_from_any_number_of_threads(self):
        command = ["spgemm", "gen:rmat:scale=9", "gen:rmat:scale=9", "--json", "--repeat", 1]
        hashes = {self.parsed(*command, *more)["hash"]
                  for more in ([], ["--threads", 1], ["--threads", 5], ["--threads", 2, "--memory-limit", "64K"], ["--kernel", "kernel0"])}
        self.assertEqual(len(hashes), 1)

    def test_spgemm_lists_its_kernels(self):
        kernels = [k for k in self.parsed("kernels", "--json", "--backend", "cpu")["kernels"] if k["operation"] == "spgemm"]
        self.assertLessEqual({"gustavson", "kernel0"}, {k["name"] for k in kernels})
        types = {k["name"]: k["types"] for k in kernels}
        self.assertEqual(types["kernel0"], ["f64", "f32", "i32"])
        self.assertEqual(types["gustavson"], ["f64", "f32", "i32", "i64", "c64", "c128", "bool"])

    def test_generators(self):
        names = {g["name"] for g in self.parsed("generate", "--list", "--json")["generators"]}
        self.assertLessEqual({"uniform", "corner", "stencil", "fem", "banded", "rmat", "short", "arrow", "block",
                              "diagonal"}, names)

    def test_permute(self):
        record = self.parsed("permute", "gen:stencil:n=6,points=7", "--method", "random", "--json", "--repeat", 3)
        self.assertEqual((record["ordering"], record["moves"]), ("random", "rows and columns"))
        self.assertEqual(record["before"]["bandwidth"], 36)
        self.assertGreater(record["after"]["bandwidth"], 36)
        self.assertEqual(set(record["after"]["sectors_per_nonzero"]), {"thread", "lanes_8", "warp"})
        self.assertGreater(record["gain"], 0)
        self.assertIn("pays_after", record)
        record = self.parsed("permute", "gen:uniform:n=6,cols=9,degree=2", "--method", "length", "--json", "--repeat", 0)
        self.assertEqual(record["moves"], "rows")
        self.assertNotIn("gain", record)

    def test_gather(self):
        record = self.parsed("info", "gen:stencil:n=6,points=7", "--gather", "--method", "rcm", "--json")
        self.assertEqual(record["gather"]["bandwidth"], 36)
        self.assertLessEqual(record["gather_reordered"]["quality"]["bandwidth"], 36)

    def test_reorder(self):
        mesh = "gen:stencil:n=6,points=7,values=spd"
        for method, order in [("always", "reverse Cuthill-McKee"), ("rcm", "reverse Cuthill-McKee"), ("degree", "degree")]:
            for command in (["spmv", mesh, "--repeat", 1], ["solve", mesh], ["solve", mesh, "--method", "jacobi"]):
                with self.subTest(method=method, command=command):
                    self.assertIn(f"{order} order", self.parsed(*command, "--reorder", method, "--json")["reason"])
        self.assertNotIn("Cuthill", self.parsed("solve", mesh, "--reorder", "never", "--json")["reason"])
        with tempfile.TemporaryDirectory() as folder:
            order = pathlib.Path(folder) / "order.txt"
            order.write_text("".join(f"{i}\n" for i in reversed(range(216))))
            self.assertIn("in the order that was given",
                          self.parsed("solve", mesh, "--permutation", str(order), "--json")["reason"])

    def test_doctor(self):
        record = self.parsed("doctor", "--json", "--threads", 1)
        for rate in ("read_gbs", "copy_gbs", "triad_gbs"):
            self.assertGreater(record["cpu"]["bandwidth"][rate], 0)
        self.assertGreaterEqual(record["cpu"]["cores_of_others"], 0)
        self.assertTrue(record["cpu"]["row_sums"].startswith(("plain", "avx2", "avx512")))
        self.assertEqual(record["cuda"]["devices"], [])
        self.assertTrue(all(m["what"] and m["how"] for m in record["missing"]))

    def test_errors(self):
        for code, status, arguments in [(2, "INVALID_ARGUMENT", ["spmv", "gen:nothing"]),
                                        (2, "INVALID_ARGUMENT", ["spmv", "--no-such-option"]),
                                        (2, "INVALID_ARGUMENT", ["spvm"]),
                                        (3, "FILE_IO", ["info", "no such file.mtx"]),
                                        (5, "UNSUPPORTED", ["spmv", "gen:diagonal:n=4", "--backend", "cuda"])]:
            with self.subTest(arguments):
                record = self.parsed(*arguments, "--json", code=code)
                self.assertEqual(record["error"]["status"], status)
                self.assertTrue(record["error"]["message"])


class Limits(unittest.TestCase):
    @unittest.skipIf("--sanitized" in sys.argv, "sanitizers reserve address space of their own")
    def test_out_of_memory_is_5(self):
        outcome = Outcome(BINARY, "info", "gen:diagonal:n=100000000", address_space=10**9)
        self.assertEqual(outcome.code, 5, outcome.stderr)
        self.assertIn("memory", outcome.stderr)


class Help(unittest.TestCase):
    def test_every_command_has_an_example(self):
        for command in COMMANDS:
            outcome = Outcome(BINARY, command, "--help")
            self.assertEqual(outcome.code, 0)
            self.assertIn(f"tulle {command}", outcome.stdout[outcome.stdout.find("Example"):], command)
        self.assertTrue(all(c in Outcome(BINARY, "--help").stdout for c in COMMANDS))


unittest.main(argv=[a for a in sys.argv if a != "--sanitized"])

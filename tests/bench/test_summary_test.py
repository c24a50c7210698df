"""What ./check says at its end, of made JUnit files: test_summary_test.py TOOL."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape, quoteattr

TOOL = sys.argv.pop(1)
GTEST = "[==========] Running 1 test from 1 test suite.\n{}\n[==========] 1 test from 1 test suite ran. (0 ms total)\n"


def case(name, status="run", output="", inside=""):
    return f"<testcase name={quoteattr(name)} status={quoteattr(status)}>{inside}<system-out>{escape(output)}</system-out></testcase>"


def skipped(name, reason, matched="SKIP_REGULAR_EXPRESSION_MATCHED"):
    output = GTEST.format(f"t.cpp:12: Skipped\n{reason}\n") + f"[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] {name}\n"
    return case(name, "notrun", output, f"<skipped message={quoteattr(matched)}/>")


class Summary(unittest.TestCase):
    def said(self, *cases, columns="100"):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "tests.xml"
            file.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
            done = subprocess.run([sys.executable, TOOL, file], capture_output=True, text=True, env={"COLUMNS": columns})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_counts_programs_that_ran_whole_and_groups_reasons(self):
        whole = case("conformance.cuda", "run", "k.cpp:7: Skipped\nno usable CUDA device: none\n\nk.cpp:7: Skipped\nno GPU\n\n"
                     "[==========] 20 tests from 3 test suites ran. (9 ms total)\n[  PASSED  ] 18 tests.\n[  SKIPPED ] 2 tests.\n")
        self.assertEqual(self.said(whole, case("a"), skipped("b", "not under a sanitizer"), skipped("c", "row 17 is odd"), skipped("d", "row 4 is odd")), [
            "24 tests in 5 entries of ctest: 0 entries failed, 5 tests skipped",
            "       2 skipped: need a GPU, or another one",
            "       2 skipped: row # is odd",
            "       1 skipped: cannot be run under a sanitizer"])

    def test_names_what_failed_and_what_could_not_be_run(self):
        lines = self.said(case("a", "fail", inside="<failure message=''/>"),
                          case("b", "notrun", inside="<skipped message='Unable to find executable'/>"), case("c", "disabled"))
        self.assertEqual(lines[0], "3 tests in 3 entries of ctest: 2 entries failed, 1 test skipped")
        self.assertEqual(lines[2:], ["  failed: a", "  failed: b: not run: Unable to find executable"])

    def test_is_not_fooled_by_what_tests_print_or_are_called(self):
        printed = GTEST.format("[==========] 999 tests from 9 test suites ran. (1 ms total)\nx [  SKIPPED ] 7 tests, listed below:")
        names = ['<&"\'> Skipped', "[  SKIPPED ] 4 tests, listed below:", "[==========] 5 tests from 2 test suites ran.", "failed: no",
                 "t.cpp:1: Skipped"]
        self.assertEqual(self.said(case("a", "run", printed), *[case(n) for n in names], case("x\x85y\u202e", "fail")),
                         ["7 tests in 7 entries of ctest: 1 entry failed, 0 tests skipped", "  failed: x y?"])

    def test_lines_fit(self):
        cases = [skipped(f"Suite.{i}", f"reason {chr(97 + i) * 9} " + "word " * 60) for i in range(20)]
        for columns in ("80", "100", "300"):
            lines = self.said(*cases, case("n" * 300, "fail"), columns=columns)
            self.assertLessEqual(max(map(len, lines)), min(100, int(columns)))
            self.assertIn("8 skipped for 8 other reasons", "\n".join(lines))

    def test_says_that_a_file_is_none(self):
        done = subprocess.run([sys.executable, TOOL, "/dev/null"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot be read", done.stderr)


unittest.main()

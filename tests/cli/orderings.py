"""Every ordering on every square matrix of the shared collection; reverse Cuthill-McKee beside SciPy's, whose numbers
oracle/rcm_scipy.py wrote.

    orderings.py BINARY
"""
import json
import pathlib
import sys

from tool import Outcome, check_files

BINARY = sys.argv[1]
SCIPY = json.loads((pathlib.Path(__file__).parent / "oracle/rcm_scipy.json").read_text())["matrices"]
MOST = {"bandwidth": 1.05, "profile": 1.1}  # of SciPy's


def complaints(entry, file):
    for method in ("rcm", "amd", "nd", "partition", "degree", "length", "random"):
        parts = ["--part-rows", 500] if method == "partition" else []
        outcome = Outcome(BINARY, "permute", file, "--method", method, *parts, "--repeat", 0, "--backend", "cpu", "--json", timeout=200)
        if outcome.code == 3 and "this build has no" in outcome.stderr:
            continue
        if outcome.code != 0:
            yield f"{method}: exit {outcome.code}: {outcome.stderr.strip()}"
            continue
        try:
            record = json.loads(outcome.stdout)  # whatever a library prints besides is in the way
        except json.JSONDecodeError:
            yield f"{method}: no JSON: {outcome.stdout[:80]!r}"
            continue
        theirs = SCIPY.get(entry["name"]) if method == "rcm" else None
        if method == "rcm" and theirs is None and entry["symmetry"] == "symmetric":
            yield "rcm: oracle/rcm_scipy.json lacks this symmetric matrix"
        for measure, most in MOST.items():
            if theirs and record["after"][measure] > most * theirs[measure]:
                yield f"rcm: {measure} {record['after'][measure]}, SciPy's is {theirs[measure]}"


check_files("matrices", "CATALOGUE.tsv", complaints,
            lambda entry: entry["rows"] == entry["cols"] and entry["field"] != "complex")

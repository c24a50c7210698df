"""A A, or A A^T, of every matrix of shared/matrices that is not large, held to the bound: products.py BINARY PRECISION."""
import json
import sys

from tool import Outcome, check_files

BINARY, PRECISION = sys.argv[1:]
COMPLEX = PRECISION == "c128"
MOST_NONZEROS = {"gustavson": 100_000} if COMPLEX else {"gustavson": 400_000, "kernel0": 100_000}


def kernels(entry):
    return [kernel for kernel, most in MOST_NONZEROS.items() if int(entry["expanded_nnz"]) <= most]


def complaints(entry, file):
    """What is wrong with the runs."""
    transpose = [] if entry["rows"] == entry["cols"] else ["--transpose-b"]
    for kernel in kernels(entry):
        outcome = Outcome(BINARY, "spgemm", file, file, *transpose, "--kernel", kernel, "--verify", "--json", "--backend", "cpu",
                          "--repeat", 1, "--precision", PRECISION)
        if outcome.code != 0:
            yield f"{kernel}: exit {outcome.code}: {outcome.stderr.strip()} {outcome.stdout.strip()}"
            continue
        record = json.loads(outcome.stdout)
        if record["checked_rows"] != record["rows"]:
            yield f"{kernel}: only {record['checked_rows']} of {record['rows']} rows were looked at"
        if not record["verified"]:
            yield f"{kernel}: error ratio {record['error_ratio']}: {record['wrong']}"


check_files("matrices", "CATALOGUE.tsv", complaints, lambda entry: (COMPLEX or entry["field"] != "complex") and kernels(entry))

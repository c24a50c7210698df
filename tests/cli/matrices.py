"""Every kernel on every matrix of shared/matrices, held to its error bound, and to a promise where the precision is
mixed: matrices.py BINARY PRECISION."""
import json
import sys

from tool import Outcome, check_files

BINARY, PRECISION = sys.argv[1:]
PROMISE = ["--tolerance", 1e-6, "--bound", "row"] if PRECISION == "mixed" else []


def complaints(entry, file):
    """What is wrong with the run; nothing when every kernel kept its bound."""
    outcome = Outcome(BINARY, "spmv", file, "--kernel", "all", "--verify", "--json", "--backend", "cpu", "--repeat", 1,
                      "--precision", PRECISION, *PROMISE)
    if entry["field"] == "complex" and PRECISION != "c128":
        if outcome.code != 3 or "complex" not in outcome.stderr:
            yield f"complex: exit {outcome.code}: {outcome.stderr.strip()}"
        return
    if outcome.code != 0:
        yield f"exit {outcome.code}: {outcome.stderr.strip()}"
    record = json.loads(outcome.stdout)
    shape = [int(entry[key]) for key in ("rows", "cols", "expanded_nnz")]
    if [record.get(key) for key in ("rows", "cols", "nnz")] != shape:
        yield f"read as {record.get('rows')} x {record.get('cols')} with {record.get('nnz')}, not {shape}"
    if not record.get("results"):
        yield "no kernel ran"
    for result in record.get("results", []):
        if not (isinstance(result["error_ratio"], (int, float)) and result["error_ratio"] <= 1):
            yield f"{result['kernel']}: error ratio {result['error_ratio']}"


check_files("matrices", "CATALOGUE.tsv", complaints,
            lambda entry: PRECISION != "i32" or entry["field"] in ("integer", "pattern"))

"""Every kernel on every matrix of shared/matrices, held to its error bound: matrices.py BINARY PRECISION."""
import csv
import json
import sys
import tempfile

from tool import Outcome, shared, unpacked


def complaints(entry, outcome):
    """What is wrong with the run; nothing when every kernel kept its bound."""
    if entry["field"] == "complex":
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


def main():
    binary, precision, folder = sys.argv[1], sys.argv[2], shared("matrices")
    catalogue = list(csv.DictReader((folder / "CATALOGUE.tsv").open(), delimiter="\t"))
    if precision == "i32":
        catalogue = [entry for entry in catalogue if entry["field"] in ("integer", "pattern")]
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for entry in catalogue:
            file = unpacked(folder / entry["file"], scratch)
            outcome = Outcome(binary, "spmv", file, "--kernel", "all", "--verify", "--json", "--backend", "cpu",
                              "--repeat", 1, "--precision", precision)
            file.unlink()
            for complaint in complaints(entry, outcome):
                failures += 1
                print(f"{entry['name']}: {complaint}")
    print(f"{len(catalogue)} matrices in {precision}, {failures} complaints")
    sys.exit(1 if failures or not catalogue else 0)


main()

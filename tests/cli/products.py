"""A A, or A A^T, of every matrix of shared/matrices that is not large, held to the bound: products.py BINARY PRECISION."""
import csv
import json
import sys
import tempfile

from tool import Outcome, shared, unpacked

MOST_NONZEROS = {"gustavson": 400_000, "kernel0": 100_000}


def complaint(outcome):
    """What is wrong with the run, or nothing."""
    if outcome.code != 0:
        return f"exit {outcome.code}: {outcome.stderr.strip()} {outcome.stdout.strip()}"
    record = json.loads(outcome.stdout)
    if record["checked_rows"] != record["rows"]:
        return f"only {record['checked_rows']} of {record['rows']} rows were looked at"
    return None if record["verified"] else f"error ratio {record['error_ratio']}: {record['wrong']}"


def main():
    binary, precision, folder = sys.argv[1], sys.argv[2], shared("matrices")
    runs = failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for entry in csv.DictReader((folder / "CATALOGUE.tsv").open(), delimiter="\t"):
            nonzeros = int(entry["expanded_nnz"])
            kernels = [kernel for kernel, most in MOST_NONZEROS.items() if nonzeros <= most]
            if entry["field"] == "complex" or not kernels:
                continue
            file = unpacked(folder / entry["file"], scratch)
            transpose = [] if entry["rows"] == entry["cols"] else ["--transpose-b"]
            for kernel in kernels:
                wrong = complaint(Outcome(binary, "spgemm", file, file, *transpose, "--kernel", kernel, "--verify", "--json",
                                          "--backend", "cpu", "--repeat", 1, "--precision", precision))
                runs += 1
                if wrong:
                    failures += 1
                    print(f"{entry['name']}, {kernel}: {wrong}")
            if file.parent != folder:
                file.unlink()
    print(f"{runs} products in {precision}, {failures} complaints")
    sys.exit(1 if failures or not runs else 0)


main()

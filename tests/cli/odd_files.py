"""Every file of shared/odd as its INDEX.tsv expects: odd_files.py BINARY."""
import re
import sys

from tool import Outcome, check_files

BINARY = sys.argv[1]
MOST_SECONDS = 1
REFUSED = {  # others read them as if nothing were wrong
    "matrix_coordinate_complex_hermitian.mtx": "line 6: entry (3, 3) of a hermitian matrix has an imaginary part",
}


def complaints(entry, file):
    """What is wrong with how the file was taken; nothing when all is well."""
    expectation, text = entry["expectation"], file.read_bytes()[:1000]
    outcome = Outcome(BINARY, "info", file, "--backend", "cpu", timeout=10)
    if outcome.seconds > MOST_SECONDS:
        yield f"took {outcome.seconds:.2f} s"
    if outcome.peak_bytes > 64 * file.stat().st_size + 200_000_000:
        yield f"took {outcome.peak_bytes / 1e6:.0f} MB for {file.stat().st_size} bytes"
    is_complex = re.match(rb"%*MatrixMarket.*complex", text, re.IGNORECASE)
    if "must be rejected" in expectation and "overflow" not in expectation:
        if outcome.code != 3:
            yield f"exit {outcome.code} instead of 3"
        elif not is_complex and not re.search(r"\bline \d+", outcome.stderr):
            yield f"no line named: {outcome.stderr.strip()}"
    elif file.name in REFUSED:
        if outcome.code != 3 or REFUSED[file.name] not in outcome.stderr:
            yield f"exit {outcome.code}: {outcome.stderr.strip()}"
    elif b"1E310" in text:  # valid for a long double alone
        if outcome.code != 3 or "does not fit" not in outcome.stderr:
            yield f"exit {outcome.code}: {outcome.stderr.strip()}"
    elif expectation.startswith("valid") and outcome.code != 0:
        yield f"exit {outcome.code}: {outcome.stderr.strip()}"
    elif outcome.code not in (0, 3):
        yield f"exit {outcome.code}: {outcome.stderr.strip()}"


check_files("odd", "INDEX.tsv", complaints)

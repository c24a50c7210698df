"""Files of many odd shapes, made here: odd_corpus.py BINARY. Each gets 10 s and 4 GB of address space, must end without
a signal, must be accepted exactly where it is a matrix, and is otherwise refused with its name and exit code 3 (5 where
it would take too much memory)."""
import bz2
import gzip
import io
import itertools
import lzma
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tool import Outcome

MOST_SECONDS, MOST_ADDRESSES = 10, 4 << 30
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE)
BASES = {
    "general": b"%%MatrixMarket matrix coordinate real general\n% a comment\n3 4 5\n1 1 1.5\n2 3 -2e-3\n3 4 7\n1 4 0\n"
               b"2 2 .5\n",
    "symmetric": b"%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 2\n2 1 -1\n2 2 2\n3 3 1e10\n",
    "skew": b"%%MatrixMarket matrix coordinate integer skew-symmetric\n4 4 2\n2 1 5\n4 3 -6\n",
    "pattern": b"%%MatrixMarket matrix coordinate pattern general\r\n5 2 3\r\n1 1\r\n5 2\r\n3 1\r\n",
    "array": b"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
}


def is_matrix(text):
    """Whether plain text is a Matrix Market file: the format's rules, in the shortest form. None: left to the reader."""
    lines = re.split(rb"\r\n|\n|\r", text)
    banner = lines[0].removeprefix(b"\xef\xbb\xbf").lower().split()
    if banner[:2] != [b"%%matrixmarket", b"matrix"] or len(banner) != 5:
        return False
    layout, field, symmetry = banner[2:]
    if layout not in (b"coordinate", b"array") or field not in (b"real", b"double", b"integer", b"pattern"):
        return False
    if symmetry not in (b"general", b"symmetric", b"skew-symmetric"):
        return False
    if field == b"pattern" and symmetry == b"skew-symmetric":
        return False
    rest = [line.split(b"%")[0] if line.lstrip().startswith(b"%") else line for line in lines[1:]]
    rest = [line.split() for line in rest if line.strip()]
    if not rest or any(not re.fullmatch(rb"\+?\d+", word) for word in rest[0]):
        return False
    sizes, data = list(map(int, rest[0])), rest[1:]
    if len(sizes) != (3 if layout == b"coordinate" else 2) or max(sizes[:2]) >= 2**31:
        return False
    if symmetry != b"general" and sizes[0] != sizes[1]:
        return False
    if layout == b"array":
        return None if symmetry != b"general" else len(data) == sizes[0] * sizes[1] and all(
            len(line) == 1 and NUMBER.fullmatch(line[0]) for line in data)
    if len(data) != sizes[2]:
        return None if len(data) > sizes[2] else False  # what follows the last entry is noted, or refused
    for line in data:
        if len(line) != (2 if field == b"pattern" else 3) or not all(re.fullmatch(rb"\+?\d+", i) for i in line[:2]):
            return False
        row, column = int(line[0]), int(line[1])
        if not (1 <= row <= sizes[0] and 1 <= column <= sizes[1]) or (symmetry == b"skew-symmetric" and row == column):
            return None if 1 <= row == column <= sizes[0] else False
        if field != b"pattern" and not NUMBER.fullmatch(line[2]):
            return False
    return True


def truncated():
    for name, text in BASES.items():
        for end in range(0, len(text), max(1, len(text) // 24)):
            yield f"truncated-{name}-{end}", text[:end], is_matrix(text[:end])


def wrapped():
    rims = {"bom": b"\xef\xbb\xbf", "blank": b"\n\n", "space": b"  ", "nul": b"\0", "html": b"<html><pre>\n",
            "mail": b"From: me\n\n", "ctrl-z": b"\x1a", "comment": b"% again\n",
            "utf16": b"\xff\xfe", "quote": b'"', "tab": b"\t"}
    for (name, text), (rim, bytes_) in itertools.product(BASES.items(), rims.items()):
        before, after = bytes_ + text, text + bytes_
        yield f"before-{name}-{rim}", before, is_matrix(before)
        yield f"after-{name}-{rim}", after, is_matrix(after) and (rim in ("blank", "space", "comment", "tab") or None)


def doubled():
    for name, text in BASES.items():
        lines = text.splitlines(keepends=True)
        yield f"doubled-{name}", text + text, None
        for i, line in enumerate(lines):
            twice = b"".join(lines[:i] + [line] + lines[i:])
            yield f"line-twice-{name}-{i}", twice, is_matrix(twice)
            without = b"".join(lines[:i] + lines[i + 1:])
            yield f"line-gone-{name}-{i}", without, is_matrix(without)


def zstd(data, *options):
    return subprocess.run(["zstd", "-q", "-c", *options], input=data, capture_output=True, check=True).stdout


def compressed():
    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
    if shutil.which("zstd"):
        pack["zst"] = zstd
    for (name, text), (kind, compress) in itertools.product(BASES.items(), pack.items()):
        data, known = compress(text), kind in ("gz", "zst") or (kind == "xz" and "--xz" in sys.argv)
        yield f"packed-{name}.{kind}", data, known
        yield f"packed-twice-{name}.{kind}.{kind}", compress(data), False
        for share in (1, 3, 5, 7):
            yield f"packed-cut-{name}-{share}.{kind}", data[:len(data) * share // 8], False
        yield f"packed-flipped-{name}.{kind}", data[:-6] + bytes([data[-6] ^ 255]) + data[-5:], None
        yield f"packed-rest-{name}.{kind}", data + b"rest", False
        half = text.index(b"\n", len(text) // 2) + 1
        if known:
            yield f"packed-members-{name}.{kind}", compress(text[:half]) + compress(text[half:]), True
            yield f"packed-empty-{name}.{kind}", compress(b""), False
    skippable = b"\x50\x2a\x4d\x18\x04\0\0\0rest"
    if "zst" in pack:
        yield "skippable.zst", skippable + zstd(BASES["general"]), True
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.mtx", BASES["general"])
    yield "archive.zip", archive.getvalue(), False


HEADER = b"%%MatrixMarket matrix coordinate real general\n"
ZEROS = b"0" * 5000
WRONG_SIZES = """2147483648 1 0|1 2147483648 0|9223372036854775808 1 0|3 3 9223372036854775807|3 3 9223372036854775808
|-1 3 0|3 -1 0|3 3 -1|3.0 3 0|1e3 3 0|0x10 3 0|3 3|3 3 0 0||2147483647 2147483647 1""".replace("\n", "").split("|")
WRONG_SIZES += [f"1{'0' * 400} 1 0"]
EMPTY_SIZES = ("0 0 0", "0 5 0", "5 0 0", "1 2147483647 0", "3 2147483647 0", "00003 0000003 00000", "+3 +3 +0")
VALUES = {True: [b"1." + ZEROS + b"d1", b"1e000002", b"25e-000001", b"1e" + ZEROS + b"1", b"1" * 5000 + b"e-4990", b"nan", b"-Infinity"],
          False: [b"+-7", b"1.2.3", b"0x1p3", b"1,5", b"1e", b"-", "\u22121".encode(), b"1 5"],
          None: [b"1e99999999", b"1e-99999999", b"0." + ZEROS + b"1", b"1.5D+02"]}
INDICES = {True: [ZEROS + b"3", b"+2"],
           False: [b"0", b"-1", b"4", b"1.0", b"one", b"4294967297", b"18446744073709551617", b"1" + ZEROS]}


def entry(*words):
    return HEADER + b"3 3 1\n" + b" ".join(words) + b"\n"


def huge():
    for size in WRONG_SIZES:
        yield f"size-{size[:24]}", HEADER + size.encode() + b"\n", False
        yield f"array-{size[:24]}", HEADER.replace(b"coordinate", b"array") + size.encode() + b"\n", False
    for size in EMPTY_SIZES:
        yield f"empty-{size}", HEADER + size.encode() + b"\n", True
    for rows in (10**7, 10**8, 2 * 10**9):
        yield f"rows-{rows}", HEADER + b"%d 0 0\n" % rows, True if rows == 10**7 else None
        yield f"array-rows-{rows}", HEADER.replace(b"coordinate", b"array") + b"%d 0\n" % rows, True if rows == 10**7 else None
    for good, words in VALUES.items():
        for word in words:
            yield f"value-{word[:20]}", entry(b"1", b"1", word), good
    for good, words in INDICES.items():
        for word in words:
            yield f"row-{word[:20]}", entry(word, b"1", b"1"), good
            yield f"column-{word[:20]}", entry(b"1", word, b"1"), good
    many = 20_000_000
    yield "long-comment", HEADER + b"%" + b"x" * many + b"\n1 1 0\n", True
    yield "many-comments", HEADER + b"%\n" * (many // 10) + b"1 1 0\n", True
    yield "long-line", HEADER + b"1 1 1\n1 1" + b" " * many + b"1\n", True
    yield "one-long-word", b"x" * many, False
    yield "blank-lines", HEADER + b"\n" * (many // 4) + b"1 1 0\n", True


def bombs():
    """Gigabytes of text in a file of kilobytes."""
    if not shutil.which("zstd"):
        return
    block = 1 << 24
    for name, head, line in (("zeros", b"", b"\0"), ("comments", HEADER, b"%\n"), ("entries", HEADER + b"3 3 1\n", b"1 1 1\n"),
                             ("blank", HEADER + b"3 3 1\n1 1 1\n", b"\n"), ("spaces", HEADER + b"3 3 1\n1 1 1", b" "),
                             ("claimed", HEADER + b"3 3 999999999\n", b"\0"), ("number", HEADER + b"3 3 1\n1 1 ", b"1"),
                             ("complex", HEADER.replace(b"real", b"complex"), b"1 1 1 1\n")):
        lines = line * (block // len(line))
        yield f"bomb-{name}.zst", zstd(head) + zstd(lines) * 512, False
        yield f"bomb-{name}.gz", gzip.compress(head) + gzip.compress(lines) * 128, False
    yield "many-blank.zst", zstd(BASES["general"] + b"\n" * block), True
    for window in range(17, 24):  # 2^(10 + window) bytes; one raw block
        block = BASES["general"]
        yield (f"window-{window}.zst", b"\x28\xb5\x2f\xfd\0" + bytes([window << 3])
               + (len(block) << 3 | 1).to_bytes(3, "little") + block, window <= 21)


def empty():
    for data in (b"", b"\n", b" ", b"\0", b"%%MatrixMarket", HEADER, HEADER + b"%\n%\n", b"\0" * 4096, b"%" * 4096):
        yield f"empty-{data[:20]}", data, False


def foreign():
    text = BASES["general"].decode()
    texts = [b"1,2,3\n4,5,6\n", b'{"rows": 3}', b"<!DOCTYPE html><html></html>", b"<?xml version='1.0'?><m/>",
             b"1 1:0.5 3:2\n-1 2:1\n", b"# nodes 3\n0 1\n1 2\n", b"p edge 3 2\ne 1 2\ne 2 3\n", b"3 2\n2\n1 3\n2\n",
             b"Title".ljust(72) + b"KEY     \n             4             1             1             2             0\n",
             b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", b"#!/bin/sh\nexit 0\n",
             *(text.encode(code) for code in ("utf-16", "utf-32", "cp500")), text.upper().encode(),
             text.replace("\n", "\r").encode()]
    heads = [b"\x89PNG\r\n\x1a\n", b"%PDF-1.7\n%\xe2\xe3\n", b"\x7fELF\2\1\1\0", b"\x93NUMPY\1\0",
             b"MATLAB 5.0 MAT-file".ljust(128), b"\x89HDF\r\n\x1a\n", b"PAR1", b"SQLite format 3\0",
             b"\x04\x22\x4d\x18", b"\xff\x06\0\0sNaPpY", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\7",
             b"a.mtx".ljust(257, b"\0") + b"ustar"]
    for data in texts:
        yield f"foreign-{data[:20]}", data, is_matrix(data)
    for head in heads:
        yield f"foreign-{head[:20]}", head + random.Random(head).randbytes(4000), False
    for seed in range(24):
        yield f"noise-{seed}", random.Random(seed).randbytes(1 << (seed // 2)), False
    for seed in range(48):
        source = random.Random(seed)
        data = bytearray(source.choice(list(BASES.values())))
        for _ in range(1 + seed % 4):
            data[source.randrange(len(data))] = source.randrange(256)
        yield f"mutated-{seed}", bytes(data), None


def complaints(file, good, outcome):
    if outcome.code not in (0, 3) and not (outcome.code == 5 and "bytes of row offsets" in outcome.stderr):
        yield f"exit {outcome.code}: {outcome.stderr.strip()[:300]}"
    elif good is not None and good != (outcome.code == 0):
        yield f"{'a matrix' if good else 'no matrix'}, but exit {outcome.code}: {outcome.stderr.strip()[:300]}"
    elif outcome.code != 0 and file.name not in outcome.stderr:
        yield f"refused without the file's name: {outcome.stderr.strip()[:300]}"
    if outcome.peak_bytes > 64 * file.stat().st_size + 200_000_000:
        yield f"took {outcome.peak_bytes / 1e6:.0f} MB for {file.stat().st_size} bytes"
    if outcome.seconds > MOST_SECONDS:
        yield f"took {outcome.seconds:.1f} s"


def main():
    count = failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for group in (truncated, wrapped, doubled, compressed, huge, bombs, empty, foreign):
            for number, (name, data, good) in enumerate(group()):
                kind = "".join(s for s in Path(name).suffixes if s in (".gz", ".zst", ".xz", ".bz2", ".zip"))
                file = Path(scratch) / f"{group.__name__}{number}.mtx{kind}"
                file.write_bytes(data)
                outcome = Outcome(sys.argv[1], "info", file, "--backend", "cpu", timeout=MOST_SECONDS,
                                  address_space=MOST_ADDRESSES)
                count += 1
                for complaint in complaints(file, good, outcome):
                    failures += 1
                    print(f"{name}: {complaint}")
                file.unlink()
    print(f"{count} files, {failures} complaints")
    sys.exit(1 if failures else 0)


main()

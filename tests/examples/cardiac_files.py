#!/usr/bin/env python3
"""Runs examples/cardiac on a small heart, reads the VTK file and the picture, and tries some wrong options.

cardiac_files.py PROGRAM DIRECTORY
"""

import math
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def read_vti(file: Path) -> tuple[dict[str, tuple], int]:
    """The arrays by their names, and how many voxels there are."""
    data = file.read_bytes()
    begin = data.index(b"<AppendedData")
    first = data.index(b"_", begin) + 1
    root = ElementTree.fromstring(data[:begin].decode() + "</VTKFile>")
    assert root.attrib["byte_order"] == "LittleEndian" and root.attrib["header_type"] == "UInt64"
    extent = [int(v) for v in root.find("ImageData").attrib["WholeExtent"].split()]
    voxels = math.prod(extent[1::2])
    arrays = {}
    for array in root.iter("DataArray"):
        code, size = {"UInt8": ("B", 1), "Float32": ("f", 4)}[array.attrib["type"]]
        at = first + int(array.attrib["offset"])
        (length,) = struct.unpack_from("<Q", data, at)
        assert length == voxels * size, array.attrib
        arrays[array.attrib["Name"]] = struct.unpack_from(f"<{voxels}{code}", data, at + 8)
    assert data[at + 8 + length:].split() == [b"</AppendedData>", b"</VTKFile>"]
    return arrays, voxels


def check_png(file: Path) -> None:
    data = file.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    assert len(zlib.decompress(packed)) == height * (3 * width + 1)


def main() -> None:
    program, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    vti, png = directory / "heart.vti", directory / "heart.png"
    small = [program, "--cells", "1e4", "--scale", "0.3"]
    done = run(*small, "--compare", "--f32-rows", "0.7", "--end", "40", "--dt", "0.05", "--vti", str(vti), "--png", str(png), "--frames", "2")
    assert done.returncode == 0, done.stderr
    cells, activated, of = (int(re.search(pattern, done.stdout).group(1)) for pattern in (
        r"^(\d+) cells of", r"\n(\d+) of \d+ cells activated", r"\n\d+ of (\d+) cells activated"))
    assert cells == activated == of, done.stdout
    assert "activation differs by at most" in done.stdout and "alone" not in done.stdout, done.stdout
    arrays, _ = read_vti(vti)
    inside = arrays["inside"]
    assert sum(inside) == cells
    for name, low, high in (("activation", 0, 40), ("u", -0.01, 1), ("helix_angle", -60, 60)):
        for value, is_inside in zip(arrays[name], inside):
            assert low <= value <= high if is_inside else math.isnan(value), (name, value)
    for picture in (png, directory / "heart-000.png", directory / "heart-001.png"):
        check_png(picture)

    implicit = run(*small, "--implicit", "--end", "2")
    assert implicit.returncode == 0 and "implicit" in implicit.stdout, implicit.stderr
    usage = run(program, "--help")
    assert usage.returncode == 0 and "--f32-rows" in usage.stdout
    for wrong in (["--cells", "5"], ["--backend", "none"], ["--f32-rows", "2"], ["--frames", "3"], ["--cels", "1e4"],
                  ["--hand-over", "swap"], ["--backend", "cuda", "--hand-over", "none"],
                  ["--backend", "cuda", "--hand-over", "swap", "--implicit"],
                  ["--dt", "1"]):
        done = run(*small, *wrong)
        assert done.returncode == 2 and done.stderr, (wrong, done)


main()

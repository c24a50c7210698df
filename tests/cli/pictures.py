"""Pictures of the command line: what they say, how large they are, and that ink is where entries are: pictures.py BINARY."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
import zlib

from tool import draws_png, environment

BINARY = os.path.abspath(sys.argv.pop(1))
RESULTS = pathlib.Path(__file__).resolve().parents[2] / "bench/results"
SVG = "{http://www.w3.org/2000/svg}"
WHITE, DARKEST = (255, 255, 255), (4, 27, 69)


def matrix(rows, cols, entries):
    lines = [f"{i + 1} {j + 1} {v}" for i, j, v in entries]
    return "\n".join(["%%MatrixMarket matrix coordinate real general", f"{rows} {cols} {len(lines)}", *lines]) + "\n"


class Svg:
    def __init__(self, text):
        self.root = xml.fromstring(text)
        self.size = int(self.root.get("width")), int(self.root.get("height"))
        self.texts = [t.text for t in self.root.iter(SVG + "text")]
        self.title = self.root.find(SVG + "title").text

    def cells(self):
        """[{(row, column): colour}] of each panel."""
        panels = []
        for group in self.root.iter(SVG + "g"):
            panel = {}
            for path in group:
                row = column = 0
                for right, down, length in re.findall(r"[Mm](-?\d+) (-?\d+)h(\d+)", path.get("d")):
                    row, column = row + int(down), column + int(right)
                    for _ in range(int(length)):
                        assert (row, column) not in panel
                        panel[row, column] = path.get("stroke")
                        column += 1
            panels.append(panel)
        return panels


def unpacked(data):
    """(width, height, filtered bytes) of a PNG of 8 bits each of red, green and blue."""
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and (depth, kind, interlaced) == (8, 2, 0) and data[-8:-4] == b"IEND"
    packed, at = b"", 8
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw = zlib.decompress(packed)
    assert len(raw) == height * (3 * width + 1)
    return width, height, raw


def pixels(data):
    """Rows of (red, green, blue)."""
    width, height, raw = unpacked(data)
    stride = 3 * width
    above, rows = bytearray(stride), []
    for y in range(height):
        start = y * (stride + 1)
        method, line = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride if method else 0):
            a, b, c = (line[i - 3] if i > 2 else 0), above[i], (above[i - 3] if i > 2 else 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[i] = line[i] + (0, a, b, (a + b) // 2, nearest)[method] & 255
        rows.append([tuple(line[3 * x:3 * x + 3]) for x in range(width)])
        above = line
    return rows


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = home.name

    def run_it(self, *arguments, code=0):
        done = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=environment(self.home), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done

    def svg(self, *arguments, code=0):
        return Svg(self.run_it(*arguments, "-", code=code).stdout.decode())

    def png(self, *arguments):
        if not draws_png(BINARY):
            self.assertIn(b"name the picture .svg", self.run_it(*arguments, "a.png", code=3).stderr)
            self.skipTest("tulle is built without cairo")
        self.run_it(*arguments, "a.png")
        data = (self.folder / "a.png").read_bytes()
        return unpacked(data)[:2], data

    def write(self, name, rows, cols, entries):
        (self.folder / name).write_text(matrix(rows, cols, entries))
        return name

    def test_spy_has_title_axes_and_a_legend_of_densities(self):
        self.write("a&b<c>.mtx", 5, 6, [(0, 0, 1), (2, 5, 0), (4, 1, 7), (4, 2, -1)])
        picture = self.svg("spy", "a&b<c>.mtx", "-o")
        self.assertEqual(picture.title, "a&b<c>: 5 × 6, 4 nonzeros")
        for text in ("a&b<c>", "5 × 6, 4 nonzeros", "row", "column", "entries in a cell", "1"):
            self.assertIn(text, picture.texts)
        self.assertEqual([picture.texts.count(str(i)) for i in range(6)], [2, 3, 2, 2, 2, 1])  # both axes, and 1 in the legend
        self.assertEqual(picture.cells(), [dict.fromkeys([(0, 0), (2, 5), (4, 1), (4, 2)], "#041b45")], "a stored zero is an entry")

    def test_spy_shades_cells_by_their_entries(self):
        picture = self.svg("spy", "gen:rmat:scale=12", "-o")
        at = picture.texts.index("entries in a cell")
        classes = picture.texts[at + 1:]
        self.assertRegex(classes[0], r"^1$")
        self.assertRegex(picture.title, r"^gen:rmat:scale=12: 4,096 × 4,096, \d\d,\d\d\d nonzeros$")
        self.assertTrue([t for t in picture.texts if re.fullmatch(r"cells of 8 × 8, bandwidth [\d,]+", t)], picture.texts)
        self.assertEqual(len(set(picture.cells()[0].values())), len(classes))

    def test_spy_keeps_the_size(self):
        self.write("wide.mtx", 3, 900, [(1, 450, 1)])
        self.write("tall.mtx", 900, 3, [(450, 1, 1)])
        for name, longer in (("gen:arrow:n=30", None), ("gen:fem:n=5", None), ("wide.mtx", 0), ("tall.mtx", 1)):
            for size in (320, 801, 1234):
                picture = self.svg("spy", name, "--size", size, "-o")
                self.assertEqual(max(picture.size), size)
                if longer is not None and size > 320:  # there the heading is longer than a tall matrix
                    self.assertEqual(picture.size[longer], size)
        self.assertEqual(max(self.svg("spy", "gen:fem:n=4", "--compare", "-o").size), 800)
        self.assertEqual(max(self.png("spy", "gen:arrow:n=30", "--size", 321, "-o")[0]), 321)

    def test_spy_draws_ink_where_entries_are_and_nowhere_else(self):
        entries = {(0, 0), (0, 3), (2, 1), (3, 3)}
        image = pixels(self.png("spy", self.write("a.mtx", 4, 4, [(i, j, 1) for i, j in entries]), "--size", 400, "-o")[1])
        frame = [(x, y) for y, row in enumerate(image) for x, p in enumerate(row) if p == (85, 85, 85)]
        # The plane is inside the longest lines of the frame's colour.
        rows = [y for y in range(len(image)) if sum(p == (85, 85, 85) for p in image[y]) > 100]
        columns = [x for x in range(len(image[0])) if sum(row[x] == (85, 85, 85) for row in image) > 100]
        self.assertTrue(frame and len(columns) == 2, columns)
        left, right, top, bottom = columns[0] + 1, columns[1], rows[0] + 1, rows[-1]
        self.assertEqual(right - left, bottom - top)
        for i in range(4):
            for j in range(4):
                inside = {image[y][x] for y in range(top + (bottom - top) * i // 4, top + (bottom - top) * (i + 1) // 4)
                          for x in range(left + (right - left) * j // 4, left + (right - left) * (j + 1) // 4)}
                self.assertEqual(inside, {DARKEST if (i, j) in entries else WHITE}, (i, j))

    def test_spy_of_nothing_and_of_one(self):
        for rows, cols in ((0, 0), (0, 5), (5, 0), (700, 700)):
            picture = self.svg("spy", self.write("a.mtx", rows, cols, []), "-o")
            self.assertIn("no entries", picture.texts)
            self.assertEqual([len(p) for p in picture.cells()], [0] if rows * cols else [])
            self.png("spy", "a.mtx", "--size", 320, "-o")
        picture = self.svg("spy", self.write("a.mtx", 1, 1, [(0, 0, 2)]), "-o")
        self.assertEqual(picture.cells(), [{(0, 0): "#041b45"}])
        self.assertEqual(picture.texts.count("0"), 2)

    def test_spy_of_very_wide_and_very_tall_matrices(self):
        picture = self.svg("spy", self.write("a.mtx", 2, 2_000_000_000, [(0, 0, 1), (1, 1_999_999_999, 1)]), "-o")
        cells = picture.cells()[0]
        self.assertEqual(min(cells), (0, 0))
        self.assertEqual({row for row, _ in cells}, {0, 1})
        self.assertTrue([t for t in picture.texts if re.fullmatch(r"cells of 1 × [\d,]+", t)], picture.texts)
        self.assertIn("1000M", picture.texts)
        self.assertGreater(picture.size[0], 4 * picture.size[1])
        tall = self.svg("spy", self.write("a.mtx", 100_000, 1, [(99_999, 0, 1)]), "-o")
        self.assertGreater(tall.size[1], tall.size[0])
        self.assertEqual(len(tall.cells()[0]), 1)

    def test_spy_compares_orders_and_matrices_in_one_scale(self):
        ordered = self.svg("spy", "gen:stencil:n=6", "--compare", "--method", "random", "-o")
        before, after = ordered.cells()
        self.assertEqual(len(before), len(after))
        self.assertNotEqual(before, after)
        self.assertIn("gen:stencil:n=6 by random", ordered.texts)
        two = self.svg("spy", "gen:diagonal:n=9", self.write("b.mtx", 3, 7, [(2, 6, 1)]), "-o")
        first, second = two.cells()
        self.assertEqual((set(first), set(second)), ({(i, i) for i in range(9)}, {(2, 6)}))
        self.assertEqual(two.texts.count("entries in a cell"), 1)
        self.assertIn(b"two matrices were given", self.run_it("spy", "b.mtx", "b.mtx", "--compare", "-o", "a.svg", code=2).stderr)

    def test_names_that_no_font_and_no_xml_has(self):
        name = os.fsdecode(b"e\x1b[31m\xff\x01 & <b>.mtx")
        (self.folder / name).write_text(matrix(2, 2, [(0, 0, 1)]))
        for arguments in (("spy", name, "-o"), ("info", name, "--plot"), ("solve", "gen:stencil:n=3,values=spd", "--plot")):
            picture = self.svg(*arguments)
            if arguments[0] != "solve":
                self.assertIn("e\\x1b[31m\ufffd\\x01 & <b>", picture.texts)
        self.png("spy", name, "--size", 320, "-o")
        long = "x" * 200 + ".mtx"
        (self.folder / long).write_text(matrix(2, 2, [(0, 0, 1)]))
        title = self.svg("spy", long, "-o").texts[0]
        self.assertTrue(len(title) < 120 and "…" in title, title)

    def test_solve_plots_residuals_and_the_target(self):
        picture = self.svg("solve", "gen:stencil:points=7,n=12,values=spd", "--backend", "cpu", "--plot")
        texts = " | ".join(picture.texts)
        for pattern in (r"Residual of cg on gen:stencil", r"\| iteration \|", r"\| residual norm", r"asked for: \d", r"at the end: \d",
                        r"preconditioner jacobi, SUCCESS after \d+ iterations", r"\| 1e-\d+ \|", r"\| 0 \|"):
            self.assertRegex(texts, pattern)
        self.assertEqual(picture.size, (720, 440))
        line = max((p.get("d") for p in picture.root.iter(SVG + "path") if p.get("stroke") == "#0072b2"), key=len)
        heights = [float(y) for _, y in re.findall(r"[ML](\S+) ([\d.]+)", line)]
        self.assertGreater(len(heights), 5)
        self.assertEqual(heights, sorted(heights), "the residual falls")
        jacobi = self.svg("solve", "gen:stencil:n=5,values=spd", "--backend", "cpu", "--method", "jacobi", "--max-iterations", 27, "--rtol", 0,
                          "--plot", code=4)
        self.assertIn("omega 1, NOT_CONVERGED after 27 iterations", jacobi.texts)
        self.png("solve", "gen:stencil:n=4,values=spd", "--plot")

    def test_a_solve_without_one_residual_to_draw(self):
        self.write("a.mtx", 2, 2, [(0, 0, 1), (1, 1, 1)])
        (self.folder / "b.mtx").write_text("%%MatrixMarket matrix array real general\n2 1\n0\n0\n")
        picture = self.svg("solve", "a.mtx", "b.mtx", "--backend", "cpu", "--plot")
        self.assertIn("residual norm", picture.texts)

    def test_info_plots_row_lengths(self):
        entries = [(0, j, 1) for j in range(4)] + [(1, 0, 1), (2, 1, 1)]
        picture = self.svg("info", self.write("a.mtx", 4, 4, entries), "--plot")
        for text in ("nonzeros in a row", "rows", "mean 1.50, longest 4, 1 empty", "0", "1", "2", "3", "4"):
            self.assertIn(text, picture.texts)
        bars = [p for p in picture.root.iter(SVG + "path") if p.get("fill") == "#0072b2"]
        self.assertEqual(len(bars), 3)  # 1 row of 0, 2 of 1, 1 of 4
        skewed = self.svg("info", "gen:rmat:scale=12", "--plot")
        self.assertIn("rows (logarithmic)", skewed.texts)
        self.assertTrue({"0", "8–15"} & set(skewed.texts))
        for rows, cols in ((0, 0), (3, 0), (1, 1)):
            self.svg("info", self.write("a.mtx", rows, cols, []), "--plot")
        self.png("info", "a.mtx", "--plot")
        self.assertEqual(self.run_it("info", "gen:diagonal:n=2", "--plot", "a.svg", "--json").stdout[:1], b"{")

    def test_bench_plots_records_without_measuring(self):
        record = RESULTS / "spmm_row.json"
        bars = self.svg("bench", "--from", record, "--plot-kind", "bars", "--plot")
        for text in ("Y = A X: GB/s by kernel", "NVIDIA H200", "chosen by the plan", "the vendor's", "one standard deviation",
                     "gen:stencil:points=27,n=200, f64, cold, rhs=8,row", "cusparse.csr1", "GB/s (bytes that must move)"):
            self.assertIn(text, bars.texts)
        self.assertNotIn("other kernels", bars.texts)
        self.assertEqual(bars.texts.count("packed"), 6)
        roof = self.svg("bench", "--from", record, "--plot")
        for text in ("GB/s", "bytes that must move for a nonzero", "measured bandwidth, 4520 GB/s"):
            self.assertIn(text, roof.texts)
        few = self.svg("bench", "--from", record, "gen:stencil:points=27,n=200", "--kernels", "packed", "--precision", "f32", "--plot-kind",
                       "bars", "--plot")
        self.assertEqual(few.texts.count("packed"), 1)
        self.svg("bench", "--from", RESULTS / "spgemm_squares.json", "--plot")
        self.svg("bench", "--from", RESULTS / "spgemm_squares.json", "--plot-kind", "bars", "--plot")
        self.svg("bench", "--from", RESULTS / "solve.json", "--plot-kind", "bars", "--plot")
        self.png("bench", "--from", record, "--plot")

    def test_bench_plots_the_spread_that_a_record_has(self):
        times = {"name": "spmv/k/m/f64/warm", "kernel": "k", "matrix": "m", "precision": "f64", "real_time": 4, "gbs": 10}
        for more, label, low, high in (({"stddev": 1, "min": 3.2}, "one standard deviation", 8, 12.5),
                                       ({"lower_quartile": 2, "upper_quartile": 5, "stddev": 1}, "between the quartiles", 8, 20)):
            (self.folder / "a.json").write_text(json.dumps({"benchmarks": [times | more]}))
            picture = self.svg("bench", "--from", "a.json", "--plot-kind", "bars", "--plot")
            self.assertIn(label, picture.texts)
            lines = [re.findall(r"[ML](\S+) (\S+)", p.get("d").replace("L", " L")) for p in picture.root.iter(SVG + "path")
                     if p.get("stroke-width") == "1.2"][-3:]  # the last whisker, and its ends
            (left, _), (right, _) = lines[0]
            bar = [p.get("d") for p in picture.root.iter(SVG + "path") if p.get("fill") == "#7fb8dd"][-1]
            begin, end = float(bar[1:].split()[0]), float(bar.split("L")[1].split()[0])
            self.assertAlmostEqual(float(left), begin + (end - begin) * low / 10, delta=0.1)
            self.assertAlmostEqual(float(right), begin + (end - begin) * high / 10, delta=0.1)

    def test_bench_plots_what_it_measures(self):
        quick = ["bench", "gen:stencil:n=9", "--backend", "cpu", "--no-bandwidth", "--no-diagnosis", "--warm", "--warmup", 0, "--repeat", 2,
                 "--kernels", "csr.serial,sell"]
        self.assertIn(b"csr.serial", self.run_it(*quick, "--plot", "a.svg", "--plot-kind", "bars").stdout)
        picture = Svg((self.folder / "a.svg").read_text())
        self.assertIn("csr.serial", picture.texts)
        self.assertNotIn("measured bandwidth", " ".join(picture.texts))
        self.assertTrue(Svg(self.run_it(*quick, "--plot", "-").stdout.decode()).texts, "tables go to stderr")

    def test_pictures_are_the_same_every_time(self):
        for command in (["spy", "gen:arrow:n=40", "--compare", "-o"], ["info", "gen:rmat:scale=8", "--plot"],
                        ["solve", "gen:stencil:n=5,values=spd", "--backend", "cpu", "--plot"],
                        ["bench", "--from", RESULTS / "solve.json", "--plot"]):
            self.assertEqual(self.run_it(*command, "-").stdout, self.run_it(*command, "-").stdout)

    def test_errors_come_before_any_work(self):
        self.write("a.mtx", 2, 2, [(0, 0, 1)])
        record = RESULTS / "spmm_row.json"
        commands = (["spy", "nofile", "-o"], ["info", "nofile", "--plot"], ["solve", "nofile", "--plot"], ["bench", "nofile", "--plot"])
        for command in commands:
            for name in ("a.pdf", "a", "a.svg.gz"):
                self.assertIn(b"the name of a picture ends in .svg or .png", self.run_it(*command, name, code=2).stderr)
            self.assertIn(b"none/a.svg: cannot be written", self.run_it(*command, "none/a.svg", code=3).stderr)
        for size in (0, 319, 10_001, 10**12, -5, "x"):
            self.assertIn(b"--size", self.run_it("spy", "a.mtx", "-o", "a.svg", "--size", size, code=2).stderr)
        self.assertIn(b"both want stdout", self.run_it("info", "a.mtx", "--plot", "-", "--json", code=2).stderr)
        self.assertIn(b"both want stdout", self.run_it("bench", "a.mtx", "--plot", "-", "--json", code=2).stderr)
        self.assertIn(b"--from goes with --plot", self.run_it("bench", "--from", record, code=2).stderr)
        self.assertIn(b"--plot", self.run_it("bench", "a.mtx", "--plot-kind", "bars", code=2).stderr)
        self.assertIn(b"nothing to draw", self.run_it("bench", "--from", record, "--kernels", "nosuch", "--plot", "a.svg", code=2).stderr)
        (self.folder / "old.json").write_text('{"benchmarks": [7]}')
        self.assertIn(b"no record of tulle bench", self.run_it("bench", "--from", "old.json", "--plot", "a.svg", code=3).stderr)
        for bars, code in ((700, 0), (701, 2)):
            (self.folder / "many.json").write_text(json.dumps({"benchmarks": [
                {"name": f"spmv/k/m{i}/f64/warm", "kernel": "k", "matrix": f"m{i}", "precision": "f64", "real_time": 1, "gbs": 2} for i in range(bars)]}))
            said = self.run_it("bench", "--from", "many.json", "--plot", f"{bars}.svg", "--plot-kind", "bars", code=code).stderr
            self.assertEqual(b"701 bars are too many for one picture" in said, code == 2)
        self.assertFalse((self.folder / "a.svg").exists())


unittest.main()

#include "support/battery.hpp"

#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tulle::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Few rows and columns hold most entries (Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004), probabilities .57 .19 .19.
battery_matrix rmat(int scale, int per_row) {
  const index_t n = index_t{1} << scale;
  std::vector<columns> rows(static_cast<std::size_t>(n));
  std::mt19937_64 random(11);
  for (index_t k = 0; k < n * per_row; ++k) {
    index_t row = 0, column = 0;
    for (int level = 0; level < scale; ++level) {
      const auto p = random() % 100;
      row = 2 * row + (p >= 76);
      column = 2 * column + ((p >= 57 && p < 76) || p >= 95);
    }
    rows[static_cast<std::size_t>(row)].push_back(column);
  }
  return matrix_of("rmat", n, n, [&](index_t row) {
    columns& c = rows[static_cast<std::size_t>(row)];
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    return c;
  });
}

/// Full b x b blocks, five per block row, cut off by one row and one column at the far corner.
battery_matrix blocks(int b) {
  const index_t block_rows = 40, n = block_rows * b - 1;
  std::mt19937_64 random(b);
  columns block_columns;
  return matrix_of("block" + std::to_string(b), n, n, [&](index_t row) {
    if (row % b == 0) block_columns = random_columns(random, 5, 0, block_rows);
    columns out;
    for (const index_t c : block_columns) {
      for (index_t j = c * b; j < std::min((c + 1) * b, n); ++j) out.push_back(j);
    }
    return out;
  });
}

/// Every row length at which a kernel may change its way, and one less and one more, in a mixed order.
battery_matrix mixed_lengths() {
  const columns lengths = {0,  1,  2,  3,   4,   5,   7,   8,   9,   15,  16,  17,  31,   32,   33,
                           63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025};
  const auto count = static_cast<index_t>(lengths.size());
  return random_rows("lengths_mixed", 4 * count, 3000,
                     [=](index_t row) { return lengths[static_cast<std::size_t>(row * 7 % count)]; });
}

battery_matrix shuffled(battery_matrix m, std::string name) {
  std::mt19937_64 random(5);
  m.name = std::move(name);
  for (index_t row = 0; row < m.rows; ++row) {
    std::shuffle(m.colind.begin() + m.rowptr[row], m.colind.begin() + m.rowptr[row + 1], random);
  }
  return m;
}

battery_matrix misaligned(battery_matrix m) {
  m.misaligned = true;
  return m;
}

/// Every entry of a row twice: side by side in even rows, apart in odd ones.
battery_matrix duplicates() {
  std::mt19937_64 random(3);
  return matrix_of("duplicates", 500, 400, [&](index_t row) {
    const columns once = random_columns(random, row % 9, 0, 400);
    columns out = once;
    out.insert(out.end(), once.begin(), once.end());
    if (row % 2 == 0) std::sort(out.begin(), out.end());
    return out;
  });
}

/// NaN and infinities among the values: one of a kind in a row, and both infinities in one.
battery_matrix non_finite() {
  battery_matrix m = banded("nan_and_inf", 400, 4);
  m.floating_only = true;
  for (const auto& [row, value] : {std::pair{10, nan}, {20, infinity}, {21, -infinity}, {200, infinity}, {399, nan}}) {
    m.values[static_cast<std::size_t>(m.rowptr[row]) + 1] = value;
  }
  m.values[static_cast<std::size_t>(m.rowptr[200]) + 2] = -infinity;
  return m;
}

/// Rows of several lengths whose columns leave out 0, the last one and every fifth: x is not finite there, and no
/// padding, fill or mask may let that through.
battery_matrix untouched_not_finite() {
  std::mt19937_64 random(17);
  const index_t n = 641;
  const auto touched = [=](index_t column) { return column % 5 != 0 && column != n - 1; };
  battery_matrix m = matrix_of("x_not_finite_where_untouched", n, n, [&](index_t row) {
    columns out;
    for (const index_t column : random_columns(random, row % 13, 0, n)) {
      if (touched(column)) out.push_back(column);
    }
    return out;
  });
  m.floating_only = true;
  m.x_special.assign(static_cast<std::size_t>(n), 0);
  for (index_t column = 0; column < n; ++column) {
    if (!touched(column)) m.x_special[static_cast<std::size_t>(column)] = column % 2 == 0 ? nan : infinity;
  }
  return m;
}

/// Rows of many lengths, with values that f gives for a random number in [-1, 1].
battery_matrix with_values(std::string name, double (*f)(double)) {
  battery_matrix m = mixed_lengths();
  m.name = std::move(name);
  std::ranges::transform(m.values, m.values.begin(), f);
  return m;
}

/// The same values in each row, but where it meets an end.
battery_matrix constant_coefficients() {
  battery_matrix m = banded("constant_coefficients", 4000, 3);
  std::size_t k = 0;
  for (index_t row = 0; row < m.rows; ++row) {
    for (; k < static_cast<std::size_t>(m.rowptr[static_cast<std::size_t>(row) + 1]); ++k)
      m.values[k] = m.colind[k] == row ? 1 : -1.0 / (3 + std::abs(m.colind[k] - row));
  }
  return m;
}

/// What takes fewer bytes than a double, and what only just does not.
void add_narrow_values(std::vector<battery_matrix>& all) {
  all.push_back(with_values("values_of_f32", [](double v) -> double { return static_cast<float>(v); }));
  all.push_back(with_values("values_of_bf16", [](double v) -> double {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u);
  }));
  // Beyond the largest f32, but in f32 no product with x is subnormal, which error bounds leave out, and nothing is so near
  // below the largest that the order of a sum decides whether it stays finite.
  all.push_back(with_values("values_of_all_sizes", [](double v) {
    const double size = 15 + 45 * v;
    return std::copysign(std::pow(10.0, size > 34 ? size + 5 : size), v);
  }));
  all.back().floating_only = true;
  all.push_back(with_values("two_values", [](double v) { return v < 0 ? -0.0 : 1.0 / 3; }));
  all.push_back(with_values("values_256", [](double v) { return std::floor(v * 128) / 3; }));
  all.push_back(with_values("values_257", [](double v) { return std::round(v * 128) / 3; }));
  all.push_back(constant_coefficients());
}

void add_shapes(std::vector<battery_matrix>& all) {
  const auto none = [](index_t) { return columns{}; };
  all.push_back(matrix_of("0x0", 0, 0, none));
  all.push_back(matrix_of("0x7", 0, 7, none));
  all.push_back(matrix_of("7x0", 7, 0, none));
  all.push_back(matrix_of("1x1", 1, 1, [](index_t) { return columns{0}; }));
  all.push_back(random_rows("1x1000", 1, 1000, [](index_t) { return 300; }));
  all.push_back(random_rows("1000x1", 1000, 1, [](index_t row) { return row % 3 != 0; }));
  all.push_back(random_rows("wide", 300, 5000, [](index_t row) { return row % 40; }));
  all.push_back(random_rows("tall", 5000, 300, [](index_t row) { return row % 7; }));
  all.push_back(matrix_of("all_rows_empty", 100, 50, none));
  all.push_back(random_rows("every_4th_row_empty", 1000, 1000, [](index_t row) { return row % 4 == 0 ? 0 : 5; }));
  for (const index_t rows : {31, 32, 33, 255, 256, 257, 1023, 1024, 1025}) {
    all.push_back(random_rows("rows_" + std::to_string(rows), rows, 700, [](index_t row) { return 3 + row % 4; }));
  }
}

void add_row_lengths(std::vector<battery_matrix>& all) {
  all.push_back(random_rows("one_dense_row", 1000, 5000, [](index_t row) { return row == 500 ? 5000 : 1 + row % 3; }));
  all.push_back(random_rows("short_rows", 5000, 5000, [](index_t row) { return 1 + row * 7 % 4; }));
  all.push_back(random_rows("long_rows", 40, 4000, [](index_t) { return 3000; }));
  all.push_back(random_rows("many_empty_then_few", 100000, 64, [](index_t row) { return row < 99995 ? 0 : 9; }));
  all.push_back(random_rows("row_of_100k", 3, 120000, [](index_t row) { return row == 1 ? 100000 : 2; }));
  all.push_back(mixed_lengths());
  for (const index_t length : {7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1024}) {
    all.push_back(random_rows("length_" + std::to_string(length), 70, 2000, [=](index_t) { return length; }));
  }
}

void add_patterns(std::vector<battery_matrix>& all) {
  all.push_back(matrix_of("diagonal", 1000, 1000, [](index_t row) { return columns{row}; }));
  all.push_back(banded("banded", 1500, 7));
  all.push_back(arrow(2000));
  all.push_back(matrix_of("one_dense_column", 1000, 900, [](index_t row) {
    return row % 5 == 0 && row < 900 && row != 450 ? columns{450, row} : columns{450};
  }));
  all.push_back(corner(2000, 100));
  all.push_back(rmat(11, 8));
  all.push_back(stencil27(11));
  for (int b = 2; b <= 8; ++b) all.push_back(blocks(b));
}

void add_orders_and_values(std::vector<battery_matrix>& all) {
  all.push_back(shuffled(banded("", 300, 20), "unsorted"));
  all.push_back(duplicates());
  all.push_back({{3, 4, {0, 2, 2, 5}, {0, 3, 0, 1, 3}, random_numbers(5, 1)}, "base1"});
  all.push_back(misaligned(random_rows("misaligned", 777, 777, [](index_t row) { return row % 50; })));
  all.push_back(misaligned(blocks(4)));
  all.back().name = "misaligned_block4";
  all.push_back(non_finite());
  all.push_back(untouched_not_finite());
}

/// Any columns in any order, repeats included: at most `most` per row.
battery_matrix any_rows(std::string name, index_t rows, index_t cols, index_t most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return matrix_of(std::move(name), rows, cols, [&](index_t) {
    columns c(random() % static_cast<std::uint64_t>(most + 1));
    for (index_t& column : c) column = static_cast<index_t>(random() % static_cast<std::uint64_t>(cols));
    return c;
  });
}

/// Full 8 x 8 blocks on the diagonal and in the first block column.
columns full_block_row(index_t row) {
  columns c = range(row / 8 * 8, row / 8 * 8 + 8);
  if (row >= 8) c.insert(c.begin(), {0, 1, 2, 3, 4, 5, 6, 7});
  return c;
}

std::vector<battery_matrix> made_by(std::initializer_list<void (*)(std::vector<battery_matrix>&)> parts) {
  std::vector<battery_matrix> all;
  for (const auto add : parts) add(all);
  return all;
}

const battery_matrix& named(const std::vector<battery_matrix>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &battery_matrix::name);
  if (found == all.end()) throw std::invalid_argument("no matrix of the battery is named " + name);
  return *found;
}

/// In every process of a test that is tried on them, so the battery's large matrices are not made for these.
void add_formats(std::vector<battery_matrix>& all) {
  const std::vector<battery_matrix> small = made_by({add_shapes, add_orders_and_values});
  for (const char* name : {"0x0", "0x7", "7x0", "1x1", "1x1000", "1000x1", "all_rows_empty", "every_4th_row_empty",
                           "unsorted", "duplicates", "wide"}) {
    all.push_back(named(small, name));
  }
  all.push_back(matrix_of("1x1_empty", 1, 1, [](index_t) { return columns{}; }));
  all.push_back(
      matrix_of("dense_row", 100, 90, [](index_t r) { return r == 41 ? range(0, 90) : range(r % 90, r % 90 + 1); }));
  all.push_back(matrix_of("dense_column", 130, 64, [](index_t r) {
    return r % 5 == 0 ? columns{13} : columns{13, 14 + r % 50};
  }));
  all.push_back(corner(200, 20));
  all.push_back(matrix_of("full_blocks", 48, 48, full_block_row));
  all.push_back(matrix_of("exact_slices", 64, 64, [](index_t r) { return range(0, 64 - r); }));
  all.push_back(matrix_of("ascending_lengths", 65, 70, [](index_t r) { return range(0, r); }));
  all.push_back(any_rows("tall", 3000, 40, 6, 2));
  all.push_back(any_rows("windows", 2500, 2500, 9, 3));
  all.push_back(any_rows("scan_in_parts", 33000, 600, 3, 4));
  for (battery_matrix& m : all) {  // 1, 2, ... 1000, 1, 2, ...
    for (std::size_t k = 0; k < m.values.size(); ++k) m.values[k] = static_cast<double>(k % 1000 + 1);
  }
  all.push_back({{2, 9, {0, 5, 7}, {8, 2, 8, 2, 2, 0, 0}, {1, 2, 3, 4, 5, 6, 7}}, "repeated_twice"});
  all.push_back({{3, 3, {0, 2, 3, 6}, {0, 2, 1, 0, 1, 2}, {0, 5, 0, 0, 0, 0}}, "stored_zeros"});
  all.push_back({{5, 4, {0, 2, 3, 5, 5, 7}, {0, 1, 1, 0, 3, 2, 2}, {nan, infinity, -infinity, -0.0, 0.0, -0.0, -0.0}},
                 "special_values"});
  all.back().floating_only = true;
}

}  // namespace

battery_matrix matrix_of(std::string name, index_t rows, index_t cols, const std::function<columns(index_t)>& row_of) {
  battery_matrix m{{0, cols}, std::move(name)};
  while (m.rows < rows) m.add_row(row_of(m.rows));
  m.values = random_numbers(m.colind.size(), 7 + m.colind.size());
  return m;
}

battery_matrix random_rows(std::string name, index_t rows, index_t cols,
                           const std::function<index_t(index_t)>& length) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rows) * 31 + static_cast<std::uint64_t>(cols));
  return matrix_of(std::move(name), rows, cols,
                   [&](index_t row) { return random_columns(random, length(row), 0, cols); });
}

battery_matrix banded(std::string name, index_t n, index_t half_width) {
  return matrix_of(std::move(name), n, n, [=](index_t row) {
    return range(std::max(row - half_width, 0), std::min(row + half_width + 1, n));
  });
}

battery_matrix corner(index_t n, index_t dense) {
  return matrix_of("corner", n, n, [=](index_t row) { return row < n - dense ? columns{} : range(n - dense, n); });
}

battery_matrix arrow(index_t n) {
  return matrix_of("arrow", n, n, [=](index_t row) { return row == n - 1 ? range(0, n) : columns{row, n - 1}; });
}

battery_matrix stencil27(index_t n) {
  return matrix_of("stencil27", n * n * n, n * n * n, [=](index_t row) {
    columns out;
    const index_t i = row % n, j = row / n % n, k = row / n / n;
    for (index_t z = std::max(k - 1, 0); z <= std::min(k + 1, n - 1); ++z) {
      for (index_t y = std::max(j - 1, 0); y <= std::min(j + 1, n - 1); ++y) {
        for (index_t x = std::max(i - 1, 0); x <= std::min(i + 1, n - 1); ++x) out.push_back((z * n + y) * n + x);
      }
    }
    return out;
  });
}

const std::vector<battery_matrix>& battery() {
  static const std::vector<battery_matrix> all =
      made_by({add_shapes, add_row_lengths, add_patterns, add_orders_and_values, add_narrow_values});
  return all;
}

const std::vector<battery_matrix>& format_battery() {
  static const std::vector<battery_matrix> all = made_by({add_formats});
  return all;
}

const battery_matrix& battery_matrix_named(const std::string& name) { return named(battery(), name); }

}  // namespace tulle::test

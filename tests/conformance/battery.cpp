#include "conformance/battery.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace tulle::test {
namespace {

using columns = std::vector<index_t>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

battery_matrix from_rows(std::string name, index_t rows, index_t cols, const std::function<columns(index_t)>& row_of) {
  battery_matrix m{std::move(name), rows, cols, {0}, {}, {}, {}};
  for (index_t row = 0; row < rows; ++row) {
    const columns row_columns = row_of(row);
    m.colind.insert(m.colind.end(), row_columns.begin(), row_columns.end());
    m.rowptr.push_back(static_cast<std::int64_t>(m.colind.size()));
  }
  m.values = random_numbers(m.colind.size(), 7 + m.colind.size());
  return m;
}

/// `count` distinct columns below `cols`, ascending.
columns random_columns(std::mt19937_64& random, index_t count, index_t cols) {
  columns out;
  index_t needed = std::min(count, cols);
  for (index_t column = 0; needed > 0; ++column) {  // selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S)
    if (static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cols - column)) < needed) {
      out.push_back(column);
      --needed;
    }
  }
  return out;
}

battery_matrix random_rows(std::string name, index_t rows, index_t cols,
                           const std::function<index_t(index_t)>& length) {
  std::mt19937_64 random(rows * 31 + cols);
  return from_rows(std::move(name), rows, cols, [&](index_t row) { return random_columns(random, length(row), cols); });
}

columns range(index_t first, index_t last) {
  columns out(static_cast<std::size_t>(std::max(last - first, 0)));
  std::iota(out.begin(), out.end(), first);
  return out;
}

battery_matrix banded(std::string name, index_t n, index_t half_width) {
  return from_rows(std::move(name), n, n, [=](index_t row) {
    return range(std::max(row - half_width, 0), std::min(row + half_width + 1, n));
  });
}

/// Diagonal, last row and last column.
battery_matrix arrow(index_t n) {
  return from_rows("arrow", n, n, [=](index_t row) { return row == n - 1 ? range(0, n) : columns{row, n - 1}; });
}

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
  return from_rows("rmat", n, n, [&](index_t row) {
    columns& c = rows[static_cast<std::size_t>(row)];
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    return c;
  });
}

/// Full b x b blocks, five a block row, cut off by one row and one column at the far corner.
battery_matrix blocks(int b) {
  const index_t block_rows = 40, n = block_rows * b - 1;
  std::mt19937_64 random(b);
  columns block_columns;
  return from_rows("block" + std::to_string(b), n, n, [&](index_t row) {
    if (row % b == 0) block_columns = random_columns(random, 5, block_rows);
    columns out;
    for (const index_t c : block_columns) {
      for (index_t j = c * b; j < std::min((c + 1) * b, n); ++j) out.push_back(j);
    }
    return out;
  });
}

battery_matrix stencil27(index_t n) {
  return from_rows("stencil27", n * n * n, n * n * n, [=](index_t row) {
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

/// Every entry of a row twice: side by side in even rows, apart in odd ones.
battery_matrix duplicates() {
  std::mt19937_64 random(3);
  return from_rows("duplicates", 500, 400, [&](index_t row) {
    const columns once = random_columns(random, row % 9, 400);
    columns out = once;
    out.insert(out.end(), once.begin(), once.end());
    if (row % 2 == 0) std::sort(out.begin(), out.end());
    return out;
  });
}

/// Indices counted from 1, as Fortran and Matrix Market do, shifted on entry.
battery_matrix from_base_one() {
  battery_matrix m{"base1", 3, 4, {1, 3, 3, 6}, {1, 4, 1, 2, 4}, {}, {}};
  for (auto& offset : m.rowptr) --offset;
  for (auto& column : m.colind) --column;
  m.values = random_numbers(m.colind.size(), 1);
  return m;
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
  battery_matrix m = from_rows("x_not_finite_where_untouched", n, n, [&](index_t row) {
    columns out;
    for (const index_t column : random_columns(random, row % 13, n)) {
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

void add_shapes(std::vector<battery_matrix>& all) {
  const auto none = [](index_t) { return columns{}; };
  all.push_back(from_rows("0x0", 0, 0, none));
  all.push_back(from_rows("0x7", 0, 7, none));
  all.push_back(from_rows("7x0", 7, 0, none));
  all.push_back(from_rows("1x1", 1, 1, [](index_t) { return columns{0}; }));
  all.push_back(random_rows("1x1000", 1, 1000, [](index_t) { return 300; }));
  all.push_back(random_rows("1000x1", 1000, 1, [](index_t row) { return row % 3 != 0; }));
  all.push_back(random_rows("wide", 300, 5000, [](index_t row) { return row % 40; }));
  all.push_back(random_rows("tall", 5000, 300, [](index_t row) { return row % 7; }));
  for (const index_t rows : {31, 32, 33, 255, 256, 257, 1023, 1024, 1025}) {
    all.push_back(random_rows("rows_" + std::to_string(rows), rows, 700, [](index_t row) { return 3 + row % 4; }));
  }
}

void add_row_lengths(std::vector<battery_matrix>& all) {
  all.push_back(from_rows("all_rows_empty", 100, 50, [](index_t) { return columns{}; }));
  all.push_back(random_rows("every_4th_row_empty", 1000, 1000, [](index_t row) { return row % 4 == 0 ? 0 : 5; }));
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
  all.push_back(from_rows("diagonal", 1000, 1000, [](index_t row) { return columns{row}; }));
  all.push_back(banded("banded", 1500, 7));
  all.push_back(arrow(2000));
  all.push_back(from_rows("one_dense_column", 1000, 900, [](index_t row) {
    return row % 5 == 0 && row < 900 && row != 450 ? columns{450, row} : columns{450};
  }));
  all.push_back(
      from_rows("corner", 2000, 2000, [](index_t row) { return row < 1900 ? columns{} : range(1900, 2000); }));
  all.push_back(rmat(11, 8));
  all.push_back(stencil27(11));
  for (int b = 2; b <= 8; ++b) all.push_back(blocks(b));
}

void add_orders_and_values(std::vector<battery_matrix>& all) {
  all.push_back(shuffled(banded("", 300, 20), "unsorted"));
  all.push_back(duplicates());
  all.push_back(from_base_one());
  battery_matrix misaligned = random_rows("misaligned", 777, 777, [](index_t row) { return row % 50; });
  misaligned.misaligned = true;
  all.push_back(std::move(misaligned));
  battery_matrix misaligned_blocks = blocks(4);
  misaligned_blocks.name = "misaligned_block4";
  misaligned_blocks.misaligned = true;
  all.push_back(std::move(misaligned_blocks));
  all.push_back(non_finite());
  all.push_back(untouched_not_finite());
}

}  // namespace

std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> out(count);
  for (double& v : out) v = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return out;
}

const std::vector<battery_matrix>& battery() {
  static const std::vector<battery_matrix> all = [] {
    std::vector<battery_matrix> made;
    add_shapes(made);
    add_row_lengths(made);
    add_patterns(made);
    add_orders_and_values(made);
    return made;
  }();
  return all;
}

const battery_matrix& battery_matrix_named(const std::string& name) {
  for (const battery_matrix& m : battery()) {
    if (m.name == name) return m;
  }
  throw std::invalid_argument("no matrix of the battery is named " + name);
}

}  // namespace tulle::test

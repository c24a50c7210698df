#include <algorithm>
#include <limits>
#include <utility>

#include "spgemm/operands.hpp"

namespace tulle::test {
namespace {

columns none(index_t) { return {}; }

/// Every row has `count` random columns.
battery_matrix random_matrix(index_t rows, index_t cols, index_t count) {
  return random_rows("", rows, cols, [=](index_t) { return count; });
}

battery_matrix permutation(index_t n, std::uint64_t seed) {
  columns to = range(0, n);
  std::mt19937_64 random(seed);
  std::shuffle(to.begin(), to.end(), random);
  return matrix_of(n, n, [&](index_t row) { return columns{to[static_cast<std::size_t>(row)]}; });
}

/// Two entries per row, row and column `dense` full where they are not -1.
battery_matrix with_dense(index_t n, index_t dense_row, index_t dense_column) {
  std::mt19937_64 random(23);
  return matrix_of(n, n, [&](index_t row) {
    if (row == dense_row) return range(0, n);
    columns c = random_columns(random, 2, 0, n);
    if (dense_column >= 0 && std::find(c.begin(), c.end(), dense_column) == c.end()) c.push_back(dense_column);
    std::sort(c.begin(), c.end());
    return c;
  });
}

/// Every 4th row and every 5th column empty.
battery_matrix holes(index_t rows, index_t cols) {
  std::mt19937_64 random(29);
  return matrix_of(rows, cols, [&](index_t row) {
    columns c = row % 4 == 0 ? columns{} : random_columns(random, 7, 0, cols);
    std::erase_if(c, [](index_t column) { return column % 5 == 0; });
    return c;
  });
}

/// The 5-point stencil on an n x n grid.
battery_matrix stencil5(index_t n) {
  return matrix_of(n * n, n * n, [=](index_t row) {
    columns c;
    if (row >= n) c.push_back(row - n);
    if (row % n > 0) c.push_back(row - 1);
    c.push_back(row);
    if (row % n < n - 1) c.push_back(row + 1);
    if (row < n * (n - 1)) c.push_back(row + n);
    return c;
  });
}

/// Aggregates of 8 neighbours: n rows to n / 8 columns, as in algebraic multigrid.
battery_matrix aggregation(index_t n) {
  return matrix_of(n, (n + 7) / 8, [](index_t row) { return columns{row / 8}; });
}

battery_matrix transpose_of(const battery_matrix& m) { return {transposed(m)}; }

battery_matrix named(const char* name) { return battery_matrix_named(name); }

}  // namespace

void add_shape_products(std::vector<product_recipe>& all) {
  const auto add = [&](const char* name, std::function<operands()> make) { all.push_back({name, std::move(make)}); };
  const auto square = [&](const char* name, std::function<battery_matrix()> make) {
    add(name, [make = std::move(make)] { return operands{make(), make()}; });
  };
  add("0x0", [] { return operands{matrix_of(0, 0, none), matrix_of(0, 0, none)}; });
  add("no_rows", [] { return operands{matrix_of(0, 5, none), full(5, 7)}; });
  add("no_columns", [] { return operands{full(7, 5), matrix_of(5, 0, none)}; });
  add("inner_0", [] { return operands{matrix_of(6, 0, none), matrix_of(0, 9, none)}; });
  add("1x1", [] { return operands{full(1, 1), full(1, 1)}; });
  add("all_empty", [] { return operands{matrix_of(50, 40, none), matrix_of(40, 30, none)}; });
  add("a_empty", [] { return operands{matrix_of(50, 40, none), full(40, 30)}; });
  add("b_empty", [] { return operands{full(50, 40), matrix_of(40, 30, none)}; });
  add("misses", [] {  // A names the empty rows of B alone
    return operands{matrix_of(40, 40, [](index_t row) { return columns{row / 2 * 2}; }),
                    matrix_of(40, 40, [](index_t row) { return row % 2 == 0 ? columns{} : range(0, 40); })};
  });
  add("holes", [] { return operands{holes(400, 300), holes(300, 500)}; });
  add("dense_row_in_a", [] { return operands{with_dense(1500, 700, -1), with_dense(1500, -1, -1)}; });
  add("dense_row_in_b", [] { return operands{with_dense(1500, -1, -1), with_dense(1500, 700, -1)}; });
  add("dense_row_in_both", [] { return operands{with_dense(1500, 700, -1), with_dense(1500, 700, -1)}; });
  add("dense_column_in_a", [] { return operands{with_dense(1500, -1, 700), with_dense(1500, -1, -1)}; });
  add("dense_column_in_b", [] { return operands{with_dense(1500, -1, -1), with_dense(1500, -1, 700)}; });
  add("dense_cross", [] { return operands{with_dense(400, 300, 300), with_dense(400, 300, 300)}; });
  add("outer", [] { return operands{full(300, 1), full(1, 400)}; });
  add("inner", [] { return operands{full(1, 3000), full(3000, 1)}; });
  add("row_by_matrix", [] { return operands{full(1, 700), random_matrix(700, 900, 5)}; });
  add("full", [] { return operands{full(70, 65), full(65, 130)}; });
  add("tall_by_wide", [] { return operands{random_matrix(3000, 40, 3), random_matrix(40, 2500, 8)}; });
  add("wide_by_tall", [] { return operands{random_matrix(60, 5000, 90), random_matrix(5000, 50, 4)}; });
  add("wide_columns", [] { return operands{random_matrix(12, 500, 30), random_matrix(500, 300000, 9)}; });
  square("diagonal", [] { return matrix_of(1000, 1000, [](index_t row) { return columns{row}; }); });
  add("permutations", [] { return operands{permutation(1000, 1), permutation(1000, 2)}; });
  add("permuted_rows", [] { return operands{permutation(1331, 3), stencil27(11)}; });
  add("permuted_columns", [] { return operands{stencil27(11), permutation(1331, 4)}; });
  add("galerkin", [] { return operands{stencil27(11), aggregation(1331)}; });
  add("restriction", [] { return operands{transpose_of(aggregation(1331)), stencil27(11)}; });
  square("stencil5", [] { return stencil5(40); });
  square("stencil27", [] { return stencil27(11); });
  square("banded", [] { return named("banded"); });
  square("arrow", [] { return arrow(400); });
  square("corner", [] { return corner(900, 70); });
  square("rmat", [] { return named("rmat"); });
  square("fem_block3", [] { return named("block3"); });
  square("fem_block6", [] { return named("block6"); });
  square("short_rows", [] { return named("short_rows"); });
  add("wide_transposed", [] { return operands{named("wide"), transpose_of(named("wide"))}; });
  add("tall_transposed", [] { return operands{transpose_of(named("tall")), named("tall")}; });
  add("lengths_mixed", [] { return operands{named("lengths_mixed"), random_matrix(3000, 3000, 5)}; });
  add("lengths_mixed_in_b", [] { return operands{random_matrix(500, 120, 4), named("lengths_mixed")}; });
  add("row_of_100k", [] { return operands{named("row_of_100k"), random_matrix(120000, 3000, 2)}; });
  add("many_empty_rows", [] {
    return operands{matrix_of(20000, 64, [](index_t i) { return i < 19995 ? columns{} : range(i % 9, 50); }),
                    random_matrix(64, 500, 9)};
  });
}

void add_value_products(std::vector<product_recipe>& all) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto add = [&](const char* name, std::function<operands()> make) { all.push_back({name, std::move(make)}); };

  add("unsorted", [] {
    return operands{named("unsorted"), matrix_of(300, 300, [](index_t i) { return range(i / 2, i); })};
  });
  add("duplicates", [] { return operands{named("duplicates"), random_matrix(400, 600, 9)}; });
  add("duplicates_nan_and_inf", [] {
    operands p{named("duplicates"), random_matrix(400, 600, 9)};
    p.a.values[30] = infinity;
    p.a.values[300] = nan;
    p.b.values[100] = -infinity;
    p.b.values[200] = 0;
    return p;
  });
  add("misaligned", [] {
    operands p{named("misaligned"), random_matrix(777, 555, 11)};
    p.b.misaligned = true;
    return p;
  });
  add("cancellation", [] {  // every sum is exactly 0, and every entry stays
    operands p{full(200, 2), full(2, 300)};
    std::fill(p.a.values.begin(), p.a.values.end(), 1.0);
    for (std::size_t j = 0; j < 300; ++j) p.b.values[300 + j] = -p.b.values[j];
    return p;
  });
  add("stored_zeros", [] {
    operands p{named("banded"), named("banded")};
    for (std::size_t k = 0; k < p.a.values.size(); k += 3) p.a.values[k] = 0;
    for (std::size_t k = 0; k < p.b.values.size(); k += 2) p.b.values[k] = 0;
    return p;
  });
  add("nan_and_inf", [] { return operands{named("nan_and_inf"), named("nan_and_inf")}; });
  add("inf_times_zero", [] {
    operands p{full(3, 3), full(3, 40)};
    p.a.values = {infinity, 1, 1, -infinity, infinity, 0, nan, 0, 0};
    for (std::size_t j = 0; j < 40; ++j) p.b.values[j] = j % 2 == 0 ? 0 : 1;
    return p;
  });
}

}  // namespace tulle::test

#include <algorithm>
#include <limits>
#include <string>

#include "spgemm/operands.hpp"

namespace tulle::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rows of C of 1 to 120 000 entries all over five million columns.
operands wide_rows() {
  const columns lengths = {1, 2, 3, 10, 40, 100, 1000, 5000, 60'000, 60'000};
  const std::vector<columns> rows = {{},  {0, 1}, {2, 1, 3}, {4, 4},       {5, 6},
                                     {7}, {8, 9}, {7, 6, 5}, {9, 0, 8, 9}, columns(22, 8)};
  operands p{matrix_of(10, 10, [&](index_t i) { return rows[static_cast<std::size_t>(i)]; }),
             random_rows("", 10, 5'000'000, [&](index_t i) { return lengths[static_cast<std::size_t>(i)]; })};
  for (std::size_t k = 1; k < 22; k += 2) p.a.colind[p.a.colind.size() - k] = 9;
  return p;
}

/// Rows of B with neighbouring columns from `start` on, used often: counted by words, added by blocks of 8 columns.
operands neighbours(index_t start, index_t width = 600'000) {
  std::mt19937_64 random(25);
  const auto row_of_b = [&](index_t r) {
    columns c;
    for (index_t run = 0; run < 6; ++run) {
      const index_t first = start + 70 * run + 3 * (r % 7), length = 3 + (r + run) % 15;
      for (index_t j = 0; j < length; ++j) c.push_back(first + j);
    }
    if (r == 39) c.push_back(start + width - 1);
    return c;
  };
  const auto row_of_a = [&](index_t i) {
    columns c(static_cast<std::size_t>(2 + i % 60));
    const index_t first = i < 40 ? 1 : 0, last = i % 50 == 49 ? 39 : 38;
    for (index_t& column : c)
      column = first + static_cast<index_t>(random() % static_cast<std::uint64_t>(last - first + 1));
    return c;
  };
  operands p{matrix_of(60, 40, row_of_a), matrix_of(40, start + width, row_of_b)};
  p.a.values[20] = -infinity;
  p.b.values[5] = infinity;
  p.b.values[9] = std::numeric_limits<double>::quiet_NaN();
  p.b.values[12] = -0.0;
  return p;
}

/// Groups of 1 to `most` rows of A with the same columns, each group with the next of `lengths` entries.
battery_matrix rows_in_groups(index_t groups, index_t most, index_t inner, index_t shortest, index_t lengths) {
  std::mt19937_64 random(26);
  battery_matrix m{{0, inner}};
  for (index_t group = 0; group < groups; ++group) {
    const columns c = random_columns(random, shortest + group % lengths, 0, inner);
    for (index_t i = 0; i <= group % most; ++i) m.add_row(c);
  }
  m.values = random_numbers(m.colind.size(), 26);
  return m;
}

/// Rows of B with runs of `run` columns, `apart` from each other. Rows of A with the columns of the row before: one
/// alone, several at once, and more than are added together.
operands repeated_rows(index_t apart, index_t run) {
  operands p{rows_in_groups(90, 7, 40, 0, 12), matrix_of(40, 6 * apart + 1023, [=](index_t r) {
               columns c;
               for (index_t j = 0; r % 13 != 5 && j < 7 * run; ++j) {
                 c.push_back(1003 + apart * (j / run) + r % 5 + j % run);
               }
               return c;
             })};
  p.b.values[5] = infinity;
  return p;
}

/// Repeated rows whose entries in C span so many columns, about as many as are added together.
operands repeated_rows_of_span(index_t span) {
  constexpr index_t first = 1007;  // the last of eight neighbours
  return {rows_in_groups(30, 6, 20, 1, 8), matrix_of(20, first + span, [=](index_t r) {
            columns c;
            for (const index_t begin : {first, 5'000 + 9 * (r % 5), first + span - 9}) {
              for (index_t j = 0; j < 9; ++j) c.push_back(begin + j);
            }
            return c;
          })};
}

/// Row i has the columns i + d. Every `run`-th row lacks the last of them, and every third of those has none.
battery_matrix diagonals(index_t rows, index_t cols, index_t run, const columns& all) {
  battery_matrix m{{0, cols}};
  for (index_t i = 0; i < rows; ++i) {
    columns c;
    for (const index_t d : all) c.push_back(i + d);
    if (i % run == run - 1) c.resize(i % (3 * run) == run - 1 ? 0 : c.size() - 1);
    m.add_row(c);
  }
  m.values = random_numbers(m.colind.size(), 27);
  return m;
}

/// Rows of C that are the row before, each column one further: stencils, bands.
operands shifted_rows(index_t rows, index_t run, const columns& of_a, const columns& of_b) {
  const index_t inner = rows + *std::ranges::max_element(of_a), cols = inner + of_b.back();
  operands p{diagonals(rows, inner, run, of_a), diagonals(inner, cols, 2 * run + 1, of_b)};
  p.a.values[20] = -infinity;
  p.b.values[15] = infinity;
  p.b.values[34] = std::numeric_limits<double>::quiet_NaN();
  p.b.values[47] = -0.0;
  return p;
}

/// Lines of 20 rows with the same ends in every line in `kinds`: those rows of C are alike, but of many kinds.
operands lines_with_ends(index_t kinds) {
  constexpr index_t line = 20;
  const index_t rows = std::max(3 * kinds, 60) * line, cols = rows + 104 + kinds;
  operands p{diagonals(rows, rows + 40, 2 * rows, {0, 20, 21, 40}), {{0, cols}}};
  for (index_t r = 0; r < rows + 40; ++r) {
    r % line == line - 1 ? p.b.add_row({r, r + 64 + r / line % kinds}) : p.b.add_row({r, r + 30, r + 31, r + 62});
  }
  p.b.values = random_numbers(p.b.colind.size(), 28);
  return p;
}

/// As many diagonals, some side by side.
columns some_diagonals(index_t count, index_t apart) {
  columns all;
  for (index_t k = 0; k < count; ++k) all.push_back(k / 3 * apart + k % 3);
  return all;
}

void add_product(std::vector<product_recipe>& all, const std::string& name, std::function<operands()> make) {
  all.push_back({name, std::move(make), /*quick=*/true, /*boundary=*/true, /*cpu_only=*/true});
}

void add_shifted_products(std::vector<product_recipe>& all) {
  const auto add = [&](const std::string& name, index_t run, const columns& of_a, const columns& of_b) {
    add_product(all, "shifted_" + name, [=] { return shifted_rows(150, run, of_a, of_b); });
  };
  const columns five = {0, 30, 31, 32, 62};
  for (const index_t run : {2, 7, 8, 9, 10, 13, 60, 1000}) add("in_runs_of_" + std::to_string(run), run, five, five);
  add("with_columns_in_any_order", 25, {40, 3, 4, 0, 4, 9}, {1, 2, 5});  // and twice
  add("and_one_alone", 25, five, {7});
  add("far_apart", 25, {0, 1, 2}, {0, 200'000, 900'000, 3'000'000});  // too wide for a window of sums
  for (const index_t count : {8, 63, 64, 65}) add("of_" + std::to_string(count), 1000, some_diagonals(count, 5), five);
  for (const index_t count : {682, 683}) {  // 2046 and 2049 products
    add("of_3_times_" + std::to_string(count), 1000, {0, 1, 5}, some_diagonals(count, 4));
  }
  for (const index_t run : {2, 5, 16}) {
    const columns of_b = {0, 1, 9};
    add_product(all, "shifted_lines_of_" + std::to_string(run), [=] { return shifted_rows(1500, run, five, of_b); });
  }
  for (const index_t kinds : {3, 150}) {
    add_product(all, "shifted_lines_of_" + std::to_string(kinds) + "_kinds", [=] { return lines_with_ends(kinds); });
  }
  add("of_64_times_32", 1000, some_diagonals(64, 3), some_diagonals(32, 100));  // 2048 products
}

}  // namespace

void add_cpu_products(std::vector<product_recipe>& all) {
  const auto add = [&](const std::string& name, std::function<operands()> make) {
    add_product(all, name, std::move(make));
  };
  add("wide_rows", wide_rows);
  for (const index_t start : {0, 61, 523'000}) {
    add("neighbours_from_" + std::to_string(start), [=] { return neighbours(start); });
    add("neighbours_of_few_from_" + std::to_string(start), [=] { return neighbours(start, 50'000); });
  }
  for (const index_t apart : {10, 6'000, 90'000}) {
    for (const index_t run : {1, 9}) {
      add("repeated_rows_of_runs_" + std::to_string(run) + "_" + std::to_string(apart) + "_apart",
          [=] { return repeated_rows(apart, run); });
    }
  }
  add_shifted_products(all);
  for (const index_t span : {32'767, 32'768, 32'769}) {
    add("repeated_rows_spanning_" + std::to_string(span), [=] { return repeated_rows_of_span(span); });
  }
}

}  // namespace tulle::test

#include "battery.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace tulle::testing {
namespace {

using row = std::vector<std::pair<index_t, double>>;

matrix from_rows(std::string name, index_t cols, const std::vector<row>& rows) {
  matrix m{std::move(name), static_cast<index_t>(rows.size()), cols, {0}, {}, {}};
  for (const row& r : rows) {
    for (const auto& [column, value] : r) {
      m.colind.push_back(column);
      m.values.push_back(value);
    }
    m.rowptr.push_back(m.nnz());
  }
  return m;
}

/// Row r has the columns that `columns` names, with small integers that tell the entries apart.
matrix from_pattern(std::string name, index_t rows, index_t cols,
                    const std::function<std::vector<index_t>(index_t)>& columns) {
  std::vector<row> entries(static_cast<std::size_t>(rows));
  double value = 0;
  for (index_t r = 0; r < rows; ++r) {
    for (const index_t c : columns(r)) {
      value = value == 1000 ? 1 : value + 1;
      entries[static_cast<std::size_t>(r)].emplace_back(c, value);
    }
  }
  return from_rows(std::move(name), cols, entries);
}

std::vector<index_t> range(index_t begin, index_t end) {
  std::vector<index_t> out;
  for (index_t c = begin; c < end; ++c) out.push_back(c);
  return out;
}

/// Any columns in any order, repeats included: `most` at most a row.
matrix random_matrix(std::string name, index_t rows, index_t cols, unsigned most, unsigned seed) {
  std::mt19937 random(seed);
  return from_pattern(std::move(name), rows, cols, [&](index_t) {
    std::vector<index_t> columns(random() % (most + 1));
    for (index_t& c : columns) c = static_cast<index_t>(random() % static_cast<unsigned>(cols));
    return columns;
  });
}

matrix special_values() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  matrix m = from_rows("special_values", 4,
                       {{{0, std::nan("")}, {1, inf}}, {{1, -inf}}, {{0, -0.0}, {3, 0.0}}, {}, {{2, -0.0}, {2, -0.0}}});
  m.floating_only = true;
  return m;
}

std::vector<matrix> make_battery() {
  const auto none = [](index_t) { return std::vector<index_t>{}; };
  std::vector<matrix> all;
  all.push_back(from_pattern("0x0", 0, 0, none));
  all.push_back(from_pattern("0x5", 0, 5, none));
  all.push_back(from_pattern("5x0", 5, 0, none));
  all.push_back(from_pattern("1x1", 1, 1, [](index_t) { return range(0, 1); }));
  all.push_back(from_pattern("1x1_empty", 1, 1, none));
  all.push_back(from_pattern("1x70", 1, 70, [](index_t) { return range(3, 70); }));
  all.push_back(from_pattern("70x1", 70, 1, [](index_t r) { return range(0, r % 3 != 0); }));
  all.push_back(from_pattern("all_rows_empty", 100, 7, none));
  all.push_back(from_pattern("every_4th_row_empty", 97, 50, [](index_t r) { return range(r % 40, r % 40 + r % 4); }));
  all.push_back(
      from_pattern("dense_row", 100, 90, [](index_t r) { return r == 41 ? range(0, 90) : range(r % 90, r % 90 + 1); }));
  all.push_back(from_pattern("dense_column", 130, 64, [](index_t r) {
    return r % 5 == 0 ? std::vector<index_t>{13} : std::vector<index_t>{13, 14 + r % 50};
  }));
  all.push_back(from_pattern("corner", 200, 200, [](index_t r) { return r < 180 ? range(0, 0) : range(180, 200); }));
  all.push_back(from_pattern("full_blocks", 48, 48, [](index_t r) {
    std::vector<index_t> columns = range(r / 8 * 8, r / 8 * 8 + 8);
    if (r >= 8) columns.insert(columns.begin(), {0, 1, 2, 3, 4, 5, 6, 7});
    return columns;
  }));
  all.push_back(from_pattern("exact_slices", 64, 64, [](index_t r) { return range(0, 64 - r); }));
  all.push_back(from_pattern("ascending_lengths", 65, 70, [](index_t r) { return range(0, r); }));
  all.push_back(from_pattern("unsorted", 60, 60, [](index_t r) {
    return std::vector<index_t>{(r + 7) % 60, r, (r + 31) % 60};
  }));
  all.push_back(from_rows("duplicates", 9, {{{8, 1}, {2, 2}, {8, 3}, {2, 4}, {2, 5}}, {}, {{0, 6}, {0, 7}}}));
  all.push_back(from_rows("stored_zeros", 3, {{{0, 0}, {2, 5}}, {{1, 0}}, {{0, 0}, {1, 0}, {2, 0}}}));
  all.push_back(special_values());
  all.push_back(random_matrix("wide", 40, 3000, 30, 1));
  all.push_back(random_matrix("tall", 3000, 40, 6, 2));
  all.push_back(random_matrix("windows", 2500, 2500, 9, 3));
  all.push_back(random_matrix("scan_in_parts", 33000, 600, 3, 4));
  return all;
}

}  // namespace

const std::vector<matrix>& battery() {
  static const std::vector<matrix> all = make_battery();
  return all;
}

const std::vector<std::string>& backends() {
  static const std::vector<std::string> all = {"cpu1", "cpu2", "cpu5", "cuda"};
  return all;
}

std::optional<context> make_context(const std::string& backend) {
  if (backend != "cuda") return context::cpu(backend.back() - '0');
  if (cuda_device_count() == 0) return std::nullopt;
  return context::cuda();
}

std::string backend_and_matrix(const ::testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  return std::get<0>(info.param) + "_" + battery()[static_cast<std::size_t>(std::get<1>(info.param))].name;
}

}  // namespace tulle::testing

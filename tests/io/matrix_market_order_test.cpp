// The same arrays for any number of threads, against a plain sort of the entries.
#include <algorithm>
#include <random>

#include "parse.hpp"

namespace tulle::test {
namespace {

struct triplet {
  index_t row;
  index_t col;
  double value;
};

/// Sorted rows, duplicates summed in the order of the file.
plain_csr<double> reference(index_t rows, index_t cols, std::vector<triplet> entries) {
  std::ranges::stable_sort(entries, {}, &triplet::row);
  plain_csr<double> a{0, cols};
  for (auto e = entries.begin(); a.rows < rows;) {
    std::vector<index_t> row;
    for (; e != entries.end() && e->row == a.rows; ++e) {
      row.push_back(e->col);
      a.values.push_back(e->value);
    }
    a.add_row(row);
  }
  return summed(a);
}

std::string text_of(std::string_view symmetry, index_t rows, index_t cols, const std::vector<triplet>& entries) {
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate real {}\n{} {} {}\n", symmetry, rows, cols, entries.size());
  for (const triplet& e : entries) text += fmt::format("{} {} {}\n", e.row + 1, e.col + 1, e.value);
  return text;
}

/// Random entries in random order; `heavy` sends half of them to one row.
std::vector<triplet> random_entries(index_t rows, index_t cols, int count, bool heavy, bool lower) {
  std::mt19937_64 random(42);
  std::vector<triplet> entries;
  for (int k = 0; k < count; ++k) {
    auto i = static_cast<index_t>(random() % static_cast<std::uint64_t>(rows));
    auto j = static_cast<index_t>(random() % static_cast<std::uint64_t>(cols));
    if (heavy && k % 2 == 0) i = rows / 2;
    if (lower && i < j) std::swap(i, j);
    entries.push_back({i, j, static_cast<double>(random() >> 11) * 0x1p-53 + 1e-3});
  }
  return entries;
}

void expect_reads_as(const std::string& text, const plain_csr<double>& expected) {
  for (const int threads : {1, 2, 7}) EXPECT_EQ(parse(text, {.threads = threads}), expected) << threads << " threads";
}

TEST(MatrixMarketOrder, GeneralWithDuplicates) {
  const struct {
    index_t rows, cols;
    int count;
    bool heavy;
  } files[] = {{300, 200, 100000, false},
               {2000000, 2000000, 100000, false},
               {5000, 100000, 100000, true},
               {1, 5000, 50000, false}};
  for (const auto& f : files) {
    SCOPED_TRACE(fmt::format("{} x {}", f.rows, f.cols));
    const auto entries = random_entries(f.rows, f.cols, f.count, f.heavy, false);
    expect_reads_as(text_of("general", f.rows, f.cols, entries), reference(f.rows, f.cols, entries));
  }
}

TEST(MatrixMarketOrder, SymmetricAndSkew) {
  const auto entries = random_entries(1000, 1000, 60000, false, true);
  for (const double sign : {1.0, -1.0}) {
    std::vector<triplet> expanded;
    for (const triplet& e : entries) {
      expanded.push_back(e);
      if (e.row != e.col) expanded.push_back({e.col, e.row, sign * e.value});
    }
    expect_reads_as(text_of(sign > 0 ? "symmetric" : "skew-symmetric", 1000, 1000, entries),
                    reference(1000, 1000, expanded));
  }
}

TEST(MatrixMarketOrder, StrictNamesTheSecondOfADuplicatePair) {
  auto entries = random_entries(100000, 100000, 60000, false, false);
  const auto place = [](const triplet& e) { return std::pair(e.row, e.col); };
  std::ranges::sort(entries, {}, place);
  const auto same_place = [&](const triplet& x, const triplet& y) { return place(x) == place(y); };
  entries.erase(std::unique(entries.begin(), entries.end(), same_place), entries.end());
  std::swap(entries[10], entries[40000]);
  entries[50000] = entries[10];
  for (const int threads : {1, 7}) {
    expect_error(status::invalid_format,
                 fmt::format("line {}: entry ({}, {}) is there twice", 50003, entries[10].row + 1, entries[10].col + 1),
                 [&] { parse(text_of("general", 100000, 100000, entries), {.strict = true, .threads = threads}); });
  }
}

}  // namespace
}  // namespace tulle::test

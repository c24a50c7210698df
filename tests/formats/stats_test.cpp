// Statistics against a plain count of everything.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

double ratio(double a, double b) { return b == 0 ? 1 : a / b; }

std::int64_t sell_slots(const matrix& m, index_t sigma) {
  std::vector<std::int64_t> lengths;
  for (index_t r = 0; r < m.rows; ++r) lengths.push_back(m.length(r));
  for (index_t first = 0; first < m.rows; first += sigma) {
    std::sort(lengths.begin() + first, lengths.begin() + std::min(first + sigma, m.rows), std::greater<>());
  }
  std::int64_t slots = 0;
  for (index_t first = 0; first < m.rows; first += 32) {
    slots += 32 * *std::max_element(lengths.begin() + first, lengths.begin() + std::min(first + 32, m.rows));
  }
  return slots;
}

double block_fill(const matrix& m, index_t b) {
  const std::int64_t block_rows = (m.rows + b - 1) / b;
  const std::int64_t count = m.rows <= 65536 ? block_rows : std::min<std::int64_t>(block_rows, 4096);
  std::int64_t entries = 0;
  std::int64_t blocks = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t top = i * block_rows / count * b;
    std::set<std::pair<std::int64_t, index_t>> places;
    std::set<index_t> columns;
    for (std::int64_t r = top; r < std::min<std::int64_t>(top + b, m.rows); ++r) {
      for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        places.emplace(r, m.colind[k]);
        columns.insert(m.colind[k] / b);
      }
    }
    entries += static_cast<std::int64_t>(places.size());
    blocks += static_cast<std::int64_t>(columns.size());
  }
  return ratio(static_cast<double>(entries), static_cast<double>(blocks * b * b));
}

/// Sectors, and the range of columns, of the sampled warps.
std::pair<double, double> gathers(const matrix& m) {
  const std::int64_t warps = (m.nnz() + 31) / 32;
  const std::int64_t count = std::min<std::int64_t>(warps, 65536);
  std::int64_t sectors = 0;
  std::int64_t span = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * warps / count * 32;
    std::set<index_t> touched;
    for (std::int64_t k = first; k < std::min(first + 32, m.nnz()); ++k) touched.insert(m.colind[k]);
    span += *touched.rbegin() - *touched.begin() + 1;
    std::set<index_t> in_sectors;
    for (const index_t column : touched) in_sectors.insert(column / 4);
    sectors += static_cast<std::int64_t>(in_sectors.size());
  }
  if (count == 0) return {0, 0};
  return {static_cast<double>(sectors) / static_cast<double>(count),
          static_cast<double>(span) / static_cast<double>(count)};
}

index_t column_window(const matrix& m) {
  index_t window = 0;
  for (index_t first = 0; first < m.rows; first += 128) {
    const auto begin = m.colind.begin() + m.rowptr[first];
    const auto end = m.colind.begin() + m.rowptr[std::min(first + 128, m.rows)];
    if (begin == end) continue;
    const auto [low, high] = std::minmax_element(begin, end);
    window = std::max(window, *high - *low + 1);
  }
  return window;
}

void expect_statistics(const csr_stats& s, const matrix& m) {
  std::int64_t longest = 0;
  std::int64_t squares = 0;
  index_t empty = 0;
  index_t bandwidth = 0;
  for (index_t r = 0; r < m.rows; ++r) {
    longest = std::max(longest, m.length(r));
    squares += m.length(r) * m.length(r);
    empty += m.length(r) == 0;
    for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) bandwidth = std::max(bandwidth, std::abs(r - m.colind[k]));
  }
  const auto nnz = static_cast<double>(m.nnz());
  const double mean = m.rows == 0 ? 0 : nnz / m.rows;
  EXPECT_EQ(s.rows, m.rows);
  EXPECT_EQ(s.cols, m.cols);
  EXPECT_EQ(s.nnz, m.nnz());
  EXPECT_EQ(s.max, longest);
  EXPECT_EQ(s.empty_rows, empty);
  EXPECT_EQ(s.bandwidth, bandwidth);
  EXPECT_EQ(s.column_window, column_window(m));
  EXPECT_DOUBLE_EQ(s.mean, mean);
  EXPECT_DOUBLE_EQ(s.skew, ratio(static_cast<double>(longest), mean));
  EXPECT_DOUBLE_EQ(s.ell_padding, ratio(static_cast<double>(longest) * m.rows, nnz));
  EXPECT_DOUBLE_EQ(s.sell_padding, ratio(static_cast<double>(sell_slots(m, 32)), nnz));
  EXPECT_DOUBLE_EQ(s.sell_sorted_padding, ratio(static_cast<double>(sell_slots(m, 1024)), nnz));
  const auto [sectors, span] = gathers(m);
  EXPECT_DOUBLE_EQ(s.gather_sectors, sectors);
  EXPECT_DOUBLE_EQ(s.gather_span, span);
  for (index_t b = 2; b <= 8; ++b) EXPECT_DOUBLE_EQ(s.block_fill[b], block_fill(m, b)) << b;

  // The variance is a difference of two numbers of about E[length^2], each with a few roundings.
  const long double rows = std::max(m.rows, 1);
  const long double exact = (rows * squares - static_cast<long double>(nnz) * nnz) / (rows * rows);
  const long double bound = 8 * std::numeric_limits<double>::epsilon() * (squares / rows);
  EXPECT_LE(std::abs(static_cast<long double>(s.stddev) * s.stddev - exact), bound);
}

class statistics_of_battery : public on_battery {};
TULLE_ON_BATTERY(statistics_of_battery, "cpu1", "cpu2", "cpu5", "cuda");

TEST_P(statistics_of_battery, are_those_of_a_plain_count) {
  for_each_type(subject(), [&]<class T, class O>() {
    expect_statistics(statistics(ctx(), upload<T, O>(ctx(), subject()).view()), subject());
  });
}

class statistics_on_backend : public on_backend {};
TULLE_ON_BACKENDS(statistics_on_backend, "cpu1", "cpu2", "cpu5", "cuda");

TEST_P(statistics_on_backend, large_matrices_are_sampled_at_equal_distances) {
  const context host = context::cpu(2);
  for (const char* spec : {"gen:short:n=100000", "gen:uniform:n=70000,degree=40", "gen:stencil:n=42"}) {
    SCOPED_TRACE(spec);
    const matrix m{plain(generate<double>(host, spec))};
    expect_statistics(statistics(ctx(), m.on(ctx()).view()), m);
  }
}

TEST_P(statistics_on_backend, equal_rows_have_no_deviation) {
  const context host = context::cpu(1);
  const auto a = generate<float>(host, "gen:uniform:n=3001,degree=7");
  EXPECT_EQ(statistics(ctx(), clone(ctx(), a.view()).view()).stddev, 0);
}

/// Of all slices of 32 rows, none left out.
double diagonal_share(const matrix& m) {
  std::int64_t diagonals = 0, entries = 0;
  for (index_t first = 0; first + 32 <= m.rows; first += 32) {
    std::set<index_t> places;
    for (index_t r = first; r < first + 32; ++r) {
      for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) places.insert(m.colind[k] - r);
      entries += m.length(r);
    }
    diagonals += static_cast<std::int64_t>(places.size());
  }
  return (1 - static_cast<double>(diagonals) / static_cast<double>(entries)) * 32 / 31;
}

TEST(DiagonalShare, IsNearThatOfAllSlices) {
  const context host = context::cpu(1);
  constexpr double of_samples = 0.03;  // slices differ by no more
  for (const char* spec : {"gen:stencil:points=7,n=24", "gen:stencil:points=27,n=20", "gen:uniform:n=20000,degree=9",
                           "gen:uniform:n=300,degree=4"}) {
    SCOPED_TRACE(spec);
    const matrix m{plain(generate<double>(host, spec))};
    EXPECT_NEAR(statistics(host, m.on(host).view()).diagonal, diagonal_share(m), of_samples);
  }
}

TEST(DiagonalShare, LeavesOutRowsThatAreFarLonger) {
  const context host = context::cpu(1);
  constexpr index_t n = 20'000;
  matrix m;
  m.cols = n;
  for (index_t r = 0; r < n; ++r) {
    const bool is_full = r % 1000 == 0;  // one would be 20,000 diagonals more
    const index_t first = is_full ? 0 : std::max(r - 1, 0), end = is_full ? n : std::min(r + 2, n);
    std::vector<index_t> columns(static_cast<std::size_t>(end - first));
    std::iota(columns.begin(), columns.end(), first);
    m.add_row(columns);
  }
  m.values.assign(m.colind.size(), 1);
  EXPECT_NEAR(statistics(host, m.on(host).view()).diagonal, 1, 0.03);
}

}  // namespace
}  // namespace tulle::test

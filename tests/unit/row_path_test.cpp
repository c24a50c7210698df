// Sums of rows of CSR: the same bits by AVX2 and AVX-512, and what is measured of them.
#include "cpu/spmv/row_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tulle/tulle.hpp>
#include <vector>

#include "cpu/spmv/row_order.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/rows_by_length.hpp"

namespace tulle::test {
namespace {

using cpu::isa;

/// Rows of 0 to 70 entries, whose products have zeros of both signs, NaN and infinities among them.
template <class T, class V>
struct rows_of_all_lengths {
  static constexpr index_t rows = 71, cols = 97;
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<T> values;
  std::vector<V> x = std::vector<V>(cols);

  explicit rows_of_all_lengths(int special) {
    for (index_t row = 0; row < rows; ++row) {
      for (index_t k = 0; k < row; ++k) {
        colind.push_back((row * 31 + k * 7) % cols);
        values.push_back(static_cast<T>(std::sin(static_cast<double>(values.size()))));
      }
      rowptr.push_back(static_cast<std::int32_t>(values.size()));
    }
    for (index_t c = 0; c < cols; ++c) x[static_cast<std::size_t>(c)] = static_cast<V>(std::cos(c * 1.7));
    if (special == 1) std::fill(x.begin(), x.end(), V{-0.0});
    if (special == 2) x[3] = std::numeric_limits<V>::infinity(), x[50] = std::numeric_limits<V>::quiet_NaN();
  }
  std::vector<V> sums(cpu::row_path path) const {
    std::vector<V> y(rows, V{7});
    cpu::scaled<V> out{{1, 0}, y.data()};
    const csr_view<T, std::int32_t> a{rows, cols, rowptr.back(), rowptr.data(), colind.data(), values.data()};
    if (path == cpu::row_path::avx2_by_length) {
      cpu::multiply_rows_by_length(a, cpu::row_order(a.rowptr, 0, rows), 0, x.data(), out);
    } else {
      cpu::multiply_rows(path, a, 0, rows, x.data(), out);
    }
    return y;
  }
};

template <class T, class V>
void expect_same_bits(cpu::row_path other) {
  for (const int special : {0, 1, 2}) {
    const rows_of_all_lengths<T, V> a(special);
    const std::vector<V> one = a.sums(cpu::row_path::avx2), same = a.sums(other);
    for (std::size_t row = 0; row < one.size(); ++row) {
      if (std::isnan(one[row])) {
        EXPECT_TRUE(std::isnan(same[row])) << row;
        continue;
      }
      EXPECT_EQ(one[row], same[row]) << "row of " << row << " by " << name(other);
      EXPECT_EQ(std::signbit(one[row]), std::signbit(same[row])) << "row of " << row << " by " << name(other);
    }
  }
}
void expect_same_bits(cpu::row_path other) {
  expect_same_bits<double, double>(other);
  expect_same_bits<float, float>(other);
  expect_same_bits<float, double>(other);
}

TEST(RowPaths, GiveTheSameBits) {
  if (cpu::best_isa() == isa::plain) GTEST_SKIP() << "this processor has no AVX2";
  expect_same_bits(cpu::row_path::avx2_masked);
  expect_same_bits(cpu::row_path::avx2_by_length);
  if (cpu::best_isa() == isa::avx512) expect_same_bits(cpu::row_path::avx512);
}

/// So many entries that those of the next window are asked for ahead; from a row on that begins no window of all.
TEST(RowPaths, GiveTheSameBitsInLargeMatrices) {
  if (cpu::best_isa() == isa::plain) GTEST_SKIP() << "this processor has no AVX2";
  constexpr index_t rows = 260'000, cols = 1000, first = 300;
  std::vector<std::int32_t> rowptr{0};
  std::vector<index_t> colind;
  for (index_t row = 0; row < rows; ++row) {
    for (index_t k = 0; k < row * 7 % 13; ++k) colind.push_back((row * 31 + k * 7) % cols);
    rowptr.push_back(static_cast<std::int32_t>(colind.size()));
  }
  std::vector<double> values(colind.size()), x(cols), in_place(rows, 7), by_length(rows, 7);
  ASSERT_GE(values.size() * (sizeof(double) + sizeof(index_t)), std::size_t{16} << 20);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = std::sin(static_cast<double>(k));
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = std::cos(static_cast<double>(c));
  const csr_view<double, std::int32_t> a{rows, cols, rowptr.back(), rowptr.data(), colind.data(), values.data()};
  cpu::scaled<double> one{{1, 0}, in_place.data()}, other{{1, 0}, by_length.data()};
  cpu::multiply_rows(cpu::row_path::avx2, a, first, rows, x.data(), one);
  cpu::multiply_rows_by_length(a, cpu::row_order(a.rowptr, first, rows), first, x.data(), other);
  EXPECT_EQ(in_place, by_length);
}

TEST(RowPaths, AreOfThoseThatTheProcessorHas) {
  for (const double mean : {0.0, 0.5, 3.0, 20.0, 5000.0}) {
    for (const cpu::row_ends ends : {cpu::row_ends::foreseen, cpu::row_ends::not_many, cpu::row_ends::many}) {
      for (const scalar_type t : {scalar_type::f64, scalar_type::f32}) {
        for (const bool sorts : {false, true}) {
          const cpu::row_path chosen = cpu::fastest_row_path(t, mean, ends, sorts);
          if (cpu::best_isa() == isa::plain) {
            EXPECT_EQ(chosen, cpu::row_path::plain);
          }
          if (cpu::best_isa() != isa::avx512) {
            EXPECT_NE(chosen, cpu::row_path::avx512);
          }
          if (!sorts) {
            EXPECT_NE(chosen, cpu::row_path::avx2_by_length);
          }
          EXPECT_EQ(chosen, cpu::fastest_row_path(t, mean, ends, sorts)) << "once measured it stays";
        }
      }
      EXPECT_EQ(cpu::fastest_row_path(scalar_type::i32, mean, ends), cpu::path_of(cpu::best_isa()));
    }
  }
  EXPECT_FALSE(cpu::describe_row_paths().empty());
}

TEST(RowPaths, AreMeasuredApartWhereXIsFar) {
  for (const scalar_type t : {scalar_type::f64, scalar_type::f32}) {
    const cpu::row_path chosen = cpu::fastest_far_row_path(t);
    EXPECT_NE(chosen, cpu::row_path::avx2_by_length);
    EXPECT_EQ(chosen == cpu::row_path::plain, cpu::best_isa() == isa::plain);
    EXPECT_EQ(chosen, cpu::fastest_far_row_path(t)) << "once measured it stays";
  }
  EXPECT_EQ(cpu::fastest_far_row_path(scalar_type::i32), cpu::path_of(cpu::best_isa()));
}

TEST(XReach, IsFarWhereAMatrixStreamsAndXIsScatteredPastASecondLevelCache) {
  csr_stats s;
  s.cols = 1 << 19;
  s.gather_span = s.cols;
  s.gather_sectors = 31;
  constexpr std::size_t large = std::size_t{32} << 20;
  const gather_bounds rows = gathers_in_rows;
  EXPECT_TRUE(scatters_beside_stream(s, large, 1, 8, rows));
  EXPECT_TRUE(scatters_beside_stream(s, large, 3, 8, rows));
  EXPECT_FALSE(scatters_beside_stream(s, large, 4, 8, rows)) << "a thread's share stays in caches";
  EXPECT_TRUE(scatters_beside_stream(s, large, 4, 8, gathers_in_sell)) << "slices gather from less on";
  s.gather_sectors = 10;
  EXPECT_FALSE(scatters_beside_stream(s, large, 1, 8, rows)) << "entries of a row are side by side";
  s.gather_sectors = 31;
  s.cols = 100'000;
  EXPECT_FALSE(scatters_beside_stream(s, large, 1, 8, rows)) << "the second-level cache holds x";
  EXPECT_TRUE(scatters_beside_stream(s, large, 1, 8, gathers_in_packed)) << "but not beside the stream";
  s.gather_span = 100;
  EXPECT_FALSE(scatters_beside_stream(s, large, 1, 8, rows)) << "x is read around one place";
  s.gather_span = s.cols = 1 << 24;
  EXPECT_FALSE(scatters_beside_stream(s, large, 1, 8, rows)) << "x comes out of memory";
  EXPECT_TRUE(scatters_beside_stream(s, large, 1, 8, gathers_in_packed));
}

TEST(RowOrder, HoldsEveryRowOfAWindowOnceByLength) {
  const std::vector<int> lengths{0, 3, 1, 700, 3, 255, 2, 0, 300};
  std::vector<std::int32_t> rowptr{0};
  for (index_t row = 0; row < 2 * cpu::row_order::window + 77; ++row) {
    rowptr.push_back(rowptr.back() + lengths[static_cast<std::size_t>(row) % lengths.size()]);
  }
  constexpr index_t first = 5;
  const index_t last = static_cast<index_t>(rowptr.size()) - 1;
  const cpu::row_order order(rowptr.data(), first, last);
  ASSERT_EQ(order.windows(), 3U);
  for (std::size_t w = 0; w < order.windows(); ++w) {
    const index_t begin = first + static_cast<index_t>(w) * cpu::row_order::window;
    std::vector<bool> seen(static_cast<std::size_t>(std::min(cpu::row_order::window, last - begin)));
    const std::uint8_t* rows = order.rows(w);
    for (const auto* run = order.begin(w); run != order.end(w); rows += run->count, ++run) {
      for (int i = 0; i < run->count; ++i) {
        ASSERT_LT(rows[i], seen.size());
        EXPECT_FALSE(seen[rows[i]]);
        seen[rows[i]] = true;
        const int length = rowptr[begin + rows[i] + 1] - rowptr[begin + rows[i]];
        EXPECT_EQ(std::min(length, cpu::row_order::lengths - 1), run->length);
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(seen.size()));
  }
  EXPECT_EQ(cpu::row_order(rowptr.data(), 4, 4).windows(), 0U);
}

TEST(RowPaths, EndsAreForeseenWhereLengthsFollowEachOtherOrRowsAreFew) {
  const auto ends = [](const std::vector<std::int32_t>& rowptr, int threads = 1) {
    const csr_view<double, std::int32_t> a{
        static_cast<index_t>(rowptr.size()) - 1, 1, rowptr.back(), rowptr.data(), nullptr, nullptr};
    return cpu::row_ends_of(a, threads);
  };
  std::vector<std::int32_t> alike{0}, by_turns{0}, mixed{0}, one_long{0}, few{0, 1, 5, 5, 90}, few_but_long{0};
  std::mt19937 random(1);
  const auto one_of = [&](unsigned count) { return static_cast<std::int32_t>(random() % count); };
  for (int row = 0; row < 20'000; ++row) {
    alike.push_back(alike.back() + 3);
    by_turns.push_back(by_turns.back() + 1 + row % 3);
    mixed.push_back(mixed.back() + 1 + one_of(2));
    one_long.push_back(one_long.back() + (row == 77 ? 10'000 : 2));
  }
  for (int row = 0; row < 3000; ++row) few_but_long.push_back(few_but_long.back() + 30 + one_of(2));
  EXPECT_EQ(ends(alike), cpu::row_ends::foreseen);
  EXPECT_EQ(ends(by_turns), cpu::row_ends::foreseen);
  EXPECT_EQ(ends(mixed), cpu::row_ends::many);
  EXPECT_EQ(ends(mixed, 2), cpu::row_ends::many) << "10,000 rows each";
  EXPECT_EQ(ends(few_but_long), cpu::row_ends::not_many);
  EXPECT_EQ(ends(few_but_long, 8), cpu::row_ends::not_many);
  EXPECT_EQ(ends(mixed, 4), cpu::row_ends::foreseen) << "7,500 each are remembered";
  EXPECT_EQ(ends(one_long), cpu::row_ends::foreseen);
  EXPECT_EQ(ends(few), cpu::row_ends::foreseen);
  EXPECT_EQ(ends({0}), cpu::row_ends::foreseen);
}

}  // namespace
}  // namespace tulle::test

// The slices of `packed`: the kinds chosen at the edges of 8 and 16 bits, ragged slices, sorted windows, and every
// instruction set that this machine has. Numbers are small integers, so sums are exact in any order.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "cpu/spmv/packed_encode.hpp"
#include "cpu/spmv/packed_many.hpp"
#include "cpu/spmv/packed_multiply.hpp"
#include "support/plain_csr.hpp"

namespace tulle::cpu {
namespace {

struct rows_matrix : test::plain_csr<double, std::int32_t> {
  void add(const std::vector<index_t>& columns) {
    for (const index_t c : columns) {
      values.push_back(static_cast<double>(1 + (values.size() + 1) % 7));
      cols = std::max(cols, c + 1);
    }
    add_row(columns);
  }
};

struct packed_matrix {
  std::vector<std::uint32_t> words;
  std::vector<double> values;
  packed_part<double> part;

  packed_matrix(const rows_matrix& m, index_t sigma) {
    packed_encoder<double, std::int32_t> windows(m.view());
    std::int64_t slots = 8;  // to start on a cache line
    for (index_t row = 0; row < m.rows; row += sigma) slots += windows.encode(row, std::min(row + sigma, m.rows), words);
    words.resize(words.size() + packed_slack);
    values.resize(static_cast<std::size_t>(slots));
    part = {0, m.rows, words.data(), aligned_values(values.data())};
    EXPECT_TRUE(fill_values(m.view(), part));
  }

  /// Of the first slice.
  [[nodiscard]] std::set<run_kind> kinds() const {
    std::set<run_kind> found;
    const std::uint32_t* at = words.data();
    run_header run = run_header::of(*at++);
    if (run.permuted) at += packed_lanes;
    for (;; run = run_header::of(*at++)) {
      found.insert(run.kind);
      for (std::uint32_t i = 0; i < run.count; ++i) {
        at += position_words(run.kind, is_full(run.kind) ? packed_lanes : std::popcount(at[1]));
      }
      if (run.last) return found;
    }
  }
};

std::vector<isa> levels() {
  std::vector<isa> all{isa::plain};
  if (best_isa() != isa::plain) all.push_back(isa::avx2);
  if (best_isa() == isa::avx512) all.push_back(isa::avx512);
  return all;
}

/// y[j] = (j + 1) A x, both by rows or both by columns; `x` and `y` are one vector each.
template <int Width, bool ByRow>
void expect_many_right(isa level, const packed_part<double>& part, const std::vector<double>& x,
                       const std::vector<double>& y) {
  using vectors = std::conditional_t<ByRow, vectors_by_row<double, Width>, vectors_by_column<double, Width>>;
  const auto at = [](std::size_t size, std::size_t i, int j) { return ByRow ? i * Width + j : j * size + i; };
  std::vector<double> many(x.size() * Width), result(y.size() * Width, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (int j = 0; j < Width; ++j) many[at(x.size(), i, j)] = (j + 1) * x[i];
  }
  const many_output<double> out{
      {1, 0}, result.data(), ByRow ? Width : 1, ByRow ? 1 : static_cast<std::int64_t>(y.size())};
  multiply_packed_many<Width>(level, part, vectors{many.data(), ByRow ? Width : static_cast<std::int64_t>(x.size())},
                              out);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (int j = 0; j < Width; ++j) {
      ASSERT_EQ(result[at(y.size(), i, j)], (j + 1) * y[i]) << "row " << i << " of vector " << j << ", " << name(level);
    }
  }
}

/// x is NaN where no entry is.
void expect_right(const rows_matrix& m, const packed_matrix& packed) {
  std::vector<double> x(static_cast<std::size_t>(m.cols), std::numeric_limits<double>::quiet_NaN());
  for (const index_t c : m.colind) x[static_cast<std::size_t>(c)] = 1 + c % 5;
  for (const isa level : levels()) {
    std::vector<double> y(static_cast<std::size_t>(m.rows), std::numeric_limits<double>::quiet_NaN());
    scaled<double> out{{1, 0}, y.data()};
    multiply_packed(level, packed.part, x.data(), out);
    for (index_t row = 0; row < m.rows; ++row) {
      double sum = 0;
      for (auto k = m.rowptr[row]; k < m.rowptr[row + 1]; ++k) sum += m.values[k] * x[m.colind[k]];
      ASSERT_EQ(y[row], sum) << "row " << row << " of " << m.rows << ", " << name(level);
    }
    expect_many_right<16, true>(level, packed.part, x, y);
    expect_many_right<8, true>(level, packed.part, x, y);
    expect_many_right<1, true>(level, packed.part, x, y);
    expect_many_right<8, false>(level, packed.part, x, y);
    expect_many_right<2, false>(level, packed.part, x, y);
  }
}

TEST(Packed, HeadersComeBackWhole) {
  for (std::uint32_t kind = 0; kind < 8; ++kind) {
    const run_header h = run_header::of(run_header{static_cast<run_kind>(kind), true, kind % 2 == 0, run_header::most}.word());
    EXPECT_EQ(static_cast<std::uint32_t>(h.kind), kind);
    EXPECT_TRUE(h.last);
    EXPECT_EQ(h.permuted, kind % 2 == 0);
    EXPECT_EQ(h.count, run_header::most);
  }
}

TEST(Packed, OffsetsAreAsNarrowAsTheirRange) {
  using enum run_kind;
  const struct {
    std::uint32_t range;
    run_kind part, full;
  } edges[] = {{0, diagonal, full_diagonal}, {1, offsets8, full8},          {0xff, offsets8, full8},
               {0x100, offsets16, full16},   {0xffff, offsets16, full16},   {0x10000, offsets32, full32},
               {0x7fffffff, offsets32, full32}, {0xffffffff, offsets32, full32}};
  for (const auto& e : edges) {
    EXPECT_EQ(kind_for(e.range, 5), e.part) << e.range;
    EXPECT_EQ(kind_for(e.range, all_lanes), e.full) << e.range;
  }
  EXPECT_EQ(offset_words(offsets8, 5), 8u);
  EXPECT_EQ(offset_words(offsets16, 5), 16u);
  EXPECT_EQ(offset_words(offsets32, 5), 5u);
  EXPECT_EQ(position_words(diagonal, 5), 2u);
  EXPECT_EQ(position_words(full16, 32), 17u);
}

/// One column per row, stored twice: the diagonal, but in one row `range` further. Rows that are not strictly increasing
/// keep the slice from being split by diagonal.
TEST(Packed, SlicesAtTheEdgesOfEachWidth) {
  for (const index_t range : {1, 254, 255, 256, 65534, 65535, 65536, 100000}) {
    for (const index_t rows : {32, 31, 3}) {
      rows_matrix m;
      for (index_t row = 0; row < rows; ++row) {
        const index_t column = row + (row == 1 ? range : 0);
        m.add({column, column});
      }
      const packed_matrix packed(m, 1024);
      const std::uint32_t mask = rows == 32 ? all_lanes : (1u << rows) - 1;
      EXPECT_EQ(packed.kinds(), std::set{kind_for(static_cast<std::uint32_t>(range), mask)}) << range << ", " << rows;
      expect_right(m, packed);
    }
  }
}

TEST(Packed, StencilsAreDiagonalsWithTheirEndsCutOff) {
  rows_matrix m;
  constexpr index_t n = 100;
  for (index_t row = 0; row < n; ++row) {
    std::vector<index_t> columns;
    for (const index_t c : {row - 30, row - 1, row, row + 1, row + 30}) {
      if (c >= 0 && c < n) columns.push_back(c);
    }
    m.add(columns);
  }
  const packed_matrix packed(m, 1024);
  EXPECT_EQ(packed.kinds(), (std::set{run_kind::diagonal, run_kind::full_diagonal}));
  expect_right(m, packed);
}

TEST(Packed, RaggedSlicesAndSortedWindows) {
  std::mt19937 random(3);
  for (const index_t rows : {1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 200}) {
    for (const index_t sigma : {32, 64, 96, 1024}) {
      for (const index_t longest : {0, 1, 9, 70}) {
        rows_matrix m;
        for (index_t row = 0; row < rows; ++row) {
          std::vector<index_t> columns(random() % static_cast<unsigned>(longest + 1));
          for (index_t& c : columns) c = static_cast<index_t>(random() % 5000);
          if (row % 3 != 0) std::sort(columns.begin(), columns.end());
          m.add(columns);
        }
        expect_right(m, packed_matrix(m, sigma));
      }
    }
  }
}

TEST(Packed, ValuesOfAnotherPatternAreRefused) {
  rows_matrix m, shorter, longer;
  for (index_t row = 0; row < 40; ++row) {
    m.add({row, row + 3});
    shorter.add(row == 35 ? std::vector<index_t>{row} : std::vector<index_t>{row, row + 3});
    longer.add(row == 35 ? std::vector<index_t>{row, row + 1, row + 3} : std::vector<index_t>{row, row + 3});
  }
  const packed_matrix packed(m, 1024);
  EXPECT_TRUE(fill_values(m.view(), packed.part));
  EXPECT_FALSE(fill_values(shorter.view(), packed.part));
  EXPECT_FALSE(fill_values(longer.view(), packed.part));
}

}  // namespace
}  // namespace tulle::cpu

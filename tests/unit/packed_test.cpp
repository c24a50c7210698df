// The slices of `packed`: the kinds chosen at the edges of 8 and 16 bits, ragged slices, sorted windows, and every
// instruction set and storage of values that this machine has. Numbers are small integers, so sums are exact in any
// order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <tulle/core/buffer.hpp>
#include <vector>

#include "cpu/spmv/packed_encode.hpp"
#include "cpu/spmv/packed_multiply.hpp"
#include "support/plain_csr.hpp"

namespace tulle::cpu {
namespace {

using test::plain_csr;

struct rows_matrix : plain_csr<double, std::int32_t> {
  void add(const std::vector<index_t>& columns) {
    for (const index_t c : columns) {
      values.push_back(static_cast<double>(1 + (values.size() + 1) % 7));
      cols = std::max(cols, c + 1);
    }
    add_row(columns);
  }
};

/// Values stored as floats, bf16, in lists or by their high words hold as they are what the tests use.
enum class stored_as { whole, f32, bf16, list_of_7, list_of_40, by_slice, words, high };
constexpr stored_as storages[] = {stored_as::whole,      stored_as::f32,      stored_as::bf16,  stored_as::list_of_7,
                                  stored_as::list_of_40, stored_as::by_slice, stored_as::words, stored_as::high};
/// Of doubles alone.
bool are_wide(stored_as as) { return as == stored_as::by_slice || as == stored_as::words || as == stored_as::high; }

value_storage storage_of(stored_as as) {
  if (as == stored_as::whole || as == stored_as::by_slice) return value_storage::whole;
  if (as == stored_as::words || as == stored_as::high) return value_storage::words;
  if (as == stored_as::f32) return value_storage::f32;
  return as == stored_as::bf16 ? value_storage::bf16 : value_storage::listed;
}
template <scalar V>
std::vector<V> list_of(stored_as as) {
  std::vector<V> list;
  if (storage_of(as) != value_storage::listed) return list;
  for (int v = as == stored_as::list_of_7 ? 1 : -32; v < 8; ++v) list.push_back(v);
  return list;
}

/// Slices of one form and of several; halves that hold the values exactly, by two scales.
std::vector<row_form> forms_of(index_t rows) {
  const row_form half = f16_form_for(7);
  const row_form some[] = {f32_form, half, static_cast<row_form>(half + 1), whole_form};
  std::vector<row_form> forms;
  for (index_t row = 0; row < rows; ++row) forms.push_back(some[row < 64 ? row / 16 % 4 : row < 96 ? 1 : row % 7 % 4]);
  return forms;
}

template <scalar V>
struct packed_matrix {
  std::vector<std::uint32_t> words;
  packed_part part;
  value_writer<V> writer;
  std::vector<V> list;
  buffer<std::byte> values;
  packed_values<V> stored;
  std::int64_t longest;  // row that is stored

  packed_matrix(const rows_matrix& m, index_t sigma, stored_as as = stored_as::whole,
                std::int64_t most = std::numeric_limits<std::int64_t>::max())
      : writer(storage_of(as), list_of<V>(as)), list(list_of<V>(as)), longest(most) {
    const bool by_slice = as == stored_as::by_slice;
    const std::vector<row_form> forms = forms_of(m.rows);
    packed_encoder<std::int32_t> windows(m.rowptr.data(), m.colind.data(), sizeof(V), longest,
                                         by_slice ? forms.data() : nullptr);
    std::int64_t slots = 0;
    for (index_t row = 0; row < m.rows; row += sigma)
      slots += windows.encode(row, std::min(row + sigma, m.rows), words);
    words.resize(words.size() + packed_slack);
    const std::size_t unit = by_slice ? slice_alignment : writer.slot_bytes();
    const std::size_t low = (static_cast<std::size_t>(slots) * unit + packed_value_slack + 63) / 64 * 64;
    values = buffer<std::byte>(context::cpu(1), are_wide(as) ? 2 * low : low);
    const int listed = static_cast<int>(list.size());
    list.resize(most_listed_values);
    stored = {storage_of(as), values.data(), list.data(), listed, by_slice, static_cast<std::ptrdiff_t>(low)};
    writer = value_writer<V>(storage_of(as), list_of<V>(as), stored.low);
    if (as == stored_as::high) stored.storage = value_storage::high;
    part = {0, m.rows, words.data(), 0};
    EXPECT_TRUE(fill(m));
  }

  [[nodiscard]] bool fill(const rows_matrix& m) {
    const plain_csr<V, std::int32_t> of_v{m.rows, m.cols, m.rowptr, m.colind, {m.values.begin(), m.values.end()}};
    return fill_values(of_v.view(), part, writer, stored.by_slice, stored.alignment(), values.data());
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

/// `by_loads`: numbers of x one by one where AVX-512 has gathers.
template <scalar V>
std::vector<V> product(isa level, bool by_loads, index_t rows, const packed_matrix<V>& packed,
                       const std::vector<long_row<V>>& apart, const std::vector<V>& x) {
  packed_values<V> stored = packed.stored;
  stored.x_by_loads = by_loads;
  std::vector<V> y(static_cast<std::size_t>(rows), std::numeric_limits<V>::quiet_NaN());
  scaled<V> out{{1, 0}, y.data()};
  multiply_packed(level, packed.part, stored, std::span<const long_row<V>>(apart), std::span<const V>(x), out);
  return y;
}

/// x is NaN where no entry is.
template <scalar V>
void expect_right(const rows_matrix& m, const packed_matrix<V>& packed) {
  SCOPED_TRACE(packed.stored.by_slice ? "by slice" : name(packed.stored.storage));
  std::vector<V> x(static_cast<std::size_t>(m.cols), std::numeric_limits<V>::quiet_NaN());
  for (const index_t c : m.colind) x[static_cast<std::size_t>(c)] = static_cast<V>(1 + c % 5);
  std::vector<double> sums;
  std::vector<long_row<V>> apart;
  for (index_t row = 0; row < m.rows; ++row) {
    double sum = 0;
    for (auto k = m.rowptr[row]; k < m.rowptr[row + 1]; ++k) sum += m.values[k] * x[m.colind[k]];
    sums.push_back(sum);
    if (m.rowptr[row + 1] - m.rowptr[row] > packed.longest) apart.push_back({row, static_cast<V>(sum)});
  }
  for (const isa level : levels()) {
    for (const bool by_loads : {false, true}) {
      const std::vector<V> y = product<V>(level, by_loads, m.rows, packed, apart, x);
      for (std::size_t row = 0; row < sums.size(); ++row) {
        ASSERT_EQ(y[row], sums[row]) << "row " << row << " of " << m.rows << ", " << name(level) << " " << by_loads;
      }
    }
  }
}
/// The same with bits in the low words, of either sign.
rows_matrix with_low_words(rows_matrix m) {
  for (double& v : m.values) v += std::fmod(v, 2) == 0 ? v * 0x1p-30 : v * -0x1p-30;
  return m;
}
void expect_right(const rows_matrix& m, index_t sigma) {
  for (const stored_as as : storages) {
    expect_right(m, packed_matrix<double>(m, sigma, as));
    if (as == stored_as::words) expect_right(with_low_words(m), packed_matrix<double>(with_low_words(m), sigma, as));
    if (!are_wide(as)) expect_right(m, packed_matrix<float>(m, sigma, as));
  }
}

template <scalar V>
void expect_same_bits_by_loads() {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<double>(random()) / 0x1p31 - 1; };
  rows_matrix m;
  for (index_t row = 0; row < 200; ++row) {
    std::set<index_t> columns;
    while (columns.size() < 3 + row % 96 / 32) columns.insert(static_cast<index_t>(random() % 300));
    m.add({columns.begin(), columns.end()});
  }
  for (double& v : m.values) v = number();
  std::vector<V> x(static_cast<std::size_t>(m.cols));
  for (V& v : x) v = static_cast<V>(number());
  const packed_matrix<V> packed(m, 32);
  ASSERT_TRUE(std::ranges::any_of(packed.kinds(), is_full));
  for (const isa level : levels()) {
    EXPECT_EQ(product<V>(level, true, m.rows, packed, {}, x), product<V>(level, false, m.rows, packed, {}, x))
        << name(level);
  }
}

TEST(Packed, SingleLoadsGiveTheBitsOfGathers) {
  expect_same_bits_by_loads<double>();
  expect_same_bits_by_loads<float>();
}

TEST(Packed, HeadersComeBackWhole) {
  for (std::uint32_t kind = 0; kind < 8; ++kind) {
    const run_header h =
        run_header::of(run_header{static_cast<run_kind>(kind), true, kind % 2 == 0, run_header::most, most_f16_form}.word());
    EXPECT_EQ(static_cast<std::uint32_t>(h.kind), kind);
    EXPECT_TRUE(h.last);
    EXPECT_EQ(h.permuted, kind % 2 == 0);
    EXPECT_EQ(h.count, run_header::most);
    EXPECT_EQ(h.form, most_f16_form);
  }
}

TEST(Packed, OffsetsAreAsNarrowAsTheirRange) {
  using enum run_kind;
  const struct {
    std::uint32_t range;
    run_kind part, full;
  } edges[] = {{0, diagonal, full_diagonal},    {1, offsets8, full8},           {0xff, offsets8, full8},
               {0x100, offsets16, full16},      {0xffff, offsets16, full16},    {0x10000, offsets32, full32},
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

/// One column per row, stored twice: the diagonal, but in one row `range` further. Rows that are not strictly
/// increasing keep the slice from being split by diagonal.
TEST(Packed, SlicesAtTheEdgesOfEachWidth) {
  for (const index_t range : {1, 254, 255, 256, 65534, 65535, 65536, 100000}) {
    for (const index_t rows : {32, 31, 3}) {
      rows_matrix m;
      for (index_t row = 0; row < rows; ++row) {
        const index_t column = row + (row == 1 ? range : 0);
        m.add({column, column});
      }
      const packed_matrix<double> packed(m, 1024);
      const std::uint32_t mask = rows == 32 ? all_lanes : (1u << rows) - 1;
      EXPECT_EQ(packed.kinds(), std::set{kind_for(static_cast<std::uint32_t>(range), mask)}) << range << ", " << rows;
      expect_right(m, 1024);
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
  const packed_matrix<double> packed(m, 1024);
  EXPECT_EQ(packed.kinds(), (std::set{run_kind::diagonal, run_kind::full_diagonal}));
  expect_right(m, 1024);
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
        expect_right(m, sigma);
      }
    }
  }
}

TEST(Packed, LongRowsAreNamedAndTheirSumsTakenFromElsewhere) {
  std::mt19937 random(5);
  for (const index_t rows : {1, 33, 64, 130}) {
    for (const index_t sigma : {32, 96, 1024}) {
      for (const bool along : {false, true}) {
        rows_matrix m;
        for (index_t row = 0; row < rows; ++row) {
          const bool is_long = row % 40 == 7 || row == rows - 1;
          std::vector<index_t> columns(is_long ? 90 : along ? 3 : random() % 6);
          for (std::size_t i = 0; i < columns.size(); ++i) {
            columns[i] = along ? row + static_cast<index_t>(4 * i) : static_cast<index_t>(random() % 3000);
          }
          m.add(columns);
        }
        for (const std::int64_t longest : {2, 50}) {
          expect_right(m, packed_matrix<double>(m, sigma, stored_as::whole, longest));
          expect_right(m, packed_matrix<float>(m, sigma, stored_as::whole, longest));
        }
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
  packed_matrix<double> packed(m, 1024);
  EXPECT_TRUE(packed.fill(m));
  EXPECT_FALSE(packed.fill(shorter));
  EXPECT_FALSE(packed.fill(longer));
}

}  // namespace
}  // namespace tulle::cpu

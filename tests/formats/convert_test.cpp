// Every conversion against a plain formulation of its format, and back; exact, on every backend.
#include <algorithm>
#include <map>
#include <numeric>

#include "support/on_battery.hpp"

namespace tulle::test {
namespace {

class converting : public on_battery {};
TULLE_ON_BATTERY(converting, "cpu1", "cpu2", "cpu5", "cuda");

std::vector<index_t> row_of_entries(const plain_csr<>& m) {
  std::vector<index_t> rows;
  for (index_t r = 0; r < m.rows; ++r) rows.insert(rows.end(), static_cast<std::size_t>(m.length(r)), r);
  return rows;
}

/// The same pattern with other numbers.
matrix with_other_values(matrix m) {
  for (std::size_t k = 0; k < m.values.size(); ++k) m.values[k] = static_cast<double>(k % 500) + 2000;
  return m;
}

TEST_P(converting, clone_copies_and_offsets_change_width) {
  for_each_type(subject(), [&]<class T, class O>() {
    const csr<T, O> here = upload<T, O>(ctx(), subject());
    expect_csr(ctx(), clone(ctx(), here.view()), subject());
    expect_csr(ctx(), with_offsets<std::int32_t>(ctx(), here.view()), subject());
    expect_csr(ctx(), with_offsets<std::int64_t>(ctx(), here.view()), subject());
  });
}

TEST_P(converting, coo_holds_every_entry_in_order_and_comes_back) {
  const matrix& m = subject();
  for_each_type(m, [&]<class T, class O>() {
    const coo<T> c = to_coo(ctx(), upload<T, O>(ctx(), m).view());
    EXPECT_EQ(c.rows, m.rows);
    EXPECT_EQ(c.cols, m.cols);
    EXPECT_TRUE(holds(ctx(), c.rowind, row_of_entries(m)));
    EXPECT_TRUE(holds(ctx(), c.colind, m.colind));
    EXPECT_TRUE(holds(ctx(), c.values, m.values));
    expect_csr(ctx(), to_csr<O>(ctx(), c.view()), m);
  });
}

/// By column, then by row: every row comes in order of its columns, repeats in storage order.
TEST_P(converting, coo_in_any_order_becomes_csr_stably) {
  const matrix& m = subject();
  const plain_csr<> by_column = transposed(m), want = sorted(m);
  for_each_type(m, [&]<class T, class O>() {
    const coo<T> c{m.rows, m.cols, to_buffer(ctx(), by_column.colind), to_buffer(ctx(), row_of_entries(by_column)),
                   to_buffer(ctx(), values_as<T>(by_column.values))};
    expect_csr(ctx(), to_csr<O>(ctx(), c.view()), want);
  });
}

TEST_P(converting, csc_is_sorted_by_row_and_comes_back) {
  const matrix& m = subject();
  const plain_csr<> want = transposed(m);
  for_each_type(m, [&]<class T, class O>() {
    csc<T, O> c = to_csc(ctx(), upload<T, O>(ctx(), m).view());
    EXPECT_EQ(c.rows, m.rows);
    EXPECT_EQ(c.cols, m.cols);
    const csr<T, O> back = to_csr(ctx(), c.view());
    expect_csr(ctx(), transpose(std::move(c)), want);
    EXPECT_EQ(back.rows, m.rows);
    EXPECT_TRUE(holds(ctx(), back.rowptr, m.rowptr));
    expect_csr(ctx(), transpose(to_csc(ctx(), back.view())), want);
  });
}

TEST_P(converting, ell_has_every_slot_in_its_place_and_comes_back) {
  const matrix& m = subject();
  std::int64_t width = 0;
  for (index_t r = 0; r < m.rows; ++r) width = std::max(width, m.length(r));
  const auto slots = static_cast<std::size_t>(width * m.rows);
  const matrix other = with_other_values(m);
  std::vector<index_t> colind(slots, -1);
  std::vector<double> values(slots, 0), other_values(slots, 0);
  for (index_t r = 0; r < m.rows; ++r) {
    for (std::int64_t s = 0; s < m.length(r); ++s) {
      colind[s * m.rows + r] = m.colind[m.rowptr[r] + s];
      values[s * m.rows + r] = m.values[m.rowptr[r] + s];
      other_values[s * m.rows + r] = other.values[m.rowptr[r] + s];
    }
  }
  for_each_type(m, [&]<class T, class O>() {
    ell<T> e = to_ell(ctx(), upload<T, O>(ctx(), m).view());
    EXPECT_EQ(e.width, width);
    EXPECT_EQ(e.nnz, m.nnz());
    EXPECT_TRUE(holds(ctx(), e.colind, colind));
    EXPECT_TRUE(holds(ctx(), e.values, values));
    expect_csr(ctx(), to_csr<O>(ctx(), e.view()), m);
    update_values(ctx(), upload<T, O>(ctx(), other).view(), e);
    EXPECT_TRUE(holds(ctx(), e.colind, colind));
    EXPECT_TRUE(holds(ctx(), e.values, other_values));
  });
}

/// SELL in plain vectors.
struct plain_sell {
  std::vector<index_t> perm;
  std::vector<std::int64_t> sliceptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;
};

plain_sell make_plain_sell(const matrix& m, index_t sigma) {
  plain_sell out;
  const index_t slices = (m.rows + 31) / 32;
  std::vector<index_t> perm(static_cast<std::size_t>(slices) * 32, -1);
  std::iota(perm.begin(), perm.begin() + m.rows, 0);
  const std::vector<index_t> in_place = perm;
  for (index_t first = 0; first < m.rows; first += sigma) {
    std::stable_sort(perm.begin() + first, perm.begin() + std::min(first + sigma, m.rows),
                     [&](index_t i, index_t j) { return m.length(i) > m.length(j); });
  }
  for (index_t slice = 0; slice < slices; ++slice) {
    std::int64_t width = 0;
    const auto row = [&](int lane) { return perm[slice * 32 + lane]; };
    for (int l = 0; l < 32; ++l) width = std::max(width, row(l) < 0 ? 0 : m.length(row(l)));
    for (std::int64_t s = 0; s < width; ++s) {
      for (int l = 0; l < 32; ++l) {
        const bool used = row(l) >= 0 && s < m.length(row(l));
        out.colind.push_back(used ? m.colind[m.rowptr[row(l)] + s] : -1);
        out.values.push_back(used ? m.values[m.rowptr[row(l)] + s] : 0);
      }
    }
    out.sliceptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  }
  if (perm != in_place) out.perm = perm;
  return out;
}

TEST_P(converting, sell_sorts_windows_and_comes_back_in_order) {
  const matrix& m = subject();
  const matrix other = with_other_values(m);
  for (const index_t sigma : {1, 32, 64, 1024}) {
    SCOPED_TRACE(sigma);
    const plain_sell want = make_plain_sell(m, sigma);
    const plain_sell want_other = make_plain_sell(other, sigma);
    for_each_type(m, [&]<class T, class O>() {
      sell<T> s = to_sell(ctx(), upload<T, O>(ctx(), m).view(), sigma);
      EXPECT_EQ(s.nnz, m.nnz());
      EXPECT_EQ(s.slices, (m.rows + 31) / 32);
      EXPECT_TRUE(holds(ctx(), s.perm, want.perm));
      EXPECT_TRUE(holds(ctx(), s.sliceptr, want.sliceptr));
      EXPECT_TRUE(holds(ctx(), s.colind, want.colind));
      EXPECT_TRUE(holds(ctx(), s.values, want.values));
      expect_csr(ctx(), to_csr<O>(ctx(), s.view()), m);
      update_values(ctx(), upload<T, O>(ctx(), other).view(), s);
      EXPECT_TRUE(holds(ctx(), s.colind, want.colind));
      EXPECT_TRUE(holds(ctx(), s.values, want_other.values));
    });
  }
}

/// BSR in plain vectors.
struct plain_bsr {
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;
  std::vector<std::uint64_t> mask;  // empty when every block is full
};

plain_bsr make_plain_bsr(const matrix& m, index_t b) {
  plain_bsr out;
  const std::size_t places = static_cast<std::size_t>(b) * static_cast<std::size_t>(b);
  const std::uint64_t full = ~std::uint64_t{0} >> (64 - places);
  bool all_full = true;
  for (index_t top = 0; top < m.rows; top += b) {
    std::map<index_t, std::pair<std::uint64_t, std::vector<double>>> blocks;
    for (index_t r = top; r < std::min(top + b, m.rows); ++r) {
      for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        auto& [mask, values] = blocks[m.colind[k] / b];
        values.resize(places, 0.0);
        const int place = (r - top) * b + m.colind[k] % b;
        values[place] = (mask >> place & 1) != 0 ? values[place] + m.values[k] : m.values[k];
        mask |= std::uint64_t{1} << place;
      }
    }
    for (const auto& [column, block] : blocks) {
      out.colind.push_back(column);
      out.mask.push_back(block.first);
      out.values.insert(out.values.end(), block.second.begin(), block.second.end());
      all_full = all_full && block.first == full;
    }
    out.rowptr.push_back(static_cast<std::int64_t>(out.colind.size()));
  }
  if (all_full) out.mask.clear();
  return out;
}

TEST_P(converting, bsr_has_every_place_and_comes_back_sorted) {
  const matrix& m = subject();
  const matrix other = with_other_values(m);
  const plain_csr<> sums = summed(m);
  for (index_t b = 2; b <= 8; ++b) {
    SCOPED_TRACE(b);
    const plain_bsr want = make_plain_bsr(m, b);
    const plain_bsr want_other = make_plain_bsr(other, b);
    for_each_type(m, [&]<class T, class O>() {
      bsr<T, O> s = to_bsr(ctx(), upload<T, O>(ctx(), m).view(), b);
      EXPECT_EQ(s.nnz, sums.nnz());
      EXPECT_EQ(s.block, b);
      EXPECT_EQ(s.block_rows, (m.rows + b - 1) / b);
      EXPECT_TRUE(holds(ctx(), s.rowptr, want.rowptr));
      EXPECT_TRUE(holds(ctx(), s.colind, want.colind));
      EXPECT_TRUE(holds(ctx(), s.mask, want.mask));
      EXPECT_TRUE(holds(ctx(), s.values, want.values));
      expect_csr(ctx(), to_csr(ctx(), s.view()), sums);
      update_values(ctx(), upload<T, O>(ctx(), other).view(), s);
      EXPECT_TRUE(holds(ctx(), s.mask, want.mask));
      EXPECT_TRUE(holds(ctx(), s.values, want_other.values));
    });
  }
}

}  // namespace
}  // namespace tulle::test

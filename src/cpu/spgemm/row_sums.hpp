// The values of C's rows at known columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cpu/spgemm/blocked_rows.hpp"
#include "cpu/spgemm/hash_table.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/shifted_sums.hpp"
#include "cpu/spgemm/spread_rows.hpp"
#include "cpu/spgemm/window.hpp"

namespace tulle::cpu {

/// Rows that have the same columns and whose sums are made together, so that an entry of B is read once for all.
inline constexpr index_t most_together = 4;

/// One thread's sums for them.
struct together_layout {
  static constexpr index_t widest = 1 << 15;
  static constexpr std::size_t apart = 128;  // four rows, no two a multiple of 4 KiB apart: loads would wait for stores

  std::size_t stride;  // from one row's sums to the next row's

  explicit together_layout(index_t cols)
      : stride((static_cast<std::size_t>(std::min(cols, widest)) + 7 + 511) / 512 * 512 + apart) {}
  [[nodiscard]] std::size_t bytes(std::size_t value_size) const { return most_together * stride * value_size; }
};

/// What one thread adds with.
template <scalar T>
struct sum_space {
  window<T> wide;
  hash_table<T> table;
  sum_of<T>* together = nullptr;  // of most_together rows; none where there are no such rows
};

/// Adds the products of rows of C in A's order.
template <scalar T, offset O>
struct row_sums {
  const row_product<T, O>& p;
  const blocked_rows& blocks;    // of B, for AVX-512; may be empty
  const spread_rows<T>& spread;  // of B, for AVX2; may be empty
  sum_space<T> space;
  const row_kind* kinds;
  const std::int64_t* offsets;  // of C's rows
  std::byte* places;            // for those of the alike kinds
  isa set;

  /// Rows begin .. end - 1. `colind` and `values` are C's.
  void add(index_t begin, index_t end, const index_t* colind, T* values) const {
    const bool one_by_one = !has_blocks() && p.b.cols <= widest_window;
    std::optional<known_places> known;  // made where a row needs it
    for (index_t i = begin, rows; i < end; i += rows) {
      rows = 1;
      const std::int64_t at = offsets[i], n = offsets[i + 1] - at;
      if (n == 0) continue;
      if (const index_t shifted = rows_shifted(i, end); shifted >= least_shifted || kinds[i] >= row_kind::alike) {
        rows = shifted;
        add_shifted(i, rows, colind + at, n, known, values + at);
      } else if (kinds[i] == row_kind::single) {
        add_single(i, values + at);
      } else if (one_by_one) {
        p.add_to(i, space.wide.sums);
        space.wide.take(0, colind + at, n, values + at);
      } else {
        const column_span span{colind[at], colind[at + n - 1]};
        rows = span.size() <= together_layout::widest ? rows_together(i, end) : 1;
        rows > 1 ? add_together(i, rows, colind + at, n, values + at) : add_row(i, span, colind + at, n, values + at);
      }
    }
  }

 private:
  [[nodiscard]] bool has_blocks() const { return !blocks.empty() || !spread.empty(); }

  /// Those of the alike kinds that were met.
  struct known_places {
    std::byte* free;  // memory for others
    row_places of[most_alike] = {};
  };

  /// Row i and those after it that are it, shifted. 1 where row i is such a row itself: others before it were too few.
  [[nodiscard]] index_t rows_shifted(index_t i, index_t end) const {
    index_t rows = 1;
    if (kinds[i] == row_kind::shifted) return rows;
    while (i + rows < end && kinds[i + rows] == row_kind::shifted) ++rows;
    return rows;
  }
  [[gnu::noinline]] void add_shifted(index_t i, index_t rows, const index_t* colind, std::int64_t n,
                                     std::optional<known_places>& known, T* values) const {
    if (kinds[i] < row_kind::alike) {
      alignas(8) std::byte memory[row_places::bytes(most_shifted_products)];
      const row_places here(p, set, i, colind, n, memory);
      return shifted_sums<T, O>(p, here, i).add(set, rows, values);
    }
    if (!known) known.emplace(known_places{places});
    row_places& here = known->of[alike_number(kinds[i])];
    if (here.empty()) {
      here = row_places(p, set, i, colind, n, known->free);
      known->free += row_places::bytes(p.products(i));
    }
    shifted_sums<T, O>(p, here, i).add(set, rows, values);
  }
  [[nodiscard]] index_t rows_together(index_t i, index_t end) const {
    if (space.together == nullptr) return 1;
    const index_t most = std::min(end - i, most_together);
    index_t rows = 1;
    while (rows < most && kinds[i + rows] == row_kind::repeat) ++rows;
    return rows;
  }

  void add_single(index_t i, T* values) const {
    p.for_each_product(i, [&](index_t, sum_of<T> value) { *values++ = static_cast<T>(sum_of<T>{0} + value); });
  }

  template <int Rows>
  void add_blocks([[maybe_unused]] index_t i, [[maybe_unused]] index_t base, [[maybe_unused]] sum_of<T>* sums,
                  [[maybe_unused]] std::int64_t stride) const {
#if TULLE_X86
    if (!spread.empty()) return add_spread_avx2<Rows>(p, spread, i, base, sums, stride);
    add_blocks_avx512<Rows>(p, blocks, i, base, sums, stride);
#endif
  }

  void add_together([[maybe_unused]] index_t i, index_t rows, const index_t* colind, std::int64_t n, T* values) const {
    const index_t base = colind[0] & ~7;
    const auto stride = static_cast<std::int64_t>(together_layout(p.b.cols).stride);
    if (rows == 2) add_blocks<2>(i, base, space.together, stride);
    if (rows == 3) add_blocks<3>(i, base, space.together, stride);
    if (rows == 4) add_blocks<4>(i, base, space.together, stride);
    static_assert(most_together == 4);
    for (index_t row = 0; row < rows; ++row) {
      window<T>{space.together + row * stride}.take(base, colind, n, values + row * n);
    }
  }

  void add_row(index_t i, column_span span, const index_t* colind, std::int64_t n, T* values) const {
    if (has_blocks() && span.size() <= widest_window) {
      const index_t base = span.first & ~7;
      add_blocks<1>(i, base, space.wide.sums, 0);
      return space.wide.take(base, colind, n, values);
    }
    if (span.size() > widest_window && kinds[i] != row_kind::wide) return space.table.numeric(p, i, colind, n, values);
    p.for_each_window(i, span, [&](index_t base, index_t last, auto for_each) {
      for_each([&](index_t at, O l, sum_of<T> factor) { space.wide.sums[at] += p.times_b(factor, l); });
      const std::int64_t here = std::upper_bound(colind, colind + n, last) - colind;
      space.wide.take(base, colind, here, values);
      colind += here;
      values += here;
      n -= here;
    });
  }
};

}  // namespace tulle::cpu

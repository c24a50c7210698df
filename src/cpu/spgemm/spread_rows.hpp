// The rows of B as aligned blocks of 4 columns, 0 where they have no entry, so that AVX2 adds 4 neighbours at a time
// and reads one index for them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <tulle/core/buffer.hpp>

#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/row_product.hpp"

namespace tulle::cpu {

/// Row r: blocks offsets[r] .. offsets[r + 1] - 1, by column.
template <scalar T>
struct spread_rows {
  buffer<std::int64_t> offsets;  // rows + 1; none: not made
  buffer<index_t> indices;       // columns 4 index .. 4 index + 3
  buffer<T> values;              // 4 a block; `read` writes them

  /// Of B; none where blocks would hold fewer than `least` entries on average.
  template <offset O>
  static spread_rows of(const context& ctx, isa set, csr_view<T, O> b, double least) {
    spread_rows made{column_group_offsets<2>(ctx, set, b, least), {}, {}};
    if (made.empty()) return made;
    const auto blocks = static_cast<std::size_t>(made.offsets.data()[b.rows]);
    made.indices = buffer<index_t>(ctx, blocks);
    made.values = buffer<T>(ctx, 4 * blocks);
    return made;
  }
  [[nodiscard]] bool empty() const { return offsets.empty(); }
  [[nodiscard]] std::size_t bytes() const { return offsets.bytes() + indices.bytes() + values.bytes(); }

  /// The present values.
  template <offset O>
  void read(const context& ctx, csr_view<T, O> b) {
    if (empty()) return;
    for_rows_of_b(ctx, b, [&](index_t begin, index_t end) {
      index_t* const to_index = indices.data();
      T* const to = values.data();
      const std::int64_t first = offsets.data()[begin], last = offsets.data()[end];
      std::fill(to + 4 * first, to + 4 * last, T{0});
      for (index_t r = begin; r < end; ++r) {
        std::int64_t at = offsets.data()[r] - 1;
        index_t before = -1;
        for (O l = b.rowptr[r]; l < b.rowptr[r + 1]; ++l) {  // no branch: where blocks end is not predictable
          const index_t index = b.colind[l] / 4;
          at += index != before ? 1 : 0;
          before = to_index[at] = index;
          to[4 * at + b.colind[l] % 4] = b.values[l];
        }
      }
    });
  }
};

#if TULLE_X86
/// Adds the products of rows i .. i + Rows - 1, which have the same columns, to the sums of the columns from `base` on,
/// a multiple of 4. The sums of the next row lie `stride` further. Where B has no entry 0 is added, which changes no
/// sum, as one that began as 0 is never -0; unless a factor is infinite or no number.
template <int Rows, scalar T, offset O>
[[TULLE_AVX2, gnu::noinline]] void add_spread_avx2(const row_product<T, O>& p, const spread_rows<T>& b, index_t i,
                                                   index_t base, sum_of<T>* sums, std::int64_t stride) {
  using sum = sum_of<T>;
  typedef sum lanes __attribute__((vector_size(4 * sizeof(sum))));
  const index_t* const indices = b.indices.data();
  const T* const values = b.values.data();
  const O begin = p.a.rowptr[i], end = p.a.rowptr[i + 1];
  for (O k = begin; k < end; ++k) {
    const index_t r = p.a.colind[k];
    sum scale[Rows];
    bool finite = true;
    for (int row = 0; row < Rows; ++row) {
      scale[row] = p.scale(k + row * (end - begin));
      if constexpr (std::floating_point<sum>) finite = finite && std::isfinite(scale[row]);
    }
    if (!finite) {
      for (O l = p.b.rowptr[r]; l < p.b.rowptr[r + 1]; ++l) {
        for (int row = 0; row < Rows; ++row) sums[p.b.colind[l] - base + row * stride] += p.times_b(scale[row], l);
      }
      continue;
    }
    for (std::int64_t at = b.offsets.data()[r], last = b.offsets.data()[r + 1]; at != last; ++at) {
      sum* const to = sums + (4 * std::int64_t{indices[at]} - base);
      lanes factors, added;
      std::memcpy(&factors, values + 4 * at, sizeof(factors));
      for (int row = 0; row < Rows; ++row) {
        std::memcpy(&added, to + row * stride, sizeof(added));
        added += scale[row] * factors;
        std::memcpy(to + row * stride, &added, sizeof(added));
      }
    }
  }
}
#endif

}  // namespace tulle::cpu

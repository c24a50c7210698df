// The rows of B as blocks of 8 columns, so that neighbours are added by one vector instruction. Blocks are aligned: a
// vector of sums that is loaded is one that was stored as a whole, so that the load need not wait for the cache.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// Row r: blocks offsets[r] .. offsets[r + 1] - 1, by column.
struct blocked_rows {
  struct block {
    index_t index;        // columns 8 index .. 8 index + 7
    std::uint32_t place;  // lower 8 bits: those that are in the row; upper 24: where in the row they begin
  };
  static constexpr std::int64_t longest_row = (1 << 24) - 1;

  buffer<std::int64_t> offsets;  // rows + 1; none: not made
  buffer<block> blocks;

  [[nodiscard]] bool empty() const { return offsets.empty(); }
  [[nodiscard]] std::size_t bytes() const { return offsets.bytes() + blocks.bytes(); }

#if TULLE_X86
  /// Blocks of B, for AVX-512; none where they would hold fewer than `least` entries on average, or rows are too long.
  template <scalar T, offset O>
  static blocked_rows of(const context& ctx, csr_view<T, O> b, double least) {
    if (!short_rows(b)) return {};
    blocked_rows made{column_group_offsets<3>(ctx, isa::avx512, b, least), {}};
    if (made.empty()) return made;
    const std::int64_t* offsets = made.offsets.data();
    made.blocks = buffer<block>(ctx, static_cast<std::size_t>(offsets[b.rows]));
    block* blocks = made.blocks.data();
    for_rows_of_b(ctx, b, [&](index_t begin, index_t end) { collect_avx512(b, begin, end, offsets, blocks); });
    return made;
  }

 private:
  template <scalar T, offset O>
  static bool short_rows(csr_view<T, O> b) {
    for (index_t r = 0; b.cols > longest_row && r < b.rows; ++r) {
      if (b.rowptr[r + 1] - b.rowptr[r] > longest_row) return false;
    }
    return true;
  }
  /// The sums' upper halves number the entries, so that those before a block say where it begins.
  template <scalar T, offset O>
  [[TULLE_AVX512BW, gnu::noinline]] static void collect_avx512(csr_view<T, O> b, index_t begin, index_t end,
                                                               const std::int64_t* offsets, block* blocks) {
    const __m512i entry = _mm512_set1_epi64(std::int64_t{1} << 32), lower = _mm512_set1_epi64(0xff);
    for (index_t r = begin; r < end; ++r) {
      block* to = blocks + offsets[r];
      group_reader_avx512<3> reader;
      for (O l = b.rowptr[r], last = b.rowptr[r + 1]; l < last; l += 8) {
        const auto found = reader.next(b.colind + l, last - l, entry);
        const __m512i columns = _mm512_and_si512(_mm512_sub_epi64(found.through, found.before), lower);
        const __m512i place = _mm512_or_si512(columns, _mm512_slli_epi64(_mm512_srli_epi64(found.before, 32), 8));
        const __m512i stored = _mm512_or_si512(found.index, _mm512_slli_epi64(place, 32));
        _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << found.count) - 1), stored);
        to += found.count;
      }
    }
  }
#endif
};

#if TULLE_X86
/// Of 8 columns. A product is rounded before it is added; adding the 0 of the lanes outside `mask` changes nothing: a
/// sum that began as 0 is never -0.
[[gnu::always_inline, TULLE_AVX512BW]] inline __m512d spread(const double* values, __mmask8 mask) {
  return _mm512_maskz_expandloadu_pd(mask, values);
}
[[gnu::always_inline, TULLE_AVX512BW]] inline __m256 spread(const float* values, __mmask8 mask) {
  return _mm256_maskz_expandloadu_ps(mask, values);
}
[[gnu::always_inline, TULLE_AVX512BW]] inline __m256i spread(const std::int32_t* values, __mmask8 mask) {
  return _mm256_maskz_expandloadu_epi32(mask, values);
}
[[gnu::always_inline, TULLE_AVX512BW]] inline void add_scaled(double* sums, double scale, __m512d values,
                                                              __mmask8 mask) {
  const __m512d product = _mm512_maskz_mul_pd(mask, _mm512_set1_pd(scale), values);
  _mm512_store_pd(sums, _mm512_add_pd(_mm512_load_pd(sums), product));
}
[[gnu::always_inline, TULLE_AVX512BW]] inline void add_scaled(float* sums, float scale, __m256 values, __mmask8 mask) {
  const __m256 product = _mm256_maskz_mul_ps(mask, _mm256_set1_ps(scale), values);
  _mm256_store_ps(sums, _mm256_add_ps(_mm256_load_ps(sums), product));
}
[[gnu::always_inline, TULLE_AVX512BW]] inline void add_scaled(std::uint32_t* sums, std::uint32_t scale, __m256i values,
                                                              __mmask8) {
  const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<std::int32_t>(scale)), values);
  auto* const at = reinterpret_cast<__m256i*>(sums);
  _mm256_store_si256(at, _mm256_add_epi32(_mm256_load_si256(at), product));
}

/// Adds the products of rows i .. i + Rows - 1, which have the same columns, to the sums of the columns from `base` on,
/// a multiple of 8. The sums of the next row lie `stride` further.
template <int Rows, scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] void add_blocks_avx512(const row_product<T, O>& p, const blocked_rows& blocks,
                                                         index_t i, index_t base, sum_of<T>* sums,
                                                         std::int64_t stride) {
  const O begin = p.a.rowptr[i], end = p.a.rowptr[i + 1];
  for (O k = begin; k < end; ++k) {
    sum_of<T> scale[Rows];
    for (int row = 0; row < Rows; ++row) scale[row] = p.scale(k + row * (end - begin));
    const index_t r = p.a.colind[k];
    const T* values = p.b.values + p.b.rowptr[r];
    const blocked_rows::block* at = blocks.blocks.data() + blocks.offsets.data()[r];
    for (const blocked_rows::block* last = blocks.blocks.data() + blocks.offsets.data()[r + 1]; at != last; ++at) {
      const auto mask = static_cast<__mmask8>(at->place);
      const auto spread_values = spread(values + (at->place >> 8), mask);
      sum_of<T>* to = sums + (8 * at->index - base);
      for (int row = 0; row < Rows; ++row) add_scaled(to + row * stride, scale[row], spread_values, mask);
    }
  }
}
#endif

}  // namespace tulle::cpu

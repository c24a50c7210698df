// The rows of B as blocks of 8 columns, so that neighbours are added at once: whole vectors of sums, always the same
// ones, so that a load finds what the last store of it wrote (with vectors that begin anywhere it would wait for the
// cache).
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cpu/parallel.hpp"
#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/operands.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "cpu/spgemm/simd.hpp"

namespace tulle::cpu {

/// Row r: blocks offsets[r] .. offsets[r + 1] - 1, by column.
class column_blocks {
 public:
  struct block {
    index_t index;        // columns 8 index .. 8 index + 7
    std::uint32_t place;  // lower 8 bits: those that are in the row; upper 24: where in the row they begin
  };
  static constexpr std::int64_t longest_row = (1 << 24) - 1;

  column_blocks() = default;

  /// Blocks of B; none where they would hold fewer than `least` entries on average, or rows are too long.
  template <scalar T, offset O>
  static column_blocks of(const context& ctx, csr_view<T, O> b, double least) {
    column_blocks made;
    made.offsets_ = buffer<std::int64_t>(ctx, static_cast<std::size_t>(b.rows) + 1);
    std::int64_t* offsets = made.offsets_.data();
    std::int64_t longest = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) \
    reduction(max                                                    \
              : longest) if (row_schedule::worth_sharing(b))
    for (index_t r = 0; r < b.rows; ++r) {
      longest = std::max<std::int64_t>(longest, b.rowptr[r + 1] - b.rowptr[r]);
      offsets[r + 1] = count_column_groups<3>(b, r);
    }
    scan_counts(ctx.threads(), offsets, b.rows);
    if (longest > longest_row || least * static_cast<double>(offsets[b.rows]) > static_cast<double>(b.nnz)) return {};
    made.blocks_ = buffer<block>(ctx, static_cast<std::size_t>(offsets[b.rows]));
    block* blocks = made.blocks_.data();
#pragma omp parallel for num_threads(ctx.threads()) \
    schedule(static) if (row_schedule::worth_sharing(b))
    for (index_t r = 0; r < b.rows; ++r) collect(b, r, blocks + offsets[r]);
    return made;
  }

  [[nodiscard]] bool empty() const { return offsets_.empty(); }
  [[nodiscard]] const std::int64_t* offsets() const { return offsets_.data(); }
  [[nodiscard]] const block* blocks() const { return blocks_.data(); }
  [[nodiscard]] std::size_t bytes() const { return offsets_.bytes() + blocks_.bytes(); }
  static std::size_t bound(index_t rows, std::int64_t nnz) {
    return (static_cast<std::size_t>(rows) + 1) * sizeof(std::int64_t) + static_cast<std::size_t>(nnz) * sizeof(block);
  }

 private:
  template <scalar T, offset O>
  static void collect(csr_view<T, O> b, index_t r, block* to) {
    for (O l = b.rowptr[r], end = b.rowptr[r + 1]; l < end; ++to) {
      *to = {b.colind[l] >> 3, static_cast<std::uint32_t>(l - b.rowptr[r]) << 8};
      for (; l < end && b.colind[l] >> 3 == to->index; ++l) to->place |= 1u << (b.colind[l] & 7);
    }
  }

  buffer<std::int64_t> offsets_;  // rows + 1; none: not made
  buffer<block> blocks_;
};

#if TULLE_X86
/// sums[0 .. 7] += scale times the values that `mask` spreads over them, a product being rounded first. Adding the 0 of
/// the other lanes changes nothing: a sum that began as 0 is never -0.
[[gnu::always_inline, TULLE_AVX512BW]] inline void add_block(double* sums, double scale, const double* values,
                                                             __mmask8 mask) {
  const __m512d product = _mm512_maskz_mul_pd(mask, _mm512_set1_pd(scale), _mm512_maskz_expandloadu_pd(mask, values));
  _mm512_store_pd(sums, _mm512_add_pd(_mm512_load_pd(sums), product));
}
[[gnu::always_inline, TULLE_AVX512BW]] inline void add_block(float* sums, float scale, const float* values,
                                                             __mmask8 mask) {
  const __m256 product = _mm256_maskz_mul_ps(mask, _mm256_set1_ps(scale), _mm256_maskz_expandloadu_ps(mask, values));
  _mm256_store_ps(sums, _mm256_add_ps(_mm256_load_ps(sums), product));
}

/// Adds the products of row i to the sums of the columns from `base` on, a multiple of 8.
template <scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] void add_blocks_avx512(const spgemm_operands<T, O>& p, const column_blocks& blocks,
                                                         index_t i, index_t base, T* sums) {
  for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
    const T scale = p.alpha * p.a.values[k];
    const index_t r = p.a.colind[k];
    const T* values = p.b.values + p.b.rowptr[r];
    const column_blocks::block* at = blocks.blocks() + blocks.offsets()[r];
    for (const column_blocks::block* end = blocks.blocks() + blocks.offsets()[r + 1]; at != end; ++at) {
      add_block(sums + (8 * at->index - base), scale, values + (at->place >> 8), static_cast<__mmask8>(at->place));
    }
  }
}
#endif

}  // namespace tulle::cpu

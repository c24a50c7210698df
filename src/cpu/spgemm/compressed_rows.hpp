// The pattern of B as words of 64 columns: what counting reads in place of columns where neighbours share words.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "core/parallel.hpp"
#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::cpu {

/// Row r: words offsets[r] .. offsets[r + 1] - 1, whose columns are 64 index + the bits that are set.
class compressed_rows {
 public:
  compressed_rows() = default;

  /// Words of B; none where they would hold fewer than `least` columns on average.
  template <scalar T, offset O>
  static compressed_rows of(const context& ctx, isa set, csr_view<T, O> b, double least) {
    compressed_rows made;
    made.offsets_ = buffer<std::int64_t>(ctx, static_cast<std::size_t>(b.rows) + 1);
    std::int64_t* offsets = made.offsets_.data();
    number_column_groups<6>(ctx, set, b, offsets);
    if (least * static_cast<double>(offsets[b.rows]) > static_cast<double>(b.nnz)) return {};
    made.indices_ = buffer<index_t>(ctx, static_cast<std::size_t>(offsets[b.rows]));
    made.bits_ = buffer<std::uint64_t>(ctx, made.indices_.size());
    parallel_rows(row_schedule::threads_for(ctx.threads(), b), b.rows, b.rowptr, [&](index_t begin, index_t end) {
#if TULLE_X86
      if (set == isa::avx512) return made.pack_avx512(b, begin, end);
#endif
      for (index_t r = begin; r < end; ++r) made.pack(b, r, offsets[r]);
    });
    return made;
  }

  [[nodiscard]] bool empty() const { return offsets_.empty(); }
  [[nodiscard]] const std::int64_t* offsets() const { return offsets_.data(); }
  [[nodiscard]] const index_t* indices() const { return indices_.data(); }
  [[nodiscard]] const std::uint64_t* bits() const { return bits_.data(); }
  [[nodiscard]] std::size_t bytes() const { return offsets_.bytes() + indices_.bytes() + bits_.bytes(); }

 private:
  template <scalar T, offset O>
  void pack(csr_view<T, O> b, index_t r, std::int64_t at) {
    index_t word = -1;
    std::uint64_t bits = 0;
    --at;
    for (O l = b.rowptr[r], end = b.rowptr[r + 1]; l < end; ++l) {  // no branch: where words end is not predictable
      const bool begins = b.colind[l] >> 6 != word;
      word = b.colind[l] >> 6;
      at += begins ? 1 : 0;
      bits = (begins ? 0 : bits) | std::uint64_t{1} << (b.colind[l] & 63);
      indices_.data()[at] = word;
      bits_.data()[at] = bits;
    }
  }

#if TULLE_X86
  template <scalar T, offset O>
  [[TULLE_AVX512BW, gnu::noinline]] void pack_avx512(csr_view<T, O> b, index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      index_t* indices = indices_.data() + offsets_.data()[r];
      std::uint64_t* bits = bits_.data() + offsets_.data()[r];
      group_reader_avx512<6> reader;
      for (O l = b.rowptr[r], last = b.rowptr[r + 1]; l < last; l += 8) {
        const auto words = reader.next(b.colind + l, last - l, _mm512_setzero_si512());
        const auto stored = static_cast<__mmask8>((1u << words.count) - 1);
        _mm512_mask_cvtepi64_storeu_epi32(indices, stored, words.index);
        _mm512_mask_storeu_epi64(bits, stored, _mm512_sub_epi64(words.through, words.before));
        indices += words.count;
        bits += words.count;
      }
    }
  }
#endif

  buffer<std::int64_t> offsets_;  // rows + 1; none: not made
  buffer<index_t> indices_;
  buffer<std::uint64_t> bits_;
};

}  // namespace tulle::cpu

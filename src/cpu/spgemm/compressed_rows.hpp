// The pattern of B as words of 64 columns: what counting reads in place of columns where neighbours share words.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "cpu/spgemm/column_groups.hpp"

namespace tulle::cpu {

/// Row r: words offsets[r] .. offsets[r + 1] - 1, whose columns are 64 index + the bits that are set.
struct compressed_rows {
  buffer<std::int64_t> offsets;  // rows + 1; none: not made
  buffer<index_t> indices;
  buffer<std::uint64_t> bits;

  /// Words of B; none where they would hold fewer than `least` columns on average.
  template <scalar T, offset O>
  static compressed_rows of(const context& ctx, isa set, csr_view<T, O> b, double least) {
    compressed_rows made{column_group_offsets<6>(ctx, set, b, least), {}, {}};
    if (made.empty()) return made;
    made.indices = buffer<index_t>(ctx, static_cast<std::size_t>(made.offsets.data()[b.rows]));
    made.bits = buffer<std::uint64_t>(ctx, made.indices.size());
    for_rows_of_b(ctx, b, [&](index_t begin, index_t end) {
#if TULLE_X86
      if (set == isa::avx512) return made.pack_avx512(b, begin, end);
#endif
      for (index_t r = begin; r < end; ++r) made.pack(b, r);
    });
    return made;
  }

  [[nodiscard]] bool empty() const { return offsets.empty(); }
  [[nodiscard]] std::size_t bytes() const { return offsets.bytes() + indices.bytes() + bits.bytes(); }

 private:
  template <scalar T, offset O>
  void pack(csr_view<T, O> b, index_t r) {
    index_t word = -1;
    std::uint64_t marked = 0;
    std::int64_t at = offsets.data()[r] - 1;
    for (O l = b.rowptr[r], end = b.rowptr[r + 1]; l < end; ++l) {  // no branch: where words end is not predictable
      const bool begins = b.colind[l] >> 6 != word;
      word = b.colind[l] >> 6;
      at += begins ? 1 : 0;
      marked = (begins ? 0 : marked) | std::uint64_t{1} << (b.colind[l] & 63);
      indices.data()[at] = word;
      bits.data()[at] = marked;
    }
  }

#if TULLE_X86
  template <scalar T, offset O>
  [[TULLE_AVX512BW, gnu::noinline]] void pack_avx512(csr_view<T, O> b, index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      index_t* index = indices.data() + offsets.data()[r];
      std::uint64_t* word = bits.data() + offsets.data()[r];
      group_reader_avx512<6> reader;
      for (O l = b.rowptr[r], last = b.rowptr[r + 1]; l < last; l += 8) {
        const auto words = reader.next(b.colind + l, last - l, _mm512_setzero_si512());
        const auto stored = static_cast<__mmask8>((1u << words.count) - 1);
        _mm512_mask_cvtepi64_storeu_epi32(index, stored, words.index);
        _mm512_mask_storeu_epi64(word, stored, _mm512_sub_epi64(words.through, words.before));
        index += words.count;
        word += words.count;
      }
    }
  }
#endif
};

}  // namespace tulle::cpu

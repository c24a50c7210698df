// The columns of B's rows in groups of 2^Shift neighbours.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "core/parallel.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// f(begin, end) for ranges of B's rows, in parallel where that is worth it.
template <scalar T, offset O, class F>
void for_rows_of_b(const context& ctx, csr_view<T, O> b, F f) {
  parallel_rows(row_schedule::threads_for(ctx.threads(), b), b.rows, b.rowptr, f);
}

/// How many groups the entries of row r, which is sorted, are in.
template <int Shift, scalar T, offset O>
std::int64_t groups_of_row(csr_view<T, O> b, index_t r) {
  const O begin = b.rowptr[r], end = b.rowptr[r + 1];
  std::int64_t n = begin < end ? 1 : 0;
  for (O l = begin + 1; l < end; ++l) n += b.colind[l] >> Shift != b.colind[l - 1] >> Shift ? 1 : 0;
  return n;
}

#if TULLE_X86
template <int Shift, scalar T, offset O>
[[TULLE_AVX512BW, gnu::noinline]] void count_groups_avx512(csr_view<T, O> b, index_t begin, index_t end,
                                                           std::int64_t* counts) {
  for (index_t r = begin; r < end; ++r) {
    const index_t *at = b.colind + b.rowptr[r], *last = b.colind + b.rowptr[r + 1];
    std::int64_t n = at < last ? 1 : 0;
    for (++at; at < last; at += 16) {
      const auto here = static_cast<__mmask16>((1u << std::min<std::ptrdiff_t>(last - at, 16)) - 1);
      const __m512i group = _mm512_srai_epi32(_mm512_maskz_loadu_epi32(here, at), Shift);
      const __m512i before = _mm512_srai_epi32(_mm512_maskz_loadu_epi32(here, at - 1), Shift);
      n += __builtin_popcount(_mm512_cmpneq_epi32_mask(group, before));
    }
    counts[r] = n;
  }
}

/// Reads a row of B by up to 8 columns. What the entries count is summed from the row's begin on, modulo 2^64: the sum
/// over a group is that at its end less that before it, and for distinct bits it is their union.
template <int Shift>
class group_reader_avx512 {
 public:
  /// Of the groups that end here, in the first `count` lanes of 64 bits.
  struct groups {
    int count;
    __m512i index;    // column >> Shift
    __m512i through;  // the sum up to a group's end
    __m512i before;   // the sum before its begin
  };

  /// The next of the `left` columns at `at`. An entry counts `entry` + 2^(column mod 2^Shift).
  [[gnu::always_inline, TULLE_AVX512BW]] groups next(const index_t* at, std::int64_t left, __m512i entry) {
    const auto here = static_cast<__mmask8>(left < 8 ? (1u << left) - 1 : 0xff);
    const auto followed = static_cast<__mmask8>(left < 9 ? (1u << (left - 1)) - 1 : 0xff);
    const __m256i columns = _mm256_maskz_loadu_epi32(here, at), none = _mm256_set1_epi32(-1);
    const __m256i index = _mm256_srai_epi32(columns, Shift);
    const __m256i after = _mm256_srai_epi32(_mm256_mask_loadu_epi32(none, followed, at + 1), Shift);
    const __mmask8 ends = _mm256_mask_cmpneq_epi32_mask(here, index, after);
    const __m512i in_group = _mm512_cvtepu32_epi64(_mm256_and_si256(columns, _mm256_set1_epi32((1 << Shift) - 1)));
    const __m512i bit = _mm512_sllv_epi64(_mm512_set1_epi64(1), in_group), zero = _mm512_setzero_si512();
    __m512i sum = _mm512_maskz_add_epi64(here, bit, entry);
    sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 7));
    sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 6));
    sum = _mm512_add_epi64(sum, _mm512_alignr_epi64(sum, zero, 4));
    sum = _mm512_add_epi64(sum, sum_);
    sum_ = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), sum);
    const int count = __builtin_popcount(ends);
    const __m512i through = _mm512_maskz_compress_epi64(ends, sum);
    const groups found{count, _mm512_maskz_compress_epi64(ends, _mm512_cvtepi32_epi64(index)), through,
                       _mm512_alignr_epi64(through, through_, 7)};
    const auto any = static_cast<__mmask8>(count > 0 ? 0xff : 0);
    through_ = _mm512_mask_permutexvar_epi64(through_, any, _mm512_set1_epi64(count - 1), through);
    return found;
  }

 private:
  __m512i sum_{};      // of all entries so far, in every lane
  __m512i through_{};  // up to the last end so far, in every lane
};
#endif

/// Where the groups of each row begin when they are numbered from row to row (rows + 1); empty where a group would hold
/// fewer than `least` entries on average. The rows are sorted.
template <int Shift, scalar T, offset O>
buffer<std::int64_t> column_group_offsets(const context& ctx, isa set, csr_view<T, O> b, double least) {
  buffer<std::int64_t> made(ctx, static_cast<std::size_t>(b.rows) + 1);
  std::int64_t* offsets = made.data();
  for_rows_of_b(ctx, b, [&](index_t begin, index_t end) {
#if TULLE_X86
    if (set == isa::avx512) return count_groups_avx512<Shift>(b, begin, end, offsets + 1);
#endif
    (void)set;
    for (index_t r = begin; r < end; ++r) offsets[r + 1] = groups_of_row<Shift>(b, r);
  });
  scan_counts(ctx.threads(), offsets, b.rows);
  if (least * static_cast<double>(offsets[b.rows]) > static_cast<double>(b.nnz)) made = {};
  return made;
}

}  // namespace tulle::cpu

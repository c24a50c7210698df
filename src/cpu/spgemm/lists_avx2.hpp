// The columns of rows of C with AVX2: numbers are listed as they are met for the first time, without a branch, and
// short lists are sorted in registers by networks (K. E. Batcher, "Sorting networks and their applications", 1968).
// What is listed are columns, or words of 64 where B is compressed to them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/window.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// The most products of a row whose columns are listed one by one; a window has no more words of 64.
inline constexpr std::int64_t most_listed = widest_window / 64;
/// The longest list that is sorted in registers. Whole registers are stored: so many numbers may be written beyond.
inline constexpr std::int64_t longest_sorted = 64;

/// What one thread lists with.
struct list_space {
  static constexpr std::size_t size = most_listed + longest_sorted;

  index_t* numbers = nullptr;  // none: nothing is listed
  /// Of every column the row of C that it was listed for last, or -1. None: words are listed.
  index_t* last_row = nullptr;
};

#if TULLE_X86
/// 8 keys a register, in the lanes of which bit i of `Falling` stands for lane i.
namespace sort_avx2 {

/// The keys of the lanes at distance D.
template <int D>
[[gnu::always_inline, TULLE_AVX2]] inline __m256i across(__m256i v) {
  if constexpr (D == 1) return _mm256_shuffle_epi32(v, 0xb1);
  if constexpr (D == 2) return _mm256_shuffle_epi32(v, 0x4e);
  return _mm256_permute2x128_si256(v, v, 1);
}
/// Sorts runs of 2 D lanes that rise and then fall (or the other way).
template <int D, int Falling>
[[gnu::always_inline, TULLE_AVX2]] inline __m256i merge_lanes(__m256i v) {
  constexpr int upper = D == 1 ? 0xaa : D == 2 ? 0xcc : 0xf0;
  const __m256i other = across<D>(v);
  v = _mm256_blend_epi32(_mm256_min_epi32(v, other), _mm256_max_epi32(v, other), upper ^ Falling);
  if constexpr (D > 1) v = merge_lanes<D / 2, Falling>(v);
  return v;
}
template <int N, bool Falling>
[[gnu::always_inline, TULLE_AVX2]] inline void merge(__m256i* v) {
  if constexpr (N == 1) {
    v[0] = merge_lanes < 4, Falling ? 0xff : 0 > (v[0]);
  } else {
    for (int k = 0; k < N / 2; ++k) {
      const __m256i least = _mm256_min_epi32(v[k], v[k + N / 2]), most = _mm256_max_epi32(v[k], v[k + N / 2]);
      v[k] = Falling ? most : least;
      v[k + N / 2] = Falling ? least : most;
    }
    merge<N / 2, Falling>(v);
    merge<N / 2, Falling>(v + N / 2);
  }
}
template <int N, bool Falling>
[[gnu::always_inline, TULLE_AVX2]] inline void sort(__m256i* v) {
  if constexpr (N == 1) {
    v[0] = merge_lanes < 4, Falling ? 0xff : 0 > (merge_lanes<2, 0xf0>(merge_lanes<1, 0xcc>(v[0])));
  } else {
    sort<N / 2, false>(v);
    sort<N / 2, true>(v + N / 2);
    merge<N, Falling>(v);
  }
}

/// n <= 8 N numbers; both arrays have room for 8 N.
template <int N>
[[TULLE_AVX2, gnu::noinline]] void sort_registers(const index_t* from, std::int64_t n, index_t* to) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i most = _mm256_set1_epi32(std::numeric_limits<index_t>::max());
  __m256i v[N];
  for (int k = 0; k < N; ++k) {
    const __m256i here = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n) - 8 * k), lanes);
    v[k] = _mm256_blendv_epi8(most, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 8 * k)), here);
  }
  sort<N, false>(v);
  for (int k = 0; k < N; ++k) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 8 * k), v[k]);
}

}  // namespace sort_avx2

/// n <= longest_sorted numbers; both arrays have room for so many.
inline void sort_list_avx2(const index_t* from, std::int64_t n, index_t* to) {
  if (n <= 8) return sort_avx2::sort_registers<1>(from, n, to);
  if (n <= 16) return sort_avx2::sort_registers<2>(from, n, to);
  if (n <= 32) return sort_avx2::sort_registers<4>(from, n, to);
  sort_avx2::sort_registers<8>(from, n, to);
}

/// start + the places of the bits, in order. Returns the end; writes up to 3 numbers beyond.
[[gnu::always_inline, TULLE_AVX2]] inline index_t* unpack_avx2(std::uint64_t bits, index_t start, index_t* out) {
  if (bits == ~std::uint64_t{0}) {
    for (index_t j = 0; j < 64; ++j) out[j] = start + j;
    return out + 64;
  }
  index_t* const end = out + std::popcount(bits);
  do {  // four at a time: how many there are is hard to predict
    for (int k = 0; k < 4; k += 2) {
      const std::uint64_t first = _tzcnt_u64(bits) + static_cast<std::uint32_t>(start);
      bits &= bits - 1;
      const std::uint64_t second = _tzcnt_u64(bits) + static_cast<std::uint32_t>(start);
      bits &= bits - 1;
      const std::uint64_t both = first | second << 32;
      std::memcpy(out + k, &both, sizeof(both));
    }
    out += 4;
  } while (bits != 0);
  return end;
}

/// As window::take of columns; there is room for 3 more.
template <scalar T>
[[TULLE_AVX2, gnu::noinline]] std::int64_t take_avx2(const window<T>& w, index_t base, column_span marked,
                                                     index_t* colind) {
  index_t* out = colind;
  for (index_t octet = marked.first >> 9; octet <= marked.last >> 9; ++octet) {
    std::uint64_t set = 0;
    std::memcpy(&set, w.groups + 8 * octet, 8);
    if (set == 0) continue;
    std::memset(w.groups + 8 * octet, 0, 8);
    for (; set != 0; set &= set - 1) {
      const index_t word = 8 * octet + static_cast<index_t>(_tzcnt_u64(set) / 8);
      out = unpack_avx2(w.words[word], base + 64 * word, out);
      w.words[word] = 0;
    }
  }
  return out - colind;
}

/// Words in which columns are marked, and the numbers of those that are not 0.
struct listed_words {
  std::uint64_t* words;
  index_t* numbers;
  std::int64_t size = 0;

  [[gnu::always_inline]] void mark(index_t word, std::uint64_t bits) {
    const std::uint64_t old = words[word];
    words[word] = old | bits;
    numbers[size] = word;
    size += old == 0 ? 1 : 0;
  }
  /// The marked columns in order; clears them. For at most longest_sorted words. Returns how many there are; there is
  /// room for 3 more.
  [[TULLE_AVX2, gnu::noinline]] std::int64_t take(index_t* colind) {
    sort_list_avx2(numbers, size, numbers);
    index_t* out = colind;
    for (std::int64_t k = 0; k < size; ++k) {
      const index_t word = numbers[k];
      out = unpack_avx2(words[word], 64 * word, out);
      words[word] = 0;
    }
    return out - colind;
  }
};

/// Lists the distinct columns of row i. Returns how many there are; writes one number beyond.
template <scalar T, offset O>
[[TULLE_AVX2, gnu::noinline]] std::int64_t list_columns_avx2(const row_product<T, O>& p, index_t i, list_space to) {
  const csr_view<T, O> a = p.a, b = p.b;
  std::int64_t n = 0;
  const O last_entry = p.last_of_a();
  const bool ahead = p.fetches_ahead;
  for (O k = a.rowptr[i], end = a.rowptr[i + 1]; k < end; ++k) {
    if (ahead) p.fetch_ahead(k, last_entry, false);
    const index_t r = a.colind[k];
    for (const index_t *at = b.colind + b.rowptr[r], *last = b.colind + b.rowptr[r + 1]; at != last; ++at) {
      index_t& row = to.last_row[static_cast<std::uint32_t>(*at)];
      to.numbers[n] = *at;
      n += row != i ? 1 : 0;
      row = i;
    }
  }
  return n;
}
#endif

}  // namespace tulle::cpu

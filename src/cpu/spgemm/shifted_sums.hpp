// The values of rows of C that are alike but for a shift. Where in C's row a product belongs is found once for all of
// them; sums are made in place, or in registers: as many rows of A, B and C as follow each other lie one behind the
// other, so that no index is read. The products of an entry are added in A's order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/spgemm/row_product.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

#if TULLE_X86
/// 8 sums.
template <scalar T>
struct sums_avx512;

template <>
struct sums_avx512<double> {
  __m512d v;
  [[gnu::always_inline, TULLE_AVX512BW]] static sums_avx512 zero() { return {_mm512_setzero_pd()}; }
  /// Adds scale times the next of `values` in the lanes of `mask`; others stay as they are.
  [[gnu::always_inline, TULLE_AVX512BW]] void add(double scale, const double* values, __mmask8 mask) {
    const __m512d product = _mm512_mul_pd(_mm512_set1_pd(scale), _mm512_maskz_expandloadu_pd(mask, values));
    v = _mm512_mask_add_pd(v, mask, v, product);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] void store(double* to, __mmask8 mask) const {
    _mm512_mask_storeu_pd(to, mask, v);
  }
};

template <>
struct sums_avx512<float> {
  __m256 v;
  [[gnu::always_inline, TULLE_AVX512BW]] static sums_avx512 zero() { return {_mm256_setzero_ps()}; }
  [[gnu::always_inline, TULLE_AVX512BW]] void add(float scale, const float* values, __mmask8 mask) {
    const __m256 product = _mm256_mul_ps(_mm256_set1_ps(scale), _mm256_maskz_expandloadu_ps(mask, values));
    v = _mm256_mask_add_ps(v, mask, v, product);
  }
  [[gnu::always_inline, TULLE_AVX512BW]] void store(float* to, __mmask8 mask) const {
    _mm256_mask_storeu_ps(to, mask, v);
  }
};

template <>
struct sums_avx512<std::int32_t> {
  __m256i v;
  [[gnu::always_inline, TULLE_AVX512BW]] static sums_avx512 zero() { return {_mm256_setzero_si256()}; }
  [[gnu::always_inline, TULLE_AVX512BW]] void add(std::uint32_t scale, const std::int32_t* values, __mmask8 mask) {
    const __m256i all = _mm256_set1_epi32(static_cast<std::int32_t>(scale));
    v = _mm256_add_epi32(v, _mm256_mullo_epi32(all, _mm256_maskz_expandloadu_epi32(mask, values)));
  }
  [[gnu::always_inline, TULLE_AVX512BW]] void store(std::int32_t* to, __mmask8 mask) const {
    _mm256_mask_storeu_epi32(to, mask, v);
  }
};
#endif

/// Rows alike for which finding places is worth it, where no others are known to be.
inline constexpr index_t least_shifted = 8;

/// Where in C's row the products of rows alike belong.
class row_places {
 public:
  /// Entries of a row of B that belong to 8 neighbours of C's row.
  struct step {
    std::uint16_t first;
    std::uint8_t k;
    std::uint8_t mask;
  };

  row_places() = default;
  /// Of rows like row i of C, which has the n columns `colind`. `memory`: bytes() of its products, kept meanwhile.
  template <scalar T, offset O>
  row_places(const row_product<T, O>& p, isa set, index_t i, const index_t* colind, std::int64_t n, std::byte* memory)
      : n_(static_cast<int>(n)),
        steps_(reinterpret_cast<step*>(memory)),
        places_(reinterpret_cast<std::uint16_t*>(memory)),
        ends_(reinterpret_cast<std::uint16_t*>(steps_ + p.products(i) + 1)) {
    set == isa::avx512 ? find_steps(p, i, colind) : find_places(p, i, colind);
  }
  static constexpr std::size_t bytes(std::int64_t products) {
    const auto n = static_cast<std::size_t>(products);
    return ((n + 1) * sizeof(step) + (n / 8 + 1) * sizeof(std::uint16_t) + 7) / 8 * 8;
  }
  [[nodiscard]] bool empty() const { return n_ == 0; }

  /// Of C's row.
  [[nodiscard]] int size() const { return n_; }
  /// By eights of C's entries, then by A's, with AVX-512.
  [[nodiscard]] const step* steps() const { return steps_; }
  /// The end of the steps of the eight from entry `from` on.
  [[nodiscard]] const step* end_of(int from) const { return steps_ + ends_[from / 8]; }
  /// By A's entries, then by B's: entries of C. Without AVX-512.
  [[nodiscard]] const std::uint16_t* places() const { return places_; }

 private:
  template <scalar T, offset O>
  void find_steps(const row_product<T, O>& p, index_t i, const index_t* colind) {
    const O* const begin = p.a.rowptr + i;
    const auto entries = static_cast<int>(begin[1] - begin[0]);
    const index_t* rows = p.a.colind + begin[0];
    int next[most_shifted_entries] = {}, count = 0;
    for (int from = 0; from < n_; from += 8) {
      const int to = std::min(n_, from + 8);
      for (int k = 0; k < entries; ++k) {
        const index_t* const columns = p.b.colind + p.b.rowptr[rows[k]];
        const auto length = static_cast<int>(p.b.rowptr[rows[k] + 1] - p.b.rowptr[rows[k]]);
        const int first = next[k];
        unsigned mask = 0;
        for (int at = from; next[k] < length && columns[next[k]] <= colind[to - 1]; ++next[k]) {
          while (colind[at] != columns[next[k]]) ++at;
          mask |= 1u << (at - from);
        }
        steps_[count] = {static_cast<std::uint16_t>(first), static_cast<std::uint8_t>(k),
                         static_cast<std::uint8_t>(mask)};
        count += mask != 0 ? 1 : 0;
      }
      ends_[from / 8] = static_cast<std::uint16_t>(count);
    }
  }
  template <scalar T, offset O>
  void find_places(const row_product<T, O>& p, index_t i, const index_t* colind) {
    std::uint16_t* place = places_;
    for (O k = p.a.rowptr[i]; k < p.a.rowptr[i + 1]; ++k) {
      const index_t r = p.a.colind[k];
      int at = 0;
      for (O l = p.b.rowptr[r]; l < p.b.rowptr[r + 1]; ++l) {
        while (colind[at] != p.b.colind[l]) ++at;
        *place++ = static_cast<std::uint16_t>(at);
      }
    }
  }

  int n_ = 0;
  step* steps_ = nullptr;            // or
  std::uint16_t* places_ = nullptr;  // in the same memory
  std::uint16_t* ends_ = nullptr;
};

/// The sums of a run of rows, of which all but the first are the row before, shifted.
template <scalar T, offset O>
class shifted_sums {
 public:
  /// From row i on.
  shifted_sums(const row_product<T, O>& p, const row_places& places, index_t i)
      : p_(p), places_(places), entries_(static_cast<int>(p.a.rowptr[i + 1] - p.a.rowptr[i])), n_(places.size()) {
    a_ = p.a.values + p.a.rowptr[i];
    for (int k = 0; k < entries_; ++k) {
      const index_t r = p.a.colind[p.a.rowptr[i] + k];
      b_[k] = p.b.values + p.b.rowptr[r];
      length_[k] = static_cast<int>(p.b.rowptr[r + 1] - p.b.rowptr[r]);
    }
  }

  void add([[maybe_unused]] isa set, index_t rows, T* values) {
#if TULLE_X86
    if (set == isa::avx512) {
      for (; rows >= 4; rows -= 4, values += 4 * n_) add_avx512<4>(values);
      for (; rows > 0; --rows, values += n_) add_avx512<1>(values);
      return;
    }
#endif
    for (; rows > 0; --rows, values += n_) add_row(values);
  }

 private:
  void add_row(T* values) {
    auto* sums = reinterpret_cast<sum_of<T>*>(values);
    std::fill_n(sums, n_, sum_of<T>{0});
    const std::uint16_t* place = places_.places();
    for (int k = 0; k < entries_; ++k) {
      const sum_of<T> scale = p_.alpha * static_cast<sum_of<T>>(a_[k]);
      const int length = length_[k];
      const T* b = b_[k];
      for (int l = 0; l < length; ++l) sums[place[l]] += scale * static_cast<sum_of<T>>(b[l]);
      place += length;
      b_[k] += length;
    }
    a_ += entries_;
  }

#if TULLE_X86
  template <int Rows>
  [[TULLE_AVX512BW, gnu::noinline]] void add_avx512(T* values) {
    sum_of<T> scale[Rows * most_shifted_entries];
    const int entries = entries_, n = n_;
    for (int k = 0; k < Rows * entries; ++k) scale[k] = p_.alpha * static_cast<sum_of<T>>(a_[k]);
    const row_places::step* at = places_.steps();
    for (int from = 0; from < n; from += 8) {
      sums_avx512<T> sums[Rows];
      for (int row = 0; row < Rows; ++row) sums[row] = sums_avx512<T>::zero();
      for (const row_places::step* last = places_.end_of(from); at != last; ++at) {
        const T* b = b_[at->k] + at->first;
        const std::int64_t length = length_[at->k];
        for (int row = 0; row < Rows; ++row) sums[row].add(scale[row * entries + at->k], b + row * length, at->mask);
      }
      const auto stored = static_cast<__mmask8>(n - from < 8 ? (1u << (n - from)) - 1 : 0xff);
      for (int row = 0; row < Rows; ++row) sums[row].store(values + row * n + from, stored);
    }
    for (int k = 0; k < entries; ++k) b_[k] += Rows * length_[k];
    a_ += Rows * entries;
  }
#endif

  const row_product<T, O>& p_;
  const row_places& places_;
  int entries_;  // of A's row
  int n_;        // of C's row
  const T* a_;   // A's next row
  const T* b_[most_shifted_entries];
  int length_[most_shifted_entries];
};

}  // namespace tulle::cpu

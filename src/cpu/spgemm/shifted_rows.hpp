// Rows of B whose columns are those of the row before, each one further, as stencils and bands have them. Where the
// rows of B that a row of A names are such, and A's row is such a row too, so is the row of C: nothing is looked for.
// Other rows, as at the ends of a grid's lines, may be shifted by more than one from a row further back: rows that are
// have the same pattern.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/small_table.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// Whether row r has the columns of row q, each r - q further.
template <scalar T, offset O>
[[gnu::always_inline]] inline bool is_row_shifted(const csr_view<T, O>& m, index_t q, index_t r) {
  const O other = m.rowptr[q], begin = m.rowptr[r], end = m.rowptr[r + 1];
  if (end - begin != m.rowptr[q + 1] - other) return false;
  const index_t by = r - q;
  return std::equal(m.colind + begin, m.colind + end, m.colind + other,
                    [by](index_t column, index_t of_other) { return column - by == of_other; });
}
template <scalar T, offset O>
[[gnu::always_inline]] inline bool is_row_before_shifted(const csr_view<T, O>& m, index_t r) {
  return r > 0 && is_row_shifted(m, r - 1, r);
}

/// For each row of a matrix whether it is the row before, shifted, and its pattern.
struct shifted_rows {
  buffer<std::uint8_t> flags;  // rows; none: not made
  buffer<index_t> patterns;    // rows, or none: two of the same number have the same columns but for a shift

  [[nodiscard]] bool empty() const { return flags.empty(); }
  [[nodiscard]] std::size_t bytes() const { return flags.bytes() + patterns.bytes(); }

  /// Not made where fewer than half of some rows here and there are shifted; no patterns where all but one are, or rows
  /// are few.
  template <scalar T, offset O>
  static shifted_rows of(const context& ctx, csr_view<T, O> b) {
    constexpr index_t few_rows = 1000;
    const int shifted = shifted_samples(b);
    if (2 * shifted < samples) return {};
    const auto rows = static_cast<std::size_t>(b.rows);
    shifted_rows made{buffer<std::uint8_t>(ctx, rows), {}};
    if (b.rows >= few_rows && shifted < samples - 1) made.patterns = buffer<index_t>(ctx, rows);
    std::uint8_t* flags = made.flags.data();
    for_rows_of_b(ctx, b, [&](index_t begin, index_t end) {
      for (index_t r = begin; r < end; ++r) flags[r] = is_row_before_shifted(b, r) ? 1 : 0;
      if (!made.patterns.empty()) find_patterns(b, flags, begin, end, made.patterns.data());
    });
    return made;
  }

 private:
  static constexpr int samples = 256;

  template <scalar T, offset O>
  static void find_patterns(const csr_view<T, O>& b, const std::uint8_t* flags, index_t begin, index_t end,
                            index_t* patterns) {
    small_table<index_t> known{-1};
    for (index_t r = begin; r < end; ++r) {
      patterns[r] = flags[r] != 0 && r > begin ? patterns[r - 1] : pattern_of(b, r, known);
    }
  }
  /// The row that was the first with the pattern of row r, as far as is known.
  template <scalar T, offset O>
  static index_t pattern_of(const csr_view<T, O>& b, index_t r, small_table<index_t>& known) {
    const O begin = b.rowptr[r], end = b.rowptr[r + 1];
    if (end - begin > most_shifted_products) return r;
    row_hash hash;
    for (O l = begin; l < end; ++l) hash.add(b.colind[l] - r);
    const auto [first, is_same] = known.find(
        hash, [](index_t q) { return q < 0; }, [&](index_t q) { return is_row_shifted(b, q, r); });
    if (!is_same) first = r;
    return first;
  }

  /// How many of some rows here and there are shifted.
  template <scalar T, offset O>
  static int shifted_samples(csr_view<T, O> b) {
    int found = 0;
    for (std::uint64_t s = 0; s < samples && b.rows > 0; ++s) {
      const std::uint64_t scattered = (s * 0x9e3779b97f4a7c15u) >> 32;  // no period that a grid could have
      const auto r = static_cast<index_t>((scattered * static_cast<std::uint64_t>(b.rows)) >> 32);
      found += is_row_before_shifted(b, r) ? 1 : 0;
    }
    return found;
  }
};

#if TULLE_X86
[[TULLE_AVX512BW, gnu::noinline]] inline void copy_shifted_avx512(const index_t* from, std::int64_t n, index_t by,
                                                                  index_t rows, index_t* to) {
  const auto last = static_cast<__mmask16>((1u << (n % 16)) - 1);
  for (index_t row = 0; row < rows; ++row, to += n) {
    const __m512i shift = _mm512_set1_epi32(by + row);
    std::int64_t k = 0;
    for (; k + 16 <= n; k += 16) _mm512_storeu_si512(to + k, _mm512_add_epi32(_mm512_loadu_si512(from + k), shift));
    if (last == 0) continue;
    _mm512_mask_storeu_epi32(to + k, last, _mm512_add_epi32(_mm512_maskz_loadu_epi32(last, from + k), shift));
  }
}
#endif

/// n columns to `rows` rows, `by` further in the first and one more in each that follows.
inline void copy_shifted([[maybe_unused]] isa set, const index_t* from, std::int64_t n, index_t by, index_t rows,
                         index_t* to) {
#if TULLE_X86
  if (set == isa::avx512) return copy_shifted_avx512(from, n, by, rows, to);
#endif
  for (index_t row = 0; row < rows; ++row, to += n) {
    for (std::int64_t k = 0; k < n; ++k) to[k] = from[k] + by + row;
  }
}

}  // namespace tulle::cpu

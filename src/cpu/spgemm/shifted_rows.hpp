// Rows of B whose columns are those of the row before, each one further, as stencils and bands have them. Where the
// rows of B that a row of A names are such, and A's row is such a row too, so is the row of C: nothing is looked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>

#include "cpu/spgemm/column_groups.hpp"
#include "cpu/spmv/intrinsics.hpp"

namespace tulle::cpu {

/// Whether row r has the columns of the row before, each one further.
template <scalar T, offset O>
[[gnu::always_inline]] inline bool is_row_before_shifted(const csr_view<T, O>& m, index_t r) {
  if (r == 0) return false;
  const O before = m.rowptr[r - 1], begin = m.rowptr[r], end = m.rowptr[r + 1];
  if (end - begin != begin - before) return false;
  return std::equal(m.colind + begin, m.colind + end, m.colind + before,
                    [](index_t column, index_t of_before) { return column == of_before + 1; });
}

/// A byte for each row of a matrix: whether it is the row before, shifted.
struct shifted_rows {
  buffer<std::uint8_t> flags;  // rows; none: not made

  [[nodiscard]] bool empty() const { return flags.empty(); }

  /// Not made where fewer than half of some rows here and there are shifted.
  template <scalar T, offset O>
  static shifted_rows of(const context& ctx, csr_view<T, O> b) {
    if (!are_common(b)) return {};
    shifted_rows made{buffer<std::uint8_t>(ctx, static_cast<std::size_t>(b.rows))};
    std::uint8_t* flags = made.flags.data();
    for_rows_of_b(ctx, b, [&](index_t begin, index_t end) {
      for (index_t r = begin; r < end; ++r) flags[r] = is_row_before_shifted(b, r) ? 1 : 0;
    });
    return made;
  }

 private:
  template <scalar T, offset O>
  static bool are_common(csr_view<T, O> b) {
    constexpr std::uint64_t samples = 256;
    std::uint64_t found = 0;
    for (std::uint64_t s = 0; s < samples && b.rows > 0; ++s) {
      const std::uint64_t scattered = (s * 0x9e3779b97f4a7c15u) >> 32;  // no period that a grid could have
      const auto r = static_cast<index_t>((scattered * static_cast<std::uint64_t>(b.rows)) >> 32);
      found += is_row_before_shifted(b, r) ? 1 : 0;
    }
    return 2 * found >= samples;
  }
};

#if TULLE_X86
[[TULLE_AVX512BW, gnu::noinline]] inline void copy_shifted_avx512(const index_t* from, std::int64_t n, index_t rows,
                                                                  index_t* to) {
  const auto last = static_cast<__mmask16>((1u << (n % 16)) - 1);
  for (index_t by = 1; by <= rows; ++by, to += n) {
    const __m512i shift = _mm512_set1_epi32(by);
    std::int64_t k = 0;
    for (; k + 16 <= n; k += 16) _mm512_storeu_si512(to + k, _mm512_add_epi32(_mm512_loadu_si512(from + k), shift));
    if (last == 0) continue;
    _mm512_mask_storeu_epi32(to + k, last, _mm512_add_epi32(_mm512_maskz_loadu_epi32(last, from + k), shift));
  }
}
#endif

/// n columns to `rows` rows, each one further than the row before.
inline void copy_shifted([[maybe_unused]] isa set, const index_t* from, std::int64_t n, index_t rows, index_t* to) {
#if TULLE_X86
  if (set == isa::avx512) return copy_shifted_avx512(from, n, rows, to);
#endif
  for (index_t by = 1; by <= rows; ++by, to += n) {
    for (std::int64_t k = 0; k < n; ++k) to[k] = from[k] + by;
  }
}

}  // namespace tulle::cpu

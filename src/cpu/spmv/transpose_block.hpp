// Small dense blocks turned in registers: 32 bytes of as many rows as these hold elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tulle::cpu {

/// Rows and columns of a block.
template <class T>
inline constexpr int turned_block = 32 / sizeof(T);

/// to[j * to_stride + i] = factor from[i * from_stride + j] for a block. Always inline, so that it is compiled for what
/// calls it.
template <bool Scaled, class T, class Factor>
[[gnu::always_inline]] inline void turn_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
                                              Factor factor) {
  constexpr int n = turned_block<T>;
  static_assert(n == 4 || n == 8);
  typedef T vec __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));
  vec a[n], b[n];
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i) a[i] = *reinterpret_cast<const vec*>(from + i * from_stride);
  if constexpr (n == 4) {
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
      b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
      a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
    }
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
      b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // columns 0, 1, 2, 3 of four rows, and 4 to 7 in the other half
      const int of = 4 * (i / 2), half = i % 2;
      a[of + 2 * half] = __builtin_shufflevector(b[of + half], b[of + half + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      a[of + 2 * half + 1] = __builtin_shufflevector(b[of + half], b[of + half + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) a[i] = b[i];
  }
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j) {
    vec* const at = reinterpret_cast<vec*>(to + j * to_stride);
    if constexpr (Scaled) {
      *at = static_cast<T>(factor) * a[j];
    } else {
      *at = a[j];
    }
  }
}

}  // namespace tulle::cpu

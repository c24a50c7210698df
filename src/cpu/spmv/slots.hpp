// What the padded formats share: a slot of several neighbouring rows at once, and when slices of 32 rows pad too much.
#pragma once

#include <fmt/format.h>

#include "cpu/spmv/arithmetic.hpp"
#include "kernels/padding.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Rows that one step takes: one cache line of values.
template <scalar T>
inline constexpr index_t slot_lanes = 64 / sizeof(T);

/// sum[l] += values[l] x[colind[l]] for `lanes` rows. Padding (column -1) loads x[0], which exists where a slot does,
/// and drops the product: a NaN there does not leak.
template <scalar T, scalar V>
[[gnu::always_inline]] inline void add_slot(V* sum, const T* values, const index_t* colind, const V* x, index_t lanes) {
#pragma omp simd
  for (index_t l = 0; l < lanes; ++l) {
    const index_t column = colind[l];
    const V product = V{values[l]} * x[column < 0 ? 0 : column];
    sum[l] += column < 0 ? V{0} : product;
  }
}

/// Rows of a window within which slices are sorted by length.
inline constexpr index_t default_sigma = 1024;

inline support supports_slices(const csr_stats& stats, type_key, const device_info&) {
  const double padding = stats.sell_sorted_padding;
  if (!pads_too_much(padding, padding * static_cast<double>(stats.nnz))) return {};
  return {false,
          fmt::format("sorted in windows of {} rows, slices of 32 make {:.1f} slots per nonzero: the limit is 3, "
                      "or 65536 slots",
                      default_sigma, padding)};
}

}  // namespace tulle::cpu

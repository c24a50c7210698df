// One step of the padded formats: a slot of several neighbouring rows at once.
#pragma once

#include "cpu/spmv/arithmetic.hpp"

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

}  // namespace tulle::cpu

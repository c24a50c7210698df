// What a warp learns of the values of a row that kernels/value_bound.hpp decides by: a lane reads every 32nd value, and
// all lanes have the same result.
#pragma once

#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "kernels/value_bound.hpp"

namespace tulle::cuda {

/// f(row), by whole warps, for rows a grid apart.
template <class F>
__device__ void for_each_row(std::int64_t rows, F f) {
  for (std::int64_t row = grid_thread() / 32; row < rows; row += grid_stride() / 32) f(row);
}
/// f(k) for those of a row's entries that are the lane's.
template <class O, class F>
__device__ void for_each_entry(const O* rowptr, std::int64_t row, F f) {
  for (std::int64_t k = std::int64_t{rowptr[row]} + lane_id(); k < rowptr[row + 1]; k += 32) f(k);
}

__device__ inline row_sizes of_all_lanes(row_sizes mine) {
  mine.sum = warp_sum(mine.sum);
  mine.largest = warp_max(mine.largest);
  mine.small = warp_sum(static_cast<long long>(mine.small));
  mine.beyond_f32 = __any_sync(full_warp, mine.beyond_f32 ? 1 : 0) != 0;
  return mine;
}
__device__ inline row_loss of_all_lanes(row_loss mine) {
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    mine.lost[k] = warp_sum(mine.lost[k]);
    mine.share[k] = warp_max(mine.share[k]);
  }
  return mine;
}

/// `below`: the limit of a rule of size, or 0.
template <class O>
__device__ row_sizes sizes_of(const csr_view<double, O>& a, std::int64_t row, double below) {
  row_sizes mine;
  for_each_entry(a.rowptr, row, [&](std::int64_t k) { mine.add(a.values[k], below); });
  return of_all_lanes(mine);
}

/// What is at `to` becomes a number that is not negative, where that is larger.
__device__ inline void raise(double* to, double number) {
  atomicMax(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(__double_as_longlong(number)));
}
__device__ inline void add_count(std::int64_t* to, std::int64_t count) {
  atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(count));
}
/// By one lane of a warp.
__device__ inline void add_counts(form_counts* to, const form_counts& counts) {
  for (int k = 0; k < 3; ++k) {
    if (counts.rows[k] == 0 && counts.entries[k] == 0) continue;
    add_count(&to->rows[k], counts.rows[k]);
    add_count(&to->entries[k], counts.entries[k]);
    add_count(&to->bytes[k], counts.bytes[k]);
  }
}

}  // namespace tulle::cuda

// Where the entries of a slice of the packed storage are in the CSR that it is made of.
#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/packed_format.cuh"

namespace tulle::cuda {

/// The lanes of a thread, and where their entries start in the CSR.
template <int Halves, class O>
struct packed_source {
  packed_lane lane[Halves];
  std::int64_t first[Halves];

  __device__ packed_source(const packed_pattern& a, const packed_slice& s, const O* rowptr, int part_length) {
    for (int h = 0; h < Halves; ++h) {
      lane[h] = lane_of(a, s, 32 * h + lane_id());
      first[h] = 0;
      if (lane[h].count == 0) continue;
      first[h] = std::int64_t{rowptr[lane[h].row]} + lane[h].within;
      if (s.rows == 0) first[h] += std::int64_t{s.order - a.long_row[a.part_row[s.order]].first} * part_length;
    }
  }
  /// The entry at position p; -1 when there is none.
  __device__ std::int64_t entry(const packed_slice& s, int h, int p) const {
    return p < lane[h].count ? first[h] + (std::int64_t{p} << s.lanes_log2) : -1;
  }
};

/// One warp per slice.
template <class... Parameters, class... Args>
void launch_slices(const context& ctx, const char* name, void (*kernel)(Parameters...), std::int64_t slices,
                   const Args&... args) {
  launch(name, kernel, threads_for(slices * 32), native(ctx), args...);
}

}  // namespace tulle::cuda

// Which lane has which row of a block row in a resident solver (resident.cuh).
#pragma once

#include "cuda/solvers/resident_plan.hpp"

namespace tulle::cuda {

/// The row of a lane, -1 if it has none, where `width` lanes halve `count` rows among them step by step, the upper half
/// of the lanes taking the smaller half.
__host__ __device__ constexpr int row_of_lane(int count, int width, int lane) {
  int first = 0, left = count, most = count;
  for (int d = width / 2; d > 0; d /= 2) {
    const int half = (most + 1) / 2;
    if ((lane & d) != 0) {
      first += half;
      left -= half;
    } else {
      left = left < half ? left : half;
    }
    most = half;
  }
  return left > 0 ? first : -1;
}

template <int Block>
struct resident_lanes {
  static constexpr int width = resident_width(Block);

  /// Four bits for each row.
  static constexpr unsigned packed = [] {
    unsigned all = 0;
    for (int lane = 0; lane < width; ++lane) {
      const int row = row_of_lane(Block, width, lane);
      if (row >= 0) all |= static_cast<unsigned>(lane) << (4 * row);
    }
    return all;
  }();
  static __device__ __forceinline__ int of_row(int row) { return static_cast<int>(packed >> (4 * row) & 15); }
};

}  // namespace tulle::cuda

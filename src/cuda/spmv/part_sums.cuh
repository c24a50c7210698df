// The sums of parts of cut rows, and the kernels that add them.
#pragma once

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/grid.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/row_pieces.cuh"

namespace tulle::cuda {

/// Of each part `columns` values, at the places that row_pieces gives them.
template <class T>
struct part_sums {
  T* data;
  index_t columns;
  __device__ __forceinline__ T* at(std::int32_t place) const { return data + std::int64_t{place} * columns; }
};

/// The parts first, first + step, ... of a row. Eight are read before any is added: left to itself the compiler, which
/// does not know the step, reads one after another.
template <class T>
__device__ __forceinline__ T add_parts_of(const cut_row& cut, const part_sums<T>& parts, index_t column, int first,
                                          int step) {
  constexpr int flight = 8;
  T sum{0};
  for (int i = first; i < cut.parts; i += flight * step) {
    T part[flight];
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      const int at = i + f * step;
      part[f] = at < cut.parts ? parts.at(cut.first + at)[column] : T{0};
    }
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      if (i + f * step < cut.parts) sum = add(sum, part[f]);
    }
  }
  return sum;
}

/// A warp of `cut_sum::warps` adds up to so many parts alone.
struct cut_sum {
  static constexpr int warps = 8;        // of a block
  static constexpr int most_alone = 64;  // parts
};

/// The parts of `rows` cut rows, `of_block` rows a block: 1, for few rows, which may have many parts, or one for each
/// of its warps. lane = (part) * width + (column); all warps of a block together take a row that is alone in it, and
/// one with many parts. blockIdx.y: which `width` columns, a power of two up to a warp.
template <class T>
__global__ void __launch_bounds__(32 * cut_sum::warps)
    cut_rows_kernel(const cut_row* cuts, int rows, int of_block, part_sums<T> parts, int width,
                    scale_and_store_many<T> store) {
  __shared__ T of_warp[cut_sum::warps][32];
  start_dependents();
  await_previous_grid();
  const int warp = static_cast<int>(threadIdx.x) / 32, along = 32 / width, part = lane_id() / width;
  const index_t column = static_cast<index_t>(blockIdx.y) * width + lane_id() % width;
  const bool live = column < parts.columns;
  const int first_row = static_cast<int>(blockIdx.x) * of_block, here = min(of_block, rows - first_row);
  const auto add_lanes = [&](T sum) {
    for (int d = width; d < 32; d *= 2) sum = add(sum, __shfl_xor_sync(full_warp, sum, d));
    return sum;
  };
  const auto by_all = [&](const cut_row& cut) { return of_block == 1 || cut.parts > cut_sum::most_alone; };
  const cut_row mine = warp < here ? cuts[first_row + warp] : cut_row{};
  if (warp < here && !by_all(mine)) {
    const T sum = add_lanes(live ? add_parts_of(mine, parts, column, part, along) : T{0});
    if (live && part == 0) store(mine.row, column, sum);
  }
  if (__syncthreads_or(warp < here && by_all(mine)) == 0) return;
  for (int r = 0; r < here; ++r) {
    const cut_row cut = cuts[first_row + r];
    if (!by_all(cut)) continue;
    of_warp[warp][lane_id()] =
        add_lanes(live ? add_parts_of(cut, parts, column, warp * along + part, cut_sum::warps * along) : T{0});
    __syncthreads();
    if (warp == 0 && part == 0 && live) {
      T sum{0};
      for (int w = 0; w < cut_sum::warps; ++w) sum = add(sum, of_warp[w][lane_id()]);
      store(cut.row, column, sum);
    }
    __syncthreads();
  }
}

}  // namespace tulle::cuda

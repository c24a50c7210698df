// The kernel of packed.cu, for values however they are stored: packed_values.cuh.
#pragma once

#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/packed_parts.cuh"
#include "cuda/spmv/packed_walk.cuh"

namespace tulle::cuda {

inline constexpr int packed_threads = 128;  // per block

/// Lanes per thread, positions in flight, resident blocks per multiprocessor. Two lanes per thread halve the cost of a
/// slice besides its entries; more positions in flight pay where x is read from everywhere.
template <int Lanes, int Flight, int Resident, bool Ahead = false, bool Peeled = false>
struct packed_tuning : packed_division<Lanes, 1, Flight, Ahead, Peeled> {
  static constexpr int resident = Resident;
  static constexpr bool fetches = Flight == 4;  // what rows read besides; L2 is busy with x where that is scattered
};
inline constexpr int fetched_width = 16;  // of slices whose rows are over so soon that a fetch is worth its place
using tall = packed_tuning<2, 4, 9>;
using tall_ahead = packed_tuning<2, 4, 9, true>;
using tall_product =
    packed_tuning<2, 4, 8>;  // of doubles, and nothing but A x: more registers are worth more than warps
using local = packed_tuning<1, 4, 10>;
using scattered = packed_tuning<1, 8, 8>;

template <class Tuning, class Values, class T, class Epilogue>
__global__ void __launch_bounds__(packed_threads, Tuning::resident)
    packed_kernel(packed_pattern a, Values values, const T* __restrict__ x, T* part_sum, Epilogue epilogue) {
  constexpr int lanes = Tuning::lanes;
  const std::int64_t i = (std::int64_t{blockIdx.x} * packed_threads + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    if constexpr (lanes == 2) prefetch_slice_ahead(a, i);
    const packed_slice s = load_slice(a, i);
    packed_lane lane[lanes];
    lanes_of<Tuning>(a, s, lane);
    T sum[lanes][1] = {};
#pragma unroll
    for (int h = 0; h < lanes; ++h) {
      if (Tuning::fetches && s.width < fetched_width && lane[h].owns_row) epilogue.fetch(lane[h].row);
    }
    with_values_of(s, values, [&](const auto& of_slice) {
      walk_slice<Tuning>(a, s, lane, of_slice, [&](int h, T value, index_t column) {
        sum[h][0] = multiply_add(value, __ldg(x + column), sum[h][0]);
      });
    });
    sum_rows<Tuning>(s, sum);
    if (s.rows == 0) {
      packed_long_row row;
      std::uint32_t slot;
      if (add_part<1>(a, s, sum[0], part_sum, row, slot))
        epilogue.shared_row(static_cast<index_t>(slot), row.row, sum[0][0]);
    } else {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        if (lane[h].owns_row) epilogue(lane[h].row, sum[h][0]);
      }
    }
  }
  epilogue.finish();
}

template <class Values, class T, class Epilogue>
using packed_function = void (*)(packed_pattern, Values, const T*, T*, Epilogue);

/// What a launch needs to know beside what it reads and writes.
struct packed_run {
  packed_pattern pattern;
  int height;  // of the slices
  bool scattered;
  bool ahead;

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(pattern.slices * 32, packed_threads); }
};

/// A x for values in fewer bytes than they are used in, or that slices share, with an epilogue of packed.cu.
template <class Values, class T, class Epilogue>
void packed_narrow(const packed_run& run, const Values& values, const T* x, T* part_sum, const Epilogue& epilogue,
                   cudaStream_t stream);

}  // namespace tulle::cuda

// Experiments, to be deleted: values a round ahead in registers ('6', '7'), and slices of one value a position ('8', '9').
#include "cuda/device/epilogue.cuh"
#include "cuda/spmv/packed_kernel.cuh"
#include "cuda/spmv/packed_tried.hpp"
#include "cuda/spmv/tried.hpp"

namespace tulle::cuda {
namespace {

template <class Division, class Values, class Take>
__device__ __forceinline__ void walk_next(const packed_pattern& a, const packed_slice& s,
                                          const packed_lane (&lane)[Division::lanes], const Values& values, Take take) {
  constexpr int lanes = Division::lanes, flight = Division::flight, height = Division::height;
  using raw = typename Values::raw;
  const index_t* const base = a.base + std::int64_t{s.bases} * packed_base_group;
  const Values slice_values = values.from(s.values, lane_id());
  index_t origin[lanes];
#pragma unroll
  for (int h = 0; h < lanes; ++h) origin[h] = origin_of(s.origin, lane[h], a.block);
  raw next[flight][lanes];
#pragma unroll
  for (int i = 0; i < flight; ++i) {
#pragma unroll
    for (int h = 0; h < lanes; ++h) next[i][h] = i < s.full ? slice_values.load(i, i * height + 32 * h) : raw{0};
  }
  for (int p = 0; p < s.full; p += flight) {
    raw value[flight][lanes];
#pragma unroll
    for (int i = 0; i < flight; ++i) {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        value[i][h] = next[i][h];
        const int q = p + flight + i;
        next[i][h] = q < s.full ? slice_values.load(q, q * height + 32 * h) : raw{0};
      }
    }
    index_t b[flight] = {};
#pragma unroll
    for (int i = 0; i < flight; i += packed_base_group) {
      if (p + i >= s.full) break;
      const int4 four = __ldg(reinterpret_cast<const int4*>(base + p + i));
      b[i] = four.x, b[i + 1] = four.y, b[i + 2] = four.z, b[i + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < flight; ++i) {
#pragma unroll
      for (int h = 0; h < lanes; ++h) {
        if (p + i < s.full) take(h, values.of(value[i][h]), origin[h] + b[i]);
      }
    }
  }
}

template <class Tuning, class Values, class T, class Epilogue>
__global__ void __launch_bounds__(packed_threads, Tuning::resident)
    next_kernel(packed_pattern a, Values values, const T* __restrict__ x, T* part_sum, Epilogue epilogue) {
  constexpr int lanes = Tuning::lanes;
  const std::int64_t i = (std::int64_t{blockIdx.x} * packed_threads + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    const packed_slice s = load_slice(a, i);
    packed_lane lane[lanes];
    lanes_of<Tuning>(a, s, lane);
    T sum[lanes][1] = {};
    with_values_of(s, values, [&](const auto& of_slice) {
      const auto take = [&](int h, T value, index_t column) {
        sum[h][0] = multiply_add(value, __ldg(x + column), sum[h][0]);
      };
      if (s.full == s.width && s.offset_bytes == 0)
        walk_next<Tuning>(a, s, lane, of_slice, take);
      else
        walk_slice<Tuning>(a, s, lane, of_slice, take);
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

/// Positions in fours: bases and values by one load each, x at 32-bit distances from a lane's own.
template <int Lanes, int Group, class T>
__device__ __forceinline__ void walk_alike(const packed_pattern& a, const packed_slice& s, const packed_lane (&lane)[Lanes],
                                           const T* __restrict__ pool, const T* __restrict__ x, T (&sum)[Lanes][1]) {
  const int4* const base = reinterpret_cast<const int4*>(a.base + std::int64_t{s.bases} * packed_base_group);
  const double2* const value = reinterpret_cast<const double2*>(pool + s.values);
  const T* own[Lanes];
#pragma unroll
  for (int h = 0; h < Lanes; ++h) own[h] = x + origin_of(s.origin, lane[h], a.block);
  const int groups = (s.width + 3) / 4;
  const auto add_four = [&](int g, auto whole) {
    constexpr bool all = decltype(whole)::value;
    const int4 b4 = __ldg(base + g);
    const double2 v01 = __ldg(value + 2 * g), v23 = __ldg(value + 2 * g + 1);
    const index_t b[4] = {b4.x, b4.y, b4.z, b4.w};
    const T v[4] = {v01.x, v01.y, v23.x, v23.y};
    T at[4][Lanes];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int h = 0; h < Lanes; ++h) at[k][h] = all || 4 * g + k < s.width ? __ldg(own[h] + b[k]) : T{0};
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (!all && 4 * g + k >= s.width) break;
#pragma unroll
      for (int h = 0; h < Lanes; ++h) sum[h][0] = multiply_add(v[k], at[k][h], sum[h][0]);
    }
  };
  int g = 0;
#pragma unroll Group
  for (; 4 * g + 4 <= s.width; ++g) add_four(g, std::true_type{});
  if (g < groups) add_four(g, std::false_type{});
}

template <class Tuning, int Group, class Values, class T, class Epilogue>
__global__ void __launch_bounds__(packed_threads, Tuning::resident)
    alike_kernel(packed_pattern a, Values values, const T* __restrict__ x, T* part_sum, Epilogue epilogue) {
  constexpr int lanes = Tuning::lanes;
  const std::int64_t i = (std::int64_t{blockIdx.x} * packed_threads + threadIdx.x) / 32;
  if (i < a.slices) {  // whole warps
    const packed_slice s = load_slice(a, i);
    packed_lane lane[lanes];
    lanes_of<Tuning>(a, s, lane);
    T sum[lanes][1] = {};
    if (s.alike != 0 && s.full == s.width && s.offset_bytes == 0) {
      walk_alike<lanes, Group>(a, s, lane, values.data, x, sum);
    } else {
      with_values_of(s, values, [&](const auto& of_slice) {
        walk_slice<Tuning>(a, s, lane, of_slice, [&](int h, T value, index_t column) {
          sum[h][0] = multiply_add(value, __ldg(x + column), sum[h][0]);
        });
      });
    }
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

template <class Values>
bool start(packed_function<Values, double, scale_and_store<double>> kernel, const packed_run& run, const Values& values,
           const double* x, double* part_sum, const scale_and_store<double>& epilogue, cudaStream_t stream) {
  launch("packed", kernel, {run.blocks(), packed_threads}, stream, run.pattern, values, x, part_sum, epilogue);
  return true;
}

template <class Values>
bool start_next(const packed_run& run, const Values& values, const double* x, double* part_sum,
                const scale_and_store<double>& epilogue, cudaStream_t stream) {
  using store = scale_and_store<double>;
  if (tried('6')) {
    return start(run.height == 64 ? next_kernel<packed_tuning<2, 4, 9>, Values, double, store>
                                  : next_kernel<packed_tuning<1, 8, 8>, Values, double, store>,
                 run, values, x, part_sum, epilogue, stream);
  }
  if (tried('7')) {
    return start(run.height == 64 ? next_kernel<packed_tuning<2, 4, 8>, Values, double, store>
                                  : next_kernel<packed_tuning<1, 4, 12>, Values, double, store>,
                 run, values, x, part_sum, epilogue, stream);
  }
  return false;
}

}  // namespace

bool packed_tried(const packed_run& run, const f32_under_f64& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream) {
  return start_next(run, values, x, part_sum, epilogue, stream);
}
bool packed_tried(const packed_run& run, const sliced_values& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream) {
  return start_next(run, values, x, part_sum, epilogue, stream);
}
bool packed_tried(const packed_run& run, const repeated_values<double>& values, const double* x, double* part_sum,
                  const scale_and_store<double>& epilogue, cudaStream_t stream) {
  using store = scale_and_store<double>;
  using Values = repeated_values<double>;
  if (run.height != 64) return false;
  if (tried('6')) {
    return start(alike_kernel<packed_tuning<2, 4, 9>, 1, Values, double, store>, run, values, x, part_sum, epilogue, stream);
  }
  if (tried('7')) {
    return start(alike_kernel<packed_tuning<2, 4, 12>, 1, Values, double, store>, run, values, x, part_sum, epilogue, stream);
  }
  if (tried('8')) {
    return start(alike_kernel<packed_tuning<2, 4, 9>, 2, Values, double, store>, run, values, x, part_sum, epilogue, stream);
  }
  if (tried('9')) {
    return start(alike_kernel<packed_tuning<2, 4, 8>, 2, Values, double, store>, run, values, x, part_sum, epilogue, stream);
  }
  return false;
}

}  // namespace tulle::cuda

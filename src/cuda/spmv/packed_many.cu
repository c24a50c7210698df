// packed for several right-hand sides; see packed.cu. Where X is row-major and aligned, eight at once: two
// neighbouring threads (f64) or one (f32) share an entry and read 32 bytes of a row of X each, one sector of memory;
// from 32 on, in slices of 32 lanes, 32 at once by four times as many. For other strides four at once, one lane per
// thread. Bytes per nonzero: as packed, once for 32, 8 or 4 right-hand sides.
#include <algorithm>

#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/packed_many.hpp"
#include "cuda/spmv/packed_parts.cuh"
#include "cuda/spmv/packed_walk.cuh"

namespace tulle::cuda {
namespace {

struct packed_many_policy {
  static constexpr int threads = 128;  // per block
  static constexpr int resident = 4;   // blocks per multiprocessor
  /// Positions in flight for `group` threads per entry: as many as leave 16 warps per multiprocessor.
  static constexpr int flight(int group) { return group == 1 ? 4 : 2; }
};

/// A thread's share of `Columns` neighbouring values: twice 16 bytes, each beside those of the other threads of its
/// group.
template <class T, int Columns>
struct side_by_side {
  static constexpr int count = 32 / sizeof(T);
  static constexpr int group = Columns / count;
  static constexpr int apart = Columns / 2;  // of the two
  const T* __restrict__ x;
  std::int64_t row_stride;
  T* y;
  std::int64_t y_row_stride, y_vector_stride;
  bool wide;  // rows of Y are contiguous and aligned to 16 bytes
  many_epilogue<T> then;

  static constexpr int columns = Columns;

  __device__ __forceinline__ void move_to(unsigned panel) {
    x += panel * Columns;
    y += panel * Columns * y_vector_stride;
    then = then.from(static_cast<index_t>(panel * Columns));
  }
  static __device__ __forceinline__ int first() { return static_cast<int>(threadIdx.x) % group * (count / 2); }
  __device__ __forceinline__ void fetch(index_t column, T (&out)[count]) const {
    const T* const from = x + column * row_stride + first();
    const int4 raw[2] = {__ldg(reinterpret_cast<const int4*>(from)),
                         __ldg(reinterpret_cast<const int4*>(from + apart))};
    memcpy(out, raw, sizeof(out));
  }
  /// Of its j-th value, in the panel.
  static __device__ __forceinline__ int column(int j) { return first() + (j < count / 2 ? j : apart + j - count / 2); }
  __device__ __forceinline__ T put(int j, T sum, T alpha, T beta, T old) const {
    const T scaled = alpha * sum;
    return then(beta == T{0} ? scaled : fma(beta, old, scaled), column(j));
  }
  __device__ __forceinline__ void store(index_t row, const T (&sum)[count], T alpha, T beta) const {
    if (!wide) return store_each(row, sum, alpha, beta);
    T* const at = y + row * y_row_stride + first();
    int4* const to[2] = {reinterpret_cast<int4*>(at), reinterpret_cast<int4*>(at + apart)};
    T out[count] = {};
    if (beta != T{0}) {
      const int4 old[2] = {*to[0], *to[1]};
      memcpy(out, old, sizeof(out));
    }
#pragma unroll
    for (int j = 0; j < count; ++j) out[j] = put(j, sum[j], alpha, beta, out[j]);
    int4 raw[2];
    memcpy(raw, out, sizeof(out));
    *to[0] = raw[0];
    *to[1] = raw[1];
  }
  __device__ __forceinline__ void store_each(index_t row, const T (&sum)[count], T alpha, T beta) const {
#pragma unroll
    for (int j = 0; j < count; ++j) {
      T* const to = y + row * y_row_stride + column(j) * y_vector_stride;
      *to = put(j, sum[j], alpha, beta, beta == T{0} ? T{0} : *to);
    }
  }
};

/// Up to four values anywhere.
template <class T>
struct strided {
  static constexpr int count = 4;
  static constexpr int group = 1;
  static constexpr int columns = count;
  const T* __restrict__ x;
  std::int64_t row_stride, vector_stride;
  T* y;
  std::int64_t y_row_stride, y_vector_stride;
  int live;  // from x and y on
  many_epilogue<T> then;

  __device__ __forceinline__ void move_to(unsigned panel) {
    x += panel * count * vector_stride;
    y += panel * count * y_vector_stride;
    live -= static_cast<int>(panel) * count;
    then = then.from(static_cast<index_t>(panel * count));
  }
  __device__ __forceinline__ void fetch(index_t column, T (&out)[count]) const {
#pragma unroll
    for (int j = 0; j < count; ++j) out[j] = j < live ? __ldg(x + column * row_stride + j * vector_stride) : T{0};
  }
  __device__ __forceinline__ void store(index_t row, const T (&sum)[count], T alpha, T beta) const {
#pragma unroll
    for (int j = 0; j < count; ++j) {
      if (j >= live) continue;
      T* const to = y + row * y_row_stride + j * y_vector_stride;
      const T scaled = alpha * sum[j];
      *to = then(beta == T{0} ? scaled : fma(beta, *to, scaled), j);
    }
  }
};

template <int Height, class Vectors>
using division_for =
    packed_division<Height * Vectors::group / 32, Vectors::group, packed_many_policy::flight(Vectors::group), true>;

template <class Division, class Values, class T, class Vectors>
__global__ void __launch_bounds__(packed_many_policy::threads, packed_many_policy::resident)
    packed_many_kernel(packed_pattern a, Values values, Vectors vectors, packed_many_room<T> room, T alpha, T beta,
                       const __grid_constant__ product_ahead ahead) {
  constexpr int lanes = Division::lanes, count = Vectors::count;
  const std::int64_t i = (std::int64_t{blockIdx.x} * packed_many_policy::threads + threadIdx.x) / 32;
  start_dependents();
  ahead.ask();
  if (i >= a.slices) return;  // whole warps
  vectors.move_to(blockIdx.y);
  a.long_row = room.long_row + blockIdx.y * room.long_rows;
  T* const part_sum = room.part_sum + blockIdx.y * room.parts * Vectors::columns;
  const packed_slice s = load_slice(a, i);
  packed_lane lane[lanes];
  lanes_of<Division>(a, s, lane);
  T sum[lanes][count] = {};
  with_values_of(s, values, [&](const auto& of_slice) {
    walk_slice<Division>(a, s, lane, of_slice, [&](int h, T value, index_t column) {
      T x[count];
      vectors.fetch(column, x);
#pragma unroll
      for (int j = 0; j < count; ++j) sum[h][j] = fma(value, x[j], sum[h][j]);
    });
  });
  sum_rows<Division>(s, sum);
  if (s.rows == 0) {
    packed_long_row row;
    std::uint32_t slot;
    if (add_part<Vectors::group>(a, s, sum[0], part_sum, row, slot)) vectors.store(row.row, sum[0], alpha, beta);
    return;
  }
#pragma unroll
  for (int h = 0; h < lanes; ++h) {
    if (lane[h].owns_row) vectors.store(lane[h].row, sum[h], alpha, beta);
  }
}

/// Values in whose form most matrices come.
template <class Values, class T>
constexpr bool takes_wide = std::is_same_v<Values, stored_values<T>>;

bool aligned(const void* p, std::int64_t stride_bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && stride_bytes % 16 == 0;
}

}  // namespace

template <class Values, class T>
void packed_many(const packed_pattern& a, int height, const Values& values, const packed_many_room<T>& room,
                 product_ahead ahead, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                 const many_epilogue<T>& then, cudaStream_t stream) {
  const auto start = [&](const auto& vectors, index_t panels) {
    using V = std::decay_t<decltype(vectors)>;
    auto kernel = packed_many_kernel<division_for<32, V>, Values, T, V>;
    if constexpr (V::group <= 2) {
      if (height == 64) kernel = packed_many_kernel<division_for<64, V>, Values, T, V>;
    }
    constexpr int threads = packed_many_policy::threads;
    launch("packed.many", kernel, {ceil_div(a.slices * 32, threads), threads, 0, panels}, ahead.behind, stream, a, values,
           vectors, room, static_cast<T>(alpha), static_cast<T>(beta), ahead);
    ahead = {};
  };
  /// From column `done` on in panels of `columns`, as many as are whole or, in strides, as are left.
  constexpr index_t most_panels = 1024;
  const auto panels_at_once = [&](index_t left, index_t columns) {
    return std::min(left, room.parts > 0 ? room.columns / columns : most_panels);
  };
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  index_t done = 0;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
  if (x.vector_stride == 1 && aligned(from, x.row_stride * bytes)) {
    const bool wide = y.vector_stride == 1 && aligned(to, y.row_stride * bytes);
    const auto by = [&]<int Columns>() {
      while (x.count - done >= Columns) {
        const index_t panels = panels_at_once((x.count - done) / Columns, Columns);
        start(side_by_side<T, Columns>{from + done, x.row_stride, to + done * y.vector_stride, y.row_stride,
                                       y.vector_stride, wide, then.from(done)},
              panels);
        done += panels * Columns;
      }
    };
    if constexpr (takes_wide<Values, T>) {
      if (height == 32) by.template operator()<packed_many_wide<T>>();
    }
    by.template operator()<8>();
  }
  while (done < x.count) {
    const index_t left = x.count - done, panels = panels_at_once((left + 3) / 4, 4);
    start(strided<T>{from + done * x.vector_stride, x.row_stride, x.vector_stride, to + done * y.vector_stride,
                     y.row_stride, y.vector_stride, left, then.from(done)},
          panels);
    done += 4 * panels;
  }
}

#define TULLE_INSTANTIATE(VALUES, T)                                                                       \
  template void packed_many(const packed_pattern&, int, const VALUES&, const packed_many_room<T>&, product_ahead,  \
                            double, const strided_vectors&, double, const strided_vectors&,                         \
                            const many_epilogue<T>&, cudaStream_t);
TULLE_INSTANTIATE(stored_values<float>, float)
TULLE_INSTANTIATE(bf16_values<float>, float)
TULLE_INSTANTIATE(stored_values<double>, double)
TULLE_INSTANTIATE(f32_under_f64, double)
TULLE_INSTANTIATE(bf16_values<double>, double)
TULLE_INSTANTIATE(listed_values<double>, double)
TULLE_INSTANTIATE(sliced_values, double)
TULLE_INSTANTIATE(words_values, double)
TULLE_INSTANTIATE(repeated_values<float>, float)
TULLE_INSTANTIATE(repeated_values<double>, double)
TULLE_INSTANTIATE(repeated_f32_under_f64, double)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda

// The kernels of bin_bsr.compact (bin_bsr_compact.cu), for values however they are stored: as numbers of T
// (whole_bins), or as 16 bits (short_bins).
#pragma once

#include <cuda_fp16.h>

#include "cuda/device/arithmetic.cuh"
#include "cuda/device/epilogue.cuh"
#include "cuda/device/load.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/block_vectors.cuh"
#include "cuda/spmv/csr_operator.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "kernels/bin_bsr.hpp"
#include "kernels/spmv.hpp"
#include "kernels/value_bound.hpp"

namespace tulle::cuda {

/// Numbers of T.
template <class T>
struct whole_bins : compact_view<T> {
  using stored = T;
  struct no_scale {};
  [[nodiscard]] __device__ __forceinline__ const T* at(std::int64_t place) const { return this->values + place; }
  [[nodiscard]] __device__ __forceinline__ no_scale scale(std::int64_t /*slot*/) const { return {}; }
  template <class V>
  [[nodiscard]] __device__ __forceinline__ V number(T raw, no_scale) const {
    return V{raw};
  }
};

/// bf16, or halves times a power of two that their block has. `values` of the view are none.
struct short_bins : compact_view<float> {
  using stored = std::uint16_t;
  const std::uint16_t* shorts = nullptr;
  const row_form* form = nullptr;  // of every block; null: bf16
  [[nodiscard]] __device__ __forceinline__ const std::uint16_t* at(std::int64_t place) const { return shorts + place; }
  [[nodiscard]] __device__ __forceinline__ float scale(std::int64_t slot) const {
    return form == nullptr ? 1.0f : f16_scale(load_stream(form + slot));
  }
  template <class V>
  [[nodiscard]] __device__ __forceinline__ V number(std::uint16_t raw, float scale) const {
    if (form == nullptr) return static_cast<V>(__uint_as_float(static_cast<std::uint32_t>(raw) << 16));
    return static_cast<V>(__half2float(__ushort_as_half(raw)) * scale);
  }
};

/// compact_place for what is no scalar.
template <class S>
constexpr int stored_place(int area, int lane, int e) {
  constexpr int vector = 16 / static_cast<int>(sizeof(S));
  const int whole = area / vector * vector;
  if (e >= whole) return e * bin_rows + lane;
  return (e / vector * bin_rows + lane) * vector + e % vector;
}

inline constexpr int bin_warps = 4;  // of a block
inline constexpr int bin_threads = 32 * bin_warps;
/// Right-hand sides of a pass: as many as registers hold.
template <int B, class V>
constexpr int many_width = B * sizeof(V) > 48 ? 2 : 4;

/// Slots in flight: about 80 bytes of values for each lane, so that many warps fit.
template <int B, class T>
constexpr int flight = B* B * sizeof(T) > 40   ? 1
                       : B* B * sizeof(T) > 20 ? 2
                                               : 4;

template <class T>
struct vector_load;
template <>
struct vector_load<float> {
  static __device__ __forceinline__ void run(const float* p, float* v) {
    float f[4];
    load_stream(p, f);
    v[0] = f[0], v[1] = f[1], v[2] = f[2], v[3] = f[3];
  }
};
template <>
struct vector_load<double> {
  static __device__ __forceinline__ void run(const double* p, double* v) {
    double f[2];
    load_stream(p, f);
    v[0] = f[0], v[1] = f[1];
  }
};

template <>
struct vector_load<std::uint16_t> {
  static __device__ __forceinline__ void run(const std::uint16_t* p, std::uint16_t* v) {
    std::int32_t pairs[4];
    load_stream(reinterpret_cast<const std::int32_t*>(p), pairs);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = static_cast<std::uint16_t>(pairs[i]);
      v[2 * i + 1] = static_cast<std::uint16_t>(static_cast<std::uint32_t>(pairs[i]) >> 16);
    }
  }
};

/// The lane's block of a slot, whose 32 blocks begin at `slot`.
template <int Area, class T>
__device__ __forceinline__ void load_block(const T* slot, int lane, T (&block)[Area]) {
  constexpr int vector = 16 / sizeof(T);
  constexpr int whole = Area / vector * vector;
#pragma unroll
  for (int e = 0; e < whole; e += vector) vector_load<T>::run(slot + stored_place<T>(Area, lane, e), block + e);
#pragma unroll
  for (int e = whole; e < Area; ++e) block[e] = load_stream(slot + stored_place<T>(Area, lane, e));
}

/// A mask in registers.
template <int B>
using block_bits = std::conditional_t<B <= 5, std::uint32_t, std::uint64_t>;

/// Calls use(mask, block, scale, fetch(column)) for the blocks of a lane among the slots part, part + parts, ... of a
/// bin. What is fetched (from x) and the blocks are on their way together: their columns were read a round before.
template <int B, int Flight, class View, class Fetch, class Use>
__device__ __forceinline__ void for_each_block(const View& a, std::int64_t bin, int part, int parts, Fetch fetch,
                                               Use use) {
  constexpr int area = B * B;
  const int lane = lane_id();
  const std::int64_t begin = a.binptr[bin];
  const int width = static_cast<int>((a.binptr[bin + 1] - begin) / bin_rows);
  const index_t* const columns = a.colind + begin + lane;
  const auto* const masks = reinterpret_cast<const compact_mask<B>*>(a.mask);
  index_t column[Flight];
#pragma unroll
  for (int i = 0; i < Flight; ++i) {
    const int s = part + i * parts;
    column[i] = s < width ? load_stream(columns + std::int64_t{s} * bin_rows) : -1;
  }
  for (int s = part; s < width; s += parts * Flight) {
    typename View::stored block[Flight][area];
    decltype(a.scale(0)) scale[Flight];
    block_bits<B> mask[Flight];
    decltype(fetch(index_t{0})) fetched[Flight];
    bool used[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = s + i * parts < width;
      const std::int64_t at = begin + std::int64_t{s + i * parts} * bin_rows;
      mask[i] = live && a.mask != nullptr ? masks[at + lane] : ~block_bits<B>{0};
      scale[i] = live ? a.scale(at + lane) : decltype(a.scale(0)){};
      if (live) load_block<area>(a.at(at * area), lane, block[i]);
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      used[i] = column[i] >= 0;
      fetched[i] = fetch(max(column[i], 0));
      const int next = s + (Flight + i) * parts;
      column[i] = next < width ? load_stream(columns + std::int64_t{next} * bin_rows) : -1;
    }
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      if (used[i]) use(mask[i], block[i], scale[i], fetched[i]);
    }
  }
}

/// A block's piece of x.
template <int B, class V>
struct piece_of_x {
  V v[B];
};

/// The row of the matrix that is row `at` of a bin's 32 B; -1: none.
template <int B, class View>
__device__ __forceinline__ std::int64_t row_of_bin(const View& a, std::int64_t bin, int at) {
  if (bin >= a.bins) return -1;
  const std::int64_t lane = bin * bin_rows + at / B;
  const std::int64_t R = a.perm != nullptr ? a.perm[lane] : lane;
  const std::int64_t row = R * B + at % B;
  return R >= 0 && row < a.rows ? row : -1;
}

/// `parts` warps share a bin: 1, 2 or 4.
template <int B, class View, class V, class Epilogue>
__global__ void __launch_bounds__(bin_threads)
    compact_kernel(View a, int parts, const V* __restrict__ x, Epilogue epilogue) {
  constexpr int rows = bin_rows * B;
  __shared__ V sums[bin_warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (bin_warps / parts);
  const std::int64_t bin = bin0 + warp / parts;
  const bool wide = wide_pieces<B>(x), whole = a.cols % B == 0;
  V sum[B] = {};
  if (bin < a.bins) {
    const auto fetch = [&](index_t column) {
      piece_of_x<B, V> piece;
      load_piece(x, std::int64_t{column} * B, a.cols, whole, wide, piece.v);
      return piece;
    };
    const auto use = [&](block_bits<B> mask, const auto& block, auto scale, const piece_of_x<B, V>& piece) {
      if (a.mask == nullptr) {
#pragma unroll
        for (int e = 0; e < B * B; ++e)
          sum[e / B] = multiply_add(a.template number<V>(block[e], scale), piece.v[e % B], sum[e / B]);
      } else {
#pragma unroll
        for (int e = 0; e < B * B; ++e) {
          if ((mask >> e & 1) != 0)
            sum[e / B] = multiply_add(a.template number<V>(block[e], scale), piece.v[e % B], sum[e / B]);
        }
      }
    };
    for_each_block<B, flight<B, typename View::stored>>(a, bin, warp % parts, parts, fetch, use);
  }
#pragma unroll
  for (int i = 0; i < B; ++i) sums[warp][lane_id() * B + i] = sum[i];
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < bin_warps / parts * rows; t += bin_threads) {
    const int which = t / rows, at = t % rows;
    const std::int64_t row = row_of_bin<B>(a, bin0 + which, at);
    if (row < 0) continue;
    V total = sums[which * parts][at];
    for (int p = 1; p < parts; ++p) total += sums[which * parts + p][at];
    epilogue(static_cast<index_t>(row), total);
  }
  epilogue.finish();
}

/// The pieces of `Width` right-hand sides from number `first` on. `wide`: those of a row of x lie side by side,
/// aligned.
template <int Width, int B, class V>
__device__ __forceinline__ void load_pieces(const typed_vectors<const V>& x, std::int64_t row, index_t rows,
                                            index_t first, index_t count, bool wide, V (&piece)[B][Width]) {
  constexpr int vector = 16 / sizeof(V) < Width ? 16 / sizeof(V) : Width;
#pragma unroll
  for (int j = 0; j < B; ++j) {
    const std::int64_t at = min(row + j, std::int64_t{rows} - 1);
    if (wide) {
#pragma unroll
      for (int v = 0; v < Width; v += vector) {
        using word = std::conditional_t<vector * sizeof(V) == 16, int4, int2>;
        const word raw = __ldg(reinterpret_cast<const word*>(x.at(at, first + v)));
        memcpy(&piece[j][v], &raw, sizeof(raw));
      }
    } else {
#pragma unroll
      for (int v = 0; v < Width; ++v) piece[j][v] = __ldg(x.at(at, min(first + v, count - 1)));
    }
    if (row + j < rows) continue;
#pragma unroll
    for (int v = 0; v < Width; ++v) piece[j][v] = V{0};
  }
}

/// many_width right-hand sides from number many_width * blockIdx.y on.
template <int B, class View, class V>
__global__ void __launch_bounds__(bin_threads)
    compact_many_kernel(View a, int parts, index_t count, V alpha, typed_vectors<const V> x, V beta,
                        typed_vectors<V> y) {
  constexpr int rows = bin_rows * B, width = many_width<B, V>;
  struct pieces {
    V v[B][width];
  };
  __shared__ V sums[bin_warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (bin_warps / parts);
  const std::int64_t bin = bin0 + warp / parts;
  const index_t first = static_cast<index_t>(blockIdx.y) * width;
  constexpr std::uintptr_t alignment = width * sizeof(V) < 16 ? width * sizeof(V) : 16;
  const bool wide = x.vector_stride == 1 && first + width <= count && x.row_stride * sizeof(V) % alignment == 0 &&
                    reinterpret_cast<std::uintptr_t>(x.data) % alignment == 0;
  V sum[width][B] = {};
  if (bin < a.bins) {
    const auto fetch = [&](index_t column) {
      pieces p;
      load_pieces(x, std::int64_t{column} * B, a.cols, first, count, wide, p.v);
      return p;
    };
    const auto use = [&](block_bits<B> mask, const auto& block, auto scale, const pieces& p) {
#pragma unroll
      for (int e = 0; e < B * B; ++e) {
        if (a.mask != nullptr && (mask >> e & 1) == 0) continue;
        const V number = a.template number<V>(block[e], scale);
#pragma unroll
        for (int v = 0; v < width; ++v) sum[v][e / B] = multiply_add(number, p.v[e % B][v], sum[v][e / B]);
      }
    };
    for_each_block<B, 1>(a, bin, warp % parts, parts, fetch, use);
  }
#pragma unroll
  for (int v = 0; v < width; ++v) {
    if (first + v >= count) break;  // the same for all bin_threads of the block
    __syncthreads();
#pragma unroll
    for (int i = 0; i < B; ++i) sums[warp][lane_id() * B + i] = sum[v][i];
    __syncthreads();
    for (int t = static_cast<int>(threadIdx.x); t < bin_warps / parts * rows; t += bin_threads) {
      const std::int64_t row = row_of_bin<B>(a, bin0 + t / rows, t % rows);
      if (row < 0) continue;
      V total = sums[t / rows * parts][t % rows];
      for (int p = 1; p < parts; ++p) total += sums[t / rows * parts + p][t % rows];
      const scale_and_store<V> store{alpha, beta, y.at(row, first + v)};
      store(0, total);
    }
  }
}

/// What a launch needs to know beside what it reads and writes.
struct bins_run {
  std::int64_t blocks;
  int parts;
};

template <class View, class V, class Epilogue>
void multiply_bins(const View& a, const bins_run& run, const V* x, const Epilogue& epilogue, cudaStream_t stream) {
  with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
    launch("bin_bsr.compact", compact_kernel<B, View, V, Epilogue>, {run.blocks, bin_threads}, stream, a, run.parts, x,
           epilogue);
  });
}

template <class View, class V>
void multiply_bins_many(const View& a, const bins_run& run, double alpha, const strided_vectors& x, double beta,
                        const strided_vectors& y, const V* /*of vectors*/, cudaStream_t stream) {
  with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
    const dim3 grid(static_cast<unsigned>(run.blocks), static_cast<unsigned>(ceil_div(x.count, many_width<B, V>)));
    compact_many_kernel<B, View, V><<<grid, bin_threads, 0, stream>>>(a, run.parts, x.count, static_cast<V>(alpha),
                                                                      typed_vectors<const V>(x), static_cast<V>(beta),
                                                                      typed_vectors<V>(y));
    check_launch("bin_bsr.compact.many");
  });
}

// By bin_bsr_compact_short.cu.
extern template void multiply_bins(const short_bins&, const bins_run&, const double*, const scale_and_store<double>&,
                                   cudaStream_t);
extern template void multiply_bins(const short_bins&, const bins_run&, const double*, const store_with_dots<double>&,
                                   cudaStream_t);
extern template void multiply_bins(const short_bins&, const bins_run&, const double*, const jacobi_step<double>&,
                                   cudaStream_t);
extern template void multiply_bins_many(const short_bins&, const bins_run&, double, const strided_vectors&, double,
                                        const strided_vectors&, const double*, cudaStream_t);

}  // namespace tulle::cuda

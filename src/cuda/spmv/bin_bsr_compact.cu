// bin_bsr.compact: bins of 32 block rows of like length (kernels/bin_bsr.hpp; the bins of bin_bsr with the sorting of
// SELL-C-sigma, Kreutzer et al., SISC 2014). One lane per block row: it multiplies whole blocks, of which it reads 16
// bytes at a time beside those of the other lanes, and keeps one sum for each row of the block. 1, 2 or 4 warps share a
// bin, slot by slot; their sums meet in shared memory in the order of the warps, and threads store rows in order.
// Padding (column -1) and entries outside the pattern (mask) never touch x.
// Bytes per nonzero of full blocks: sizeof(T) + 4 / block^2, times a padding of about 1.01 (8 / (block^2 fill) more
// with masks); plus 8 bytes per bin, 4 per block row where any moved, and one y per row. Several right-hand sides: a
// pass takes 2. `lanes`: warps of a bin. Chosen for a matrix that comes in bins.
#include <cstdlib>
#include "cuda/spmv/block_operator.cuh"
#include "cuda/spmv/block_vectors.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/block_input.hpp"

namespace tulle::cuda {
namespace {

constexpr int warps = 4;  // of a block
constexpr int threads = 32 * warps;
constexpr int many_width = 2;  // right-hand sides of a pass

/// Slots in flight: about `bytes` of values for each lane.
template <int B, class T, int bytes>
constexpr int flight = 2 * B * B * sizeof(T) > bytes   ? 1
                       : 4 * B * B * sizeof(T) > bytes ? 2
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

/// The lane's block of a slot, whose 32 blocks begin at `slot`.
template <int Area, class T>
__device__ __forceinline__ void load_block(const T* slot, int lane, T (&block)[Area]) {
  constexpr int vector = 16 / sizeof(T);
  constexpr int whole = Area / vector * vector;
#pragma unroll
  for (int e = 0; e < whole; e += vector) vector_load<T>::run(slot + compact_place<T>(Area, lane, e), block + e);
#pragma unroll
  for (int e = whole; e < Area; ++e) block[e] = load_stream(slot + compact_place<T>(Area, lane, e));
}

/// Calls use(mask, block, fetch(column)) for the blocks of a lane among the slots part, part + parts, ... of a bin. What is
/// fetched (from x) and the blocks are on their way together: their columns were read a round before.
template <int B, int Flight, class T, class Fetch, class Use>
__device__ __forceinline__ void for_each_block(const compact_view<T>& a, std::int64_t bin, int part, int parts,
                                               Fetch fetch, Use use) {
  constexpr int area = B * B;
  const int lane = lane_id();
  const std::int64_t begin = a.binptr[bin];
  const int width = static_cast<int>((a.binptr[bin + 1] - begin) / bin_rows);
  const index_t* const columns = a.colind + begin + lane;
  index_t column[Flight];
#pragma unroll
  for (int i = 0; i < Flight; ++i) {
    const int s = part + i * parts;
    column[i] = s < width ? load_stream(columns + std::int64_t{s} * bin_rows) : -1;
  }
  for (int s = part; s < width; s += parts * Flight) {
    T block[Flight][area];
    std::uint64_t mask[Flight];
    decltype(fetch(index_t{0})) fetched[Flight];
    bool used[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = s + i * parts < width;
      const std::int64_t at = begin + std::int64_t{s + i * parts} * bin_rows;
      mask[i] = live && a.mask != nullptr ? a.mask[at + lane] : ~std::uint64_t{0};
      if (live) load_block<area>(a.values + at * area, lane, block[i]);
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
      if (used[i]) use(mask[i], block[i], fetched[i]);
    }
  }
}

/// A block's piece of x.
template <int B, class V>
struct piece_of_x {
  V v[B];
};

/// The row of the matrix that is row `at` of a bin's 32 B; -1: none.
template <int B, class T>
__device__ __forceinline__ std::int64_t row_of_bin(const compact_view<T>& a, std::int64_t bin, int at) {
  if (bin >= a.bins) return -1;
  const std::int64_t lane = bin * bin_rows + at / B;
  const std::int64_t R = a.perm != nullptr ? a.perm[lane] : lane;
  const std::int64_t row = R * B + at % B;
  return R >= 0 && row < a.rows ? row : -1;
}

/// `parts` warps share a bin: 1, 2 or 4.
template <int B, int Way, class T, class V, class Epilogue>
__global__ void __launch_bounds__(threads)
    compact_kernel(compact_view<T> a, int parts, const V* __restrict__ x, Epilogue epilogue) {
  constexpr int rows = bin_rows * B;
  __shared__ V sums[warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (warps / parts);
  const std::int64_t bin = bin0 + warp / parts;
  const bool wide = wide_pieces<B>(x), whole = a.cols % B == 0;
  V sum[B] = {};
  if constexpr (std::is_same_v<Epilogue, store_with_dots<V>>) await_previous_grid();
  if (bin < a.bins) {
    const auto fetch = [&](index_t column) {
      piece_of_x<B, V> piece;
      load_piece(x, std::int64_t{column} * B, a.cols, whole, wide, piece.v);
      return piece;
    };
    const auto use = [&](std::uint64_t mask, const T(&block)[B * B], const piece_of_x<B, V>& piece) {
      if (a.mask == nullptr) {
#pragma unroll
        for (int e = 0; e < B * B; ++e) sum[e / B] = multiply_add(V{block[e]}, piece.v[e % B], sum[e / B]);
      } else {
#pragma unroll
        for (int e = 0; e < B * B; ++e) {
          if ((mask >> e & 1) != 0) sum[e / B] = multiply_add(V{block[e]}, piece.v[e % B], sum[e / B]);
        }
      }
    };
    for_each_block<B, flight<B, T, Way>>(a, bin, warp % parts, parts, fetch, use);
  }
#pragma unroll
  for (int i = 0; i < B; ++i) sums[warp][lane_id() * B + i] = sum[i];
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < warps / parts * rows; t += threads) {
    const int which = t / rows, at = t % rows;
    const std::int64_t row = row_of_bin<B>(a, bin0 + which, at);
    if (row < 0) continue;
    V total = sums[which * parts][at];
    for (int p = 1; p < parts; ++p) total += sums[which * parts + p][at];
    epilogue(static_cast<index_t>(row), total);
  }
  epilogue.finish();
}

/// many_width right-hand sides from number many_width * blockIdx.y on.
template <int B, class T, class V>
__global__ void __launch_bounds__(threads) compact_many_kernel(compact_view<T> a, int parts, index_t count, V alpha,
                                                               typed_vectors<const V> x, V beta, typed_vectors<V> y) {
  constexpr int rows = bin_rows * B;
  __shared__ V sums[warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (warps / parts);
  const std::int64_t bin = bin0 + warp / parts;
  const index_t first = static_cast<index_t>(blockIdx.y) * many_width;
  V sum[many_width][B] = {};
  if (bin < a.bins) {
    const auto use = [&](std::uint64_t mask, const T(&block)[B * B], index_t column) {
#pragma unroll
      for (int v = 0; v < many_width; ++v) {
        if (first + v >= count) break;
#pragma unroll
        for (int j = 0; j < B; ++j) {
          const std::int64_t at = std::int64_t{column} * B + j;
          const V element = at < a.cols ? __ldg(x.at(at, first + v)) : V{0};
#pragma unroll
          for (int i = 0; i < B; ++i) {
            if (a.mask == nullptr || (mask >> (i * B + j) & 1) != 0) {
              sum[v][i] = multiply_add(V{block[i * B + j]}, element, sum[v][i]);
            }
          }
        }
      }
    };
    for_each_block<B, flight<B, T, 144>>(a, bin, warp % parts, parts, [](index_t column) { return column; }, use);
  }
#pragma unroll
  for (int v = 0; v < many_width; ++v) {
    if (first + v >= count) break;  // the same for all threads of the block
    __syncthreads();
#pragma unroll
    for (int i = 0; i < B; ++i) sums[warp][lane_id() * B + i] = sum[v][i];
    __syncthreads();
    for (int t = static_cast<int>(threadIdx.x); t < warps / parts * rows; t += threads) {
      const std::int64_t row = row_of_bin<B>(a, bin0 + t / rows, t % rows);
      if (row < 0) continue;
      V total = sums[t / rows * parts][t % rows];
      for (int p = 1; p < parts; ++p) total += sums[t / rows * parts + p][t % rows];
      const scale_and_store<V> store{alpha, beta, y.at(row, first + v)};
      store(0, total);
    }
  }
}

/// Four warps, measured the fastest for blocks of 3, 4 and 6 of either type where a block row has 27 blocks; fewer
/// where they would have less than two each.
int pick_parts(const spmv_options& o, std::int64_t bins, std::int64_t slots) {
  if (o.lanes > 0) return o.lanes < warps ? o.lanes : warps;
  int parts = warps;
  while (parts > 1 && slots < 2 * parts * bins * bin_rows) parts /= 2;
  return parts;
}

template <class T, class V, class O>
class compact_operator final : public block_operator<compact_operator<T, V, O>, V, compact_storage<T, O>> {
  using base = block_operator<compact_operator, V, compact_storage<T, O>>;
  using base::storage_;

 public:
  compact_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : base(ctx, threads, a, s, o), parts_(pick_parts(o, storage_.view().bins, storage_.slots())) {
    this->dots_ = {ctx, blocks(), 0};
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    if (x.count == 0 || blocks() == 0) return;
    const device_guard guard(this->device_);
    const compact_view<T> a = storage_.view();
    const dim3 grid(static_cast<unsigned>(blocks()), static_cast<unsigned>(ceil_div(x.count, many_width)));
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
      compact_many_kernel<B, T, V><<<grid, threads, 0, native(stream)>>>(a, parts_, x.count, static_cast<V>(alpha),
                                                                         typed_vectors<const V>(x),
                                                                         static_cast<V>(beta), typed_vectors<V>(y));
      check_launch("bin_bsr.compact.many");
    });
  }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " lanes=" + std::to_string(parts_) + " padding=" + std::to_string(storage_.padding());
  }

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_.view().bins, warps / parts_); }
  template <class Epilogue>
  void start(Epilogue epilogue, const V* x, cudaStream_t stream) {
    const compact_view<T> a = storage_.view();
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
      if constexpr (std::is_same_v<T, V> && std::is_same_v<Epilogue, scale_and_store<V>>) {
        if (way_ == 288) return launch("bin_bsr.compact", compact_kernel<B, 288, T, V, Epilogue>, {blocks(), threads}, stream, a, parts_, x, epilogue);
        if (way_ == 80) return launch("bin_bsr.compact", compact_kernel<B, 80, T, V, Epilogue>, {blocks(), threads}, stream, a, parts_, x, epilogue);
      }
      this->template launch_product<Epilogue>("bin_bsr.compact", compact_kernel<B, 144, T, V, Epilogue>, {blocks(), threads}, stream, a,
                                              parts_, x, epilogue);
    });
  }

 private:
  int parts_;
  int way_ = std::getenv("TULLE_COMPACT_WAY") ? std::atoi(std::getenv("TULLE_COMPACT_WAY")) : 144;
};

}  // namespace

spmv_kernel bin_bsr_compact_entry() {
  return {
      .name = "bin_bsr.compact",
      .summary = "bins of 32 block rows of like length, one lane each",
      .backend = backend_kind::cuda,
      .types = type_set::floating | type_set::narrow,
      .takes_bsr = true,
      .takes_bin_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.lanes = true, .sigma = true, .block = true},
      .supports = supports_bsr,
      .make = make_block_operator<compact_operator, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cuda

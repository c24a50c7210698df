// bin_bsr.compact: bins of 32 block rows of like length (kernels/bin_bsr.hpp; the bins of bin_bsr with the sorting of
// SELL-C-sigma, Kreutzer et al., SISC 2014). One lane per block row: it multiplies whole blocks, of which it reads 16
// bytes at a time beside those of the other lanes, and keeps one sum for each row of the block. 1, 2 or 4 warps share a
// bin, slot by slot; their sums meet in shared memory in the order of the warps, and threads store rows in order.
// Padding (column -1) and entries outside the pattern (mask) never touch x.
// Bytes per nonzero of full blocks: sizeof(T) + 4 / block^2, times a padding of about 1.01 (1, 2, 4 or 8 / (block^2
// fill) more with masks); plus 8 bytes per bin, 4 per block row where any moved, and one y per row. Several right-hand
// sides: a pass takes 4, or 2 of large blocks. `lanes`: warps of a bin. Chosen for a matrix that comes in bins, and
// where blocks are full enough to need fewer bytes than csr5.
#include "cuda/spmv/block_operator.cuh"
#include "cuda/spmv/block_vectors.cuh"
#include "cuda/spmv/narrow_values.hpp"
#include "cuda/spmv/supports.hpp"
#include "kernels/block_input.hpp"

namespace tulle::cuda {
namespace {

constexpr int warps = 4;  // of a block
constexpr int threads = 32 * warps;
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

/// A mask in registers.
template <int B>
using block_bits = std::conditional_t<B <= 5, std::uint32_t, std::uint64_t>;

/// Calls use(mask, block, fetch(column)) for the blocks of a lane among the slots part, part + parts, ... of a bin.
/// What is fetched (from x) and the blocks are on their way together: their columns were read a round before.
template <int B, int Flight, class T, class Fetch, class Use>
__device__ __forceinline__ void for_each_block(const compact_view<T>& a, std::int64_t bin, int part, int parts,
                                               Fetch fetch, Use use) {
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
    T block[Flight][area];
    block_bits<B> mask[Flight];
    decltype(fetch(index_t{0})) fetched[Flight];
    bool used[Flight];
#pragma unroll
    for (int i = 0; i < Flight; ++i) {
      const bool live = s + i * parts < width;
      const std::int64_t at = begin + std::int64_t{s + i * parts} * bin_rows;
      mask[i] = live && a.mask != nullptr ? masks[at + lane] : ~block_bits<B>{0};
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
template <int B, class T, class V, class Epilogue>
__global__ void __launch_bounds__(threads)
    compact_kernel(compact_view<T> a, int parts, const V* __restrict__ x, Epilogue epilogue) {
  constexpr int rows = bin_rows * B;
  __shared__ V sums[warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (warps / parts);
  const std::int64_t bin = bin0 + warp / parts;
  const bool wide = wide_pieces<B>(x), whole = a.cols % B == 0;
  V sum[B] = {};
  if (bin < a.bins) {
    const auto fetch = [&](index_t column) {
      piece_of_x<B, V> piece;
      load_piece(x, std::int64_t{column} * B, a.cols, whole, wide, piece.v);
      return piece;
    };
    const auto use = [&](block_bits<B> mask, const T(&block)[B * B], const piece_of_x<B, V>& piece) {
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
    for_each_block<B, flight<B, T>>(a, bin, warp % parts, parts, fetch, use);
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
template <int B, class T, class V>
__global__ void __launch_bounds__(threads) compact_many_kernel(compact_view<T> a, int parts, index_t count, V alpha,
                                                               typed_vectors<const V> x, V beta, typed_vectors<V> y) {
  constexpr int rows = bin_rows * B, width = many_width<B, V>;
  struct pieces {
    V v[B][width];
  };
  __shared__ V sums[warps][rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t bin0 = std::int64_t{blockIdx.x} * (warps / parts);
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
    const auto use = [&](block_bits<B> mask, const T(&block)[B * B], const pieces& p) {
#pragma unroll
      for (int e = 0; e < B * B; ++e) {
        if (a.mask != nullptr && (mask >> e & 1) == 0) continue;
#pragma unroll
        for (int v = 0; v < width; ++v) sum[v][e / B] = multiply_add(V{block[e]}, p.v[e % B][v], sum[v][e / B]);
      }
    };
    for_each_block<B, 1>(a, bin, warp % parts, parts, fetch, use);
  }
#pragma unroll
  for (int v = 0; v < width; ++v) {
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

/// How values of f64 that all are floats become floats.
struct float_narrowing {
  static bool suits(const context& ctx, const double* values, std::int64_t count) {
    const value_storage found = narrowest(ctx, values, count).storage;
    return found == value_storage::f32 || found == value_storage::bf16;
  }
  static void run(const context& ctx, const double* from, std::int64_t count, float* to) {
    for_each_item(ctx, "compact.narrow", count,
                  [from, to] __device__(std::int64_t i) { to[i] = static_cast<float>(from[i]); });
  }
};

/// Four warps share a bin, or fewer where each would have less than two slots or less than 100 bytes for a lane: so
/// much pays for what a warp does besides.
int pick_parts(const spmv_options& o, std::int64_t bins, std::int64_t slots, std::int64_t slot_bytes) {
  constexpr std::int64_t least_bytes = 100;
  if (o.lanes > 0) return o.lanes < warps ? o.lanes : warps;
  const std::int64_t lanes = bins * bin_rows;
  int parts = warps;
  while (parts > 1 && (slots < 2 * parts * lanes || slots * slot_bytes < parts * lanes * least_bytes)) parts /= 2;
  return parts;
}

template <class T, class V, class O>
class compact_operator final : public block_operator<compact_operator<T, V, O>, V, compact_storage<T, O, float_narrowing>> {
  using base = block_operator<compact_operator, V, compact_storage<T, O, float_narrowing>>;
  using base::storage_;

 public:
  compact_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : base(ctx, threads, a, s, o),
        parts_(pick_parts(o, storage_.view().bins, storage_.slots(),
                          sizeof(T) * storage_.view().block * storage_.view().block)) {
    this->dots_ = {ctx, blocks(), 0};
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    if (x.count == 0 || blocks() == 0) return;
    const device_guard guard(this->device_);
    storage_.with_view([&]<class S>(const compact_view<S>& a) {
      with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
        const dim3 grid(static_cast<unsigned>(blocks()), static_cast<unsigned>(ceil_div(x.count, many_width<B, V>)));
        compact_many_kernel<B, S, V><<<grid, threads, 0, native(stream)>>>(a, parts_, x.count, static_cast<V>(alpha),
                                                                           typed_vectors<const V>(x),
                                                                           static_cast<V>(beta), typed_vectors<V>(y));
        check_launch("bin_bsr.compact.many");
      });
    });
  }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " lanes=" + std::to_string(parts_) + " padding=" + std::to_string(storage_.padding()) +
           (storage_.is_narrow() ? " values=f32" : "");
  }
  [[nodiscard]] bool narrows_values() const noexcept override { return storage_.is_narrow(); }
  [[nodiscard]] tulle::stored_values stored() const override { return storage_.stored(); }

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(storage_.view().bins, warps / parts_); }
  template <class Epilogue>
  void start(Epilogue epilogue, const V* x, cudaStream_t stream) {
    storage_.with_view([&]<class S>(const compact_view<S>& a) {
      with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
        launch("bin_bsr.compact", compact_kernel<B, S, V, Epilogue>, {blocks(), threads}, stream, a, parts_, x, epilogue);
      });
    });
  }

 private:
  int parts_;
};

/// H200, FEM of 3 unknowns, 59M floats under f64 vectors: 77 us in bins of blocks, 90 by rows (packed).
bool narrows(const context& ctx, const matrix_ref& a) {
  if (a.types.value != scalar_type::f64) return false;
  const auto found = narrowest(ctx, static_cast<const double*>(a.values), a.nnz);
  return found.storage == value_storage::f32 && found.list.empty();
}

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
      .narrows = narrows,
      .make = make_block_operator<compact_operator, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cuda

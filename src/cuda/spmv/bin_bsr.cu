// bin_bsr: bin-blocked CSR as its origin keeps it (formats/views.hpp): bins of 32 scalar rows, column-major, one column
// index for every row and block. One warp per bin, one lane per scalar row: a lane walks the slots of its row with
// several in flight; a warp reads 32 neighbouring values at once, and lanes of one block row the same piece of x.
// Padding (column -1) and entries outside the pattern (mask) never touch x. Offsets of a bin are consecutive, so two
// are read. Bytes per nonzero of full blocks: sizeof(T) + 4 / block, times the padding; plus 256 bytes per bin and one
// y per row. Several right-hand sides: a pass takes 4. Chosen by name, and with effort `none` for a matrix that comes
// in bins.
#include "cuda/spmv/block_operator.cuh"
#include "cuda/spmv/block_vectors.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/block_input.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads = 256;   // per block
constexpr int many_width = 4;  // right-hand sides of a pass

/// Slots of a row in flight: about 144 bytes of values.
template <int B, class T>
constexpr int flight = B * sizeof(T) >= 72   ? 2
                       : B * sizeof(T) >= 36 ? 4
                       : B * sizeof(T) >= 18 ? 6
                                             : 8;

/// Calls f(slot, column, bits, values) for the slots of a lane that are used, several at a time; values[j] are the
/// slot's, bits those that are in the pattern.
template <int B, class T, class F>
__device__ __forceinline__ void for_each_slot(const bin_bsr_view<T>& a, std::int64_t bin, int lane, F f) {
  constexpr int in_flight = flight<B, T>;
  const std::int64_t begin = a.rowptr[bin * bin_rows];
  const int width = static_cast<int>((a.rowptr[(bin + 1) * bin_rows] - begin) / bin_rows);
  const index_t* const colptr = a.colptr + begin + lane;
  const T* const values = a.values + begin * B + lane;
  for (int s = 0; s < width; s += in_flight) {
    index_t column[in_flight];
    unsigned bits[in_flight];
    T value[in_flight][B];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const bool live = s + i < width;
      const std::int64_t at = std::int64_t{s + i} * bin_rows;
      column[i] = live ? load_stream(colptr + at) : -1;
      bits[i] = live && a.mask != nullptr ? a.mask[begin + lane + at] : ~0u;
#pragma unroll
      for (int j = 0; j < B; ++j) value[i][j] = live ? load_stream(values + at * B + j * bin_rows) : T{0};
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (column[i] >= 0) f(column[i], bits[i], value[i]);
    }
  }
}

template <int B, class T, class V, class Epilogue>
__global__ void __launch_bounds__(threads)
    bin_bsr_kernel(bin_bsr_view<T> a, const V* __restrict__ x, Epilogue epilogue) {
  const std::int64_t row = grid_thread();
  if (row / bin_rows < a.bins) {
    const bool wide = wide_pieces<B>(x), whole = a.cols % B == 0;
    V sum{0};
    for_each_slot<B>(a, row / bin_rows, lane_id(), [&](index_t column, unsigned bits, const T(&value)[B]) {
      V piece[B];
      load_piece(x, std::int64_t{column} * B, a.cols, whole, wide, piece);
      if (a.mask == nullptr) {
#pragma unroll
        for (int j = 0; j < B; ++j) sum = multiply_add(V{value[j]}, piece[j], sum);
      } else {
#pragma unroll
        for (int j = 0; j < B; ++j) {
          if ((bits >> j & 1) != 0) sum = multiply_add(V{value[j]}, piece[j], sum);
        }
      }
    });
    if (row < a.rows) epilogue(static_cast<index_t>(row), sum);
  }
  epilogue.finish();
}

/// many_width right-hand sides from number many_width * blockIdx.y on.
template <int B, class T, class V>
__global__ void __launch_bounds__(threads) bin_bsr_many_kernel(bin_bsr_view<T> a, index_t count, V alpha,
                                                               typed_vectors<const V> x, V beta, typed_vectors<V> y) {
  const std::int64_t row = grid_thread();
  if (row / bin_rows >= a.bins) return;
  const index_t first = static_cast<index_t>(blockIdx.y) * many_width;
  V sum[many_width] = {};
  for_each_slot<B>(a, row / bin_rows, lane_id(), [&](index_t column, unsigned bits, const T(&value)[B]) {
#pragma unroll
    for (int j = 0; j < B; ++j) {
      if ((bits >> j & 1) == 0) continue;
#pragma unroll
      for (int v = 0; v < many_width; ++v) {
        if (first + v < count)
          sum[v] = multiply_add(V{value[j]}, __ldg(x.at(std::int64_t{column} * B + j, first + v)), sum[v]);
      }
    }
  });
  if (row >= a.rows) return;
#pragma unroll
  for (int v = 0; v < many_width; ++v) {
    if (first + v >= count) break;
    const scale_and_store<V> store{alpha, beta, y.at(row, first + v)};
    store(0, sum[v]);
  }
}

template <class T, class V, class O>
class bin_bsr_operator final : public block_operator<bin_bsr_operator<T, V, O>, V, bin_bsr_storage<T, O>> {
  using base = block_operator<bin_bsr_operator, V, bin_bsr_storage<T, O>>;
  using base::storage_;

 public:
  bin_bsr_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : base(ctx, threads, a, s, o) {
    this->dots_ = {ctx, blocks(), 0};
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    if (x.count == 0 || blocks() == 0) return;
    const device_guard guard(this->device_);
    const bin_bsr_view<T>& a = storage_.view();
    const dim3 grid(static_cast<unsigned>(ceil_div(std::int64_t{a.bins} * bin_rows, threads)),
                    static_cast<unsigned>(ceil_div(x.count, many_width)));
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
      bin_bsr_many_kernel<B, T, V><<<grid, threads, 0, native(stream)>>>(
          a, x.count, static_cast<V>(alpha), typed_vectors<const V>(x), static_cast<V>(beta), typed_vectors<V>(y));
      check_launch("bin_bsr.many");
    });
  }
  [[nodiscard]] std::string parameters() const override {
    return base::parameters() + " padding=" + std::to_string(storage_.padding());
  }

  [[nodiscard]] std::int64_t blocks() const { return ceil_div(std::int64_t{storage_.view().bins} * bin_rows, threads); }
  template <class Epilogue>
  void start(Epilogue epilogue, const V* x, cudaStream_t stream) {
    const bin_bsr_view<T>& a = storage_.view();
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(a.block, [&]<int B>() {
      launch("bin_bsr", bin_bsr_kernel<B, T, V, Epilogue>, {blocks(), threads}, stream, a, x, epilogue);
    });
  }
};

}  // namespace

spmv_kernel bin_bsr_entry() {
  return {
      .name = "bin_bsr",
      .summary = "bin-blocked CSR: bins of 32 rows, one lane per row",
      .backend = backend_kind::cuda,
      .types = type_set::floating | type_set::narrow,
      .takes_bsr = true,
      .takes_bin_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bin_bsr_operator, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cuda

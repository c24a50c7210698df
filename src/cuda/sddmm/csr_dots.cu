// csr.dots: C = alpha P o (U V^T) + beta C, a dot product for each entry of a CSR.
//
// Method: a warp takes a stretch of entries, 32 at a time, wherever rows end, so that every warp has the same work
// (Hong, Sukumaran-Rajam, Nisa, Singh, Sadayappan: Adaptive sparse tiling for sparse matrix multiplication, PPoPP 2019,
// balance rows by tiles; Yu, Dai, Huang, Wang: dgSPARSE, 2021, split entries for graphs). Each lane finds the row of
// its own entry, among offsets that the warp reads together. Then `Lanes` lanes take entry after entry: 16 bytes of a
// row of V each, `batch` rows in flight, against a row of U that stays in registers until a row ends. Partial sums
// change lanes by halves (a transposed reduction: batch - 1 shuffles for `batch` sums), so that each lane ends with the
// sum of its own entry and C is written whole sectors at a time. Features that are column-major are transposed, 128
// bytes of a row at a time, into panels of the plan's, and C is summed panel by panel; without room for panels they are
// read where they lie. Bytes per nonzero: 4 of the column, sizeof(T) of C (read too where beta != 0), k sizeof(T) of V,
// most of it from L2; per row and batch k sizeof(T) of U. No set-up, no workspace but the panels. The same bits on
// every run: the order of a sum depends on k and the alignment of U and V alone. Chosen always.
#include "core/instantiate.hpp"
#include "cuda/device/load.cuh"
#include "cuda/device/search.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256;     // threads
constexpr int batch = 8;       // rows of V in flight
constexpr int most_tiles = 8;  // of 32 entries a warp
constexpr int most_tiles_of_long_rows = 2;
constexpr std::int64_t long_row_bytes = 512;  // of V: neighbouring warps are then closer together in it
constexpr int wanted_warps = 8192;            // before a warp takes more than one tile

/// Row i of some features is at data + i * stride; they are `step` apart.
template <class T>
struct features {
  const T* data;
  std::int64_t stride;
  std::int64_t step;
};

template <class T, class O>
struct samples {
  csr_view<T, O> a;
  features<T> u, v;
  index_t k;
  T alpha, beta;
  const T* factors;  // A's values, or null
  T* c;
};

/// `Wide` neighbouring features of a row from `f` on; 0 past the last. k is a multiple of Wide.
template <class T>
__device__ __forceinline__ void load(const T* row, std::int64_t step, index_t f, index_t k, T (&to)[1]) {
  to[0] = f < k ? __ldg(row + f * step) : T{0};
}
__device__ __forceinline__ void load(const float* row, std::int64_t, index_t f, index_t k, float (&to)[4]) {
  const float4 v = f < k ? __ldg(reinterpret_cast<const float4*>(row + f)) : float4{0, 0, 0, 0};
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load(const double* row, std::int64_t, index_t f, index_t k, double (&to)[2]) {
  const double2 v = f < k ? __ldg(reinterpret_cast<const double2*>(row + f)) : double2{0, 0};
  to[0] = v.x, to[1] = v.y;
}

/// Of `Count` sums in each of Lanes lanes, lane l gets the whole of number l % Count, in a fixed order.
template <int Lanes, int Count, class T>
__device__ __forceinline__ T transposed_sum(T (&sum)[Count]) {
#pragma unroll
  for (int d = Count / 2; d > 0; d /= 2) {
    const bool upper = (lane_id() & d) != 0;
#pragma unroll
    for (int i = 0; i < d; ++i) {
      const T other = __shfl_xor_sync(full_warp, upper ? sum[i] : sum[i + d], d);
      sum[i] = (upper ? sum[i + d] : sum[i]) + other;
    }
  }
#pragma unroll
  for (int d = Count; d < Lanes; d *= 2) sum[0] += __shfl_xor_sync(full_warp, sum[0], d);
  return sum[0];
}

/// Where the row of each lane ends, of 32 rows from `first` on.
template <class O>
__device__ __forceinline__ O end_of(const O* rowptr, index_t first, index_t rows) {
  const index_t next = first + 1 + lane_id();
  return rowptr[next < rows ? next : rows];
}

/// The row of entry k of each lane, k ascending from lane to lane, the first of them not before row `first`, of which
/// and the following `end` says where they end.
template <class O>
__device__ __forceinline__ index_t rows_of(const O* rowptr, O end, index_t first, index_t rows, O k) {
  if (__shfl_sync(full_warp, end, 31) > __shfl_sync(full_warp, k, 31)) {  // the tile ends within 32 rows
    int low = 0;                                                          // offsets that are not above k
#pragma unroll
    for (int d = 16; d > 0; d /= 2) {
      if (__shfl_sync(full_warp, end, low + d - 1) <= k) low += d;
    }
    return first + low;
  }
  return row_of(rowptr, first, rows, k);
}

/// By a search of 33 parts at a time.
template <class O>
__device__ __forceinline__ index_t first_row(const O* rowptr, index_t rows, O k) {
  index_t low = 0, high = rows;  // rowptr[low] <= k < rowptr[high]
  while (high - low > 1) {
    const std::int64_t span = high - low;
    const auto at = static_cast<index_t>(low + span * (lane_id() + 1) / 33);
    const int below = __popc(__ballot_sync(full_warp, rowptr[at] <= k));
    const index_t new_low = below == 0 ? low : __shfl_sync(full_warp, at, below - 1);
    if (below < 32) high = __shfl_sync(full_warp, at, below);
    low = new_low;
  }
  return low;
}

/// sum[i] += the products of feature f.. of entries first + i of the tile: `Same`: all of one row.
template <bool Same, int Wide, int Count, class T, class O>
__device__ __forceinline__ void add_features(const samples<T, O>& s, index_t column, index_t row, int first, index_t f,
                                             T (&sum)[Count]) {
  T v[Count][Wide], u[Wide];
  if constexpr (Same) load(s.u.data + __shfl_sync(full_warp, row, first) * s.u.stride, s.u.step, f, s.k, u);
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    load(s.v.data + __shfl_sync(full_warp, column, first + i) * s.v.stride, s.v.step, f, s.k, v[i]);
  }
  index_t held = -1;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if constexpr (!Same) {
      const index_t r = __shfl_sync(full_warp, row, first + i);
      if (r != held) load(s.u.data + r * s.u.stride, s.u.step, f, s.k, u);
      held = r;
    }
#pragma unroll
    for (int w = 0; w < Wide; ++w) sum[i] = multiply_add(u[w], v[i][w], sum[i]);
  }
}

template <int Lanes, int Wide, class T, class O>
__global__ void __launch_bounds__(block) csr_dots_kernel(samples<T, O> s, int tiles) {
  constexpr int count = batch < Lanes ? batch : Lanes;
  const int lane = lane_id();
  const int group = lane / Lanes * Lanes;  // its first lane
  const std::int64_t warp = std::int64_t{blockIdx.x} * (block / 32) + threadIdx.x / 32;
  const std::int64_t begin = warp * tiles * 32, nnz = s.a.nnz;
  if (begin >= nnz) return;
  const auto own_of = [&](std::int64_t at) { return at + lane < nnz ? at + lane : nnz - 1; };  // the last again past it
  index_t column = load_stream(s.a.colind + own_of(begin));
  index_t first = first_row(s.a.rowptr, s.a.rows, static_cast<O>(begin));
  O end = end_of(s.a.rowptr, first, s.a.rows);

  for (int tile = 0; tile < tiles; ++tile) {
    const std::int64_t at = begin + tile * 32, own = own_of(at);
    if (at >= nnz) return;
    const index_t row = rows_of(s.a.rowptr, end, first, s.a.rows, static_cast<O>(own));
    first = __shfl_sync(full_warp, row, 31);
    // Of the next tile, on their way while this one is added up.
    const index_t next_column = load_stream(s.a.colind + own_of(at + 32));
    end = end_of(s.a.rowptr, first, s.a.rows);
    T result{0};
#pragma unroll 1
    for (int done = 0; done < Lanes; done += count) {
      const int of_batch = group + done;
      const index_t first_of_batch = __shfl_sync(full_warp, row, of_batch),
                    last = __shfl_sync(full_warp, row, of_batch + count - 1);
      const bool same = __all_sync(full_warp, first_of_batch == last);
      T sum[count] = {};
      const index_t own_feature = (lane - group) * Wide;
      if (same) {
        for (index_t f = 0; f < s.k; f += Lanes * Wide) {
          add_features<true, Wide>(s, column, row, of_batch, f + own_feature, sum);
        }
      } else {
        for (index_t f = 0; f < s.k; f += Lanes * Wide) {
          add_features<false, Wide>(s, column, row, of_batch, f + own_feature, sum);
        }
      }
      const T whole = transposed_sum<Lanes>(sum);
      if (Lanes == count || (lane - group) / count * count == done) result = whole;
    }
    if (at + lane < nnz) {
      T value = s.alpha * result;
      if (s.factors != nullptr) value *= load_stream(s.factors + own);
      s.c[own] = s.beta == T{0} ? value : multiply_add(s.beta, s.c[own], value);
    }
    column = next_column;
  }
}

/// to[i * width + f] = from[i * stride + f * step]: a thread takes a feature of a row, neighbours neighbouring rows
/// when it reads and neighbouring features when it writes.
template <class T, int Width>
__global__ void __launch_bounds__(block) panel_kernel(features<T> from, index_t rows, index_t k, T* to) {
  __shared__ T tile[Width][block / Width + 1];
  constexpr int height = block / Width;  // rows of a tile
  const std::int64_t first = std::int64_t{blockIdx.x} * height;
  const int f_in = static_cast<int>(threadIdx.x) / height, i_in = static_cast<int>(threadIdx.x) % height;
  if (first + i_in < rows && f_in < k) tile[f_in][i_in] = from.data[(first + i_in) * from.stride + f_in * from.step];
  __syncthreads();
  const int i_out = static_cast<int>(threadIdx.x) / Width, f_out = static_cast<int>(threadIdx.x) % Width;
  if (first + i_out < rows && f_out < k) to[(first + i_out) * Width + f_out] = tile[f_out][i_out];
}

template <class T, class O>
class csr_dots final : public sddmm_operator {
 public:
  csr_dots(const context& ctx, csr_view<T, O> a, const sddmm_options& options)
      : a_(a),
        device_(ctx.device()),
        times_values_(options.times_values),
        panel_(options.column_major ? buffer<T>(ctx, static_cast<std::size_t>(std::int64_t{a.rows} + a.cols) * width)
                                    : buffer<T>()) {}

  void apply(double alpha, const strided_vectors& u, const strided_vectors& v, double beta, void* c,
             stream_view stream) override {
    const device_guard guard(device_);
    samples<T, O> s{a_,
                    features_of(u),
                    features_of(v),
                    u.count,
                    static_cast<T>(alpha),
                    static_cast<T>(beta),
                    times_values_ ? a_.values : nullptr,
                    static_cast<T*>(c)};
    const bool transposes = !panel_.empty() && u.count > 1 && (s.u.step != 1 || s.v.step != 1);
    const index_t each = transposes ? width : std::max<index_t>(u.count, 1);
    for (index_t first = 0; first < u.count || first == 0; first += each) {
      samples<T, O> part = s;
      part.k = std::min(each, u.count - first);
      part.u = panel_of(s.u, a_.rows, first, part.k, transposes, panel_.data(), native(stream));
      part.v = panel_of(s.v, a_.cols, first, part.k, transposes, panel_.data() + std::int64_t{a_.rows} * width,
                        native(stream));
      if (first > 0) part.beta = T{1};
      run(part, native(stream));
    }
  }
  void update_values(const matrix_ref& a) override { a_ = a.as<T, O>(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return panel_.bytes(); }

 private:
  static constexpr index_t width = panel_features(scalar_type_of<T>);

  static features<T> features_of(const strided_vectors& v) {
    return {static_cast<const T*>(v.data), v.row_stride, v.vector_stride};
  }
  static bool aligned(const features<T>& x) {
    return x.step == 1 && reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && x.stride * sizeof(T) % 16 == 0;
  }

  static void run(const samples<T, O>& s, cudaStream_t stream) {
    constexpr int wide = 16 / sizeof(T);
    if (s.k % wide == 0 && aligned(s.u) && aligned(s.v)) {
      if (s.k <= 2 * wide) return run<2, wide>(s, stream);
      if (s.k <= 4 * wide) return run<4, wide>(s, stream);
      return run<8, wide>(s, stream);
    }
    run<8, 1>(s, stream);
  }
  template <int Lanes, int Wide>
  static void run(const samples<T, O>& s, cudaStream_t stream) {
    const std::int64_t all = ceil_div(s.a.nnz, 32), row_bytes = s.k * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t most = row_bytes >= long_row_bytes ? most_tiles_of_long_rows : most_tiles;
    const auto tiles = static_cast<int>(std::clamp<std::int64_t>(all / wanted_warps, 1, most));
    launch("csr_dots", csr_dots_kernel<Lanes, Wide, T, O>, threads_for(ceil_div(all, tiles) * 32, block), stream, s,
           tiles);
  }

  /// The features [first, first + k) of all rows side by side; where they are, if that is so already.
  static features<T> panel_of(const features<T>& from, index_t rows, index_t first, index_t k, bool transposes, T* to,
                              cudaStream_t stream) {
    if (from.step == 1 || !transposes) return {from.data + first * from.step, from.stride, from.step};
    const features<T> part{from.data + first * from.step, from.stride, from.step};
    launch("panel", panel_kernel<T, width>, threads_for(std::int64_t{rows} * width, block), stream, part, rows, k, to);
    return {to, width, 1};
  }

  csr_view<T, O> a_;
  int device_;
  bool times_values_;
  buffer<T> panel_;  // of U and then V; empty: none
};

}  // namespace

sddmm_kernel csr_dots_entry() {
  return {
      .name = "csr.dots",
      .summary = "equal entries per warp, lanes along the features, sums exchanged by halves",
      .backend = backend_kind::cuda,
      .make = make_operator<csr_dots>,
  };
}

}  // namespace tulle::cuda

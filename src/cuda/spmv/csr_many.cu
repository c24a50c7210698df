// Several right-hand sides at once from a CSR read in place, rows whole: row splitting as in Yang, Buluc and Owens
// (Euro-Par 2018, "Design principles for sparse matrix multiplication on the GPU"), for both orders of X. `across`
// lanes side by side have neighbouring columns of Y, 16 bytes each where X is by rows and aligned, `along` lanes take
// every along-th entry of the row; what they sum is added by shuffles. Column-major X: each lane has 8 columns and
// entries of its own, as neighbouring entries tend to read neighbouring elements. Rows that would take a lane more than
// 64 entries come last, by the whole block. There is nothing between a row and its entries, neither a piece nor a part
// of a sum: what a small product takes is the time of reads that wait for one another. Bytes per nonzero: sizeof(T) + 4
// for each panel of up to 128 bytes of a row of Y, and a row of X out of L2 or L1. Chosen, as csr.warp, where matrices
// are small or columns few and rows alike; also taken by the kernels that read the CSR in place where they were named,
// and at effort none. One block walks the longest row.
#include "core/instantiate.hpp"
#include "cuda/device/grid.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spmv/csr_many.cuh"
#include "cuda/spmv/many_walk.cuh"
#include "cuda/spmv/product_ahead.cuh"
#include "kernels/row_lanes.hpp"

namespace tulle::cuda {
namespace {

/// Threads of a block. By columns fewer, with more registers and twice the rows of X on their way (H200, linear
/// programs of 129,000 entries, f32, 32 columns: 53 us by blocks of 256, 21 by these; others 0.93 to 1.04 of the time).
template <class Rows>
constexpr int threads = Rows::count < 8 ? 256 : 128;

/// Rows of X on their way. H200, by rows, time with 8 over that with 4: f64 1.00, 0.97 where rows have more than 16
/// entries; f32 1.05 to 1.15.
template <class Rows, class T>
constexpr int flight = Rows::aligned && sizeof(T) == 8 ? 8 : 4;

/// What the lanes of a block have summed of one row, added up.
template <class Rows, class T>
__device__ __forceinline__ void add_warps(T (&sum)[Rows::count], T (&of_warp)[threads<Rows> / 32][32], int across) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  add_lanes(sum, across, 32);
  if (lane_id() < across) {
    for (int i = 0; i < Rows::count; ++i) of_warp[warp][i * across + lane_id()] = sum[i];
  }
  __syncthreads();
  if (warp == 0 && lane_id() < across) {
    for (int i = 0; i < Rows::count; ++i) {
      for (int w = 1; w < threads<Rows> / 32; ++w) sum[i] = add(sum[i], of_warp[w][i * across + lane_id()]);
    }
  }
  __syncthreads();
}

/// Blocks of a multiprocessor: left to itself the compiler saves registers and reads one row of X after another.
template <class Rows, class T>
constexpr int resident = flight<Rows, T> == 8                ? 3
                         : Rows::count < 8 || sizeof(T) == 8 ? 4
                                                             : 5;

/// blockIdx.y: panel of across * Rows::count columns, at most 32. `Ahead`: as csr_pieces_stream_kernel.
template <bool Ahead, class Rows, class T, class O>
__global__ void __launch_bounds__(threads<Rows>, resident<Rows, T>)
    csr_many_kernel(csr_view<T, O> a, Rows rows_of_x, row_lanes by, scale_and_store_many<T> store,
                    const __grid_constant__ product_ahead ahead) {
  constexpr int count = Rows::count, block = threads<Rows>;
  __shared__ T of_warp[block / 32][32];
  __shared__ unsigned long_rows[block / 32];  // lanes that begin one
  if constexpr (Ahead) {
    start_dependents();
    ahead.ask();
  }
  const int across = by.across, of_row = across * by.along;
  const int lane = lane_id() % across, first = lane_id() / across % by.along;  // entry
  const std::int64_t row = grid_thread() / of_row;
  const index_t column0 = static_cast<index_t>(blockIdx.y) * (across * count);
  const auto read = rows_of_x.from(column0).of(lane, across);
  const bool there = row < a.rows;
  const O begin = there ? a.rowptr[row] : O{0}, end = there ? a.rowptr[row + 1] : O{0};
  const bool is_long = end - begin > row_lanes::most_of_lane * by.along;
  const auto keep = [&](index_t r, const T(&sum)[count]) {
    store_columns<Rows>(store, r, column0, rows_of_x.columns, lane, across, sum);
  };
  T sum[count] = {};
  add_entries<flight<Rows, T>, Rows>(entries(a, begin, is_long ? begin : end, first), by.along, read, sum);
  __syncwarp();
  add_lanes(sum, across, of_row);
  if (there && !is_long && first == 0) keep(static_cast<index_t>(row), sum);

  if (__syncthreads_or(is_long) == 0) return;
  const unsigned mine = __ballot_sync(full_warp, is_long && lane_id() % of_row == 0);
  if (lane_id() == 0) long_rows[threadIdx.x / 32] = mine;
  __syncthreads();
  for (int w = 0; w < block / 32; ++w) {
    for (unsigned left = long_rows[w]; left != 0; left &= left - 1) {
      const int leader = w * 32 + __ffs(static_cast<int>(left)) - 1;
      const auto r = static_cast<index_t>((std::int64_t{blockIdx.x} * block + leader) / of_row);
      T share[count] = {};
      add_entries<flight<Rows, T>, Rows>(
          entries(a, a.rowptr[r], a.rowptr[r + 1], static_cast<int>(threadIdx.x) / across), block / across, read,
          share);
      __syncwarp();
      add_warps<Rows>(share, of_warp, across);
      if (static_cast<int>(threadIdx.x) < across) keep(r, share);
    }
  }
}

template <class Rows, class T, class O>
void start(const csr_view<T, O>& a, const Rows& x, const row_panels& panels, const scale_and_store_many<T>& store,
           const product_ahead& ahead, int multiprocessors, cudaStream_t stream) {
  const row_lanes by = lanes_for(a.rows, a.nnz, panels.across, panels.panels, multiprocessors);
  const auto kernel = ahead.has_any() ? csr_many_kernel<true, Rows, T, O> : csr_many_kernel<false, Rows, T, O>;
  launch("csr_many", kernel,
         {ceil_div(std::int64_t{a.rows} * by.of_row(), threads<Rows>), threads<Rows>, 0, panels.panels}, ahead.behind,
         stream, a, x, by, store, ahead);
}

}  // namespace

template <scalar T, offset O>
void csr_many(const csr_view<T, O>& a, const strided_vectors& x, const scale_and_store_many<T>& store,
              int multiprocessors, bool behind, cudaStream_t stream) {
  constexpr index_t each = 16 / sizeof(T), most = 8 * 65535;  // columns of a launch
  for (index_t done = 0, now = 0; done < x.count; done += now) {
    const index_t left = std::min(x.count - done, most);
    const strided_vectors rest = some_of<T>(x, done, left);
    const auto* const from = static_cast<const T*>(rest.data);
    const auto go = [&](const auto& rows, const row_panels& panels) {
      start(a, rows, panels, store.from(done), ahead_of(a, rest, behind && done == 0), multiprocessors, stream);
    };
    now = left;
    if (is_wide<T>(rest) && left >= each) {
      now = left - left % each;
      go(wide_rows<T>{from, rest.row_stride, now}, panels_for(now, true, sizeof(T)));
    } else if (is_by_row(rest)) {
      const int across = lanes_across(left, 1);
      go(strided_rows<T, 1>{from, rest.row_stride, 1, left}, row_panels{across, 1, ceil_div(left, across)});
    } else {
      go(strided_rows<T, 8>{from, rest.row_stride, rest.vector_stride, left}, panels_for(left, false, sizeof(T)));
    }
  }
}

#define TULLE_INSTANTIATE(T, O)                                                                                    \
  template void csr_many(const csr_view<T, O>&, const strided_vectors&, const scale_and_store_many<T>&, int, bool, \
                         cudaStream_t);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda

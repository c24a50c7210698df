// csr.merge: merge-path SpMV (Merrill and Garland, SC 2016), with carries in a fixed order instead of atomics.
// Row ends and nonzeros are merged into one list of work items, cut into equal tiles, one per block. The block leaves
// the products of its nonzeros and its row ends in shared memory; a thread then walks `items` consecutive work items: a
// nonzero adds to the running sum, a row end finishes a row. Sums that cross threads are added by a segmented scan,
// sums that cross blocks as carries.cuh says. Bytes per nonzero: sizeof(T) + 4; plus one offset and one y per row and 4
// words per tile. Chosen by policy `simple` where row lengths vary: its time depends on nnz + rows alone. Needs no
// converted copy.
#include "cuda/device/load.cuh"
#include "cuda/device/segment_scan.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/carries.cuh"

namespace tulle::cuda {
namespace {

template <class T>
struct merge_policy {
  static constexpr int items = sizeof(T) == 8 ? 7 : 11;  // per thread; odd: no bank conflicts at this distance
  static constexpr int most_threads = 256;
  static constexpr int least_threads = 64;  // for small matrices
  static constexpr int tiles_per_multiprocessor = 4;
};

/// Where diagonal `d` crosses the merge path: the number of row ends before it.
template <class O, class Position>
__device__ __forceinline__ Position merge_search(const O* row_end, Position rows, Position nnz, Position d) {
  Position low = d > nnz ? d - nnz : 0;
  Position high = d < rows ? d : rows;
  while (low < high) {
    const Position middle = low + (high - low) / 2;
    if (static_cast<Position>(row_end[middle]) <= d - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// tile_row[t]: the row at which tile t starts; its first nonzero is t * tile_size - tile_row[t].
template <class T, class O>
__global__ void find_merge_tiles(csr_view<T, O> a, int tile_size, std::int32_t tiles, index_t* tile_row) {
  const std::int64_t t = grid_thread();
  if (t > tiles) return;
  const std::int64_t rows = a.rows, nnz = a.nnz;
  tile_row[t] = static_cast<index_t>(merge_search(a.rowptr + 1, rows, nnz, min(t * tile_size, rows + nnz)));
}

template <class T, class O>
__global__ void find_merge_cuts(csr_view<T, O> a, int tile_size, std::int32_t tiles, const index_t* tile_row,
                                index_t* row, std::int32_t* last) {
  const std::int64_t t = grid_thread();
  if (t >= tiles) return;
  const index_t r = tile_row[t + 1];
  row[t] = r;
  last[t] = static_cast<std::int32_t>(t);
  if (r >= a.rows) return;
  const std::int64_t begin = t * tile_size - tile_row[t];
  const std::int64_t end = (t + 1) * tile_size - r;
  const std::int64_t start = a.rowptr[r];
  if (start >= begin && start < end)
    last[t] = static_cast<std::int32_t>((std::int64_t{a.rowptr[r + 1]} + r) / tile_size);
}

template <class T, class O>
__global__ void csr_merge_kernel(csr_view<T, O> a, const index_t* __restrict__ tile_row, const T* __restrict__ x,
                                 T* head, scale_and_store<T> store) {
  constexpr int items = merge_policy<T>::items;
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ segment_scan_storage<T> storage;
  const int tile_size = blockDim.x * items;
  const std::int64_t tile = blockIdx.x;
  const std::int64_t diagonal = tile * tile_size;
  const std::int64_t next_diagonal = min(diagonal + tile_size, std::int64_t{a.rows} + a.nnz);
  const index_t row0 = tile_row[tile];
  const int rows = tile_row[tile + 1] - row0;
  const std::int64_t nonzero0 = diagonal - row0;
  const int nonzeros = static_cast<int>(next_diagonal - diagonal) - rows;

  T* const products = reinterpret_cast<T*>(raw);                     // nonzeros
  int* const row_end = reinterpret_cast<int*>(products + nonzeros);  // rows, counted from nonzero0
  for (int r = threadIdx.x; r < rows; r += blockDim.x) {
    row_end[r] = static_cast<int>(std::int64_t{a.rowptr[row0 + r + 1]} - nonzero0);
  }
  const T* const values = a.values + nonzero0;
  const index_t* const colind = a.colind + nonzero0;
  index_t column[items];
  T value[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const int k = threadIdx.x + i * blockDim.x;
    column[i] = k < nonzeros ? load_stream(colind + k) : -1;
    value[i] = k < nonzeros ? load_stream(values + k) : T{0};
  }
#pragma unroll
  for (int i = 0; i < items; ++i) {
    if (column[i] >= 0) products[threadIdx.x + i * blockDim.x] = multiply_add(value[i], __ldg(x + column[i]), T{0});
  }
  __syncthreads();

  const int total = rows + nonzeros;
  const int first = min(static_cast<int>(threadIdx.x) * items, total);
  const int count = min(items, total - first);
  int row = merge_search(row_end, rows, nonzeros, first);
  int nonzero = first - row;
  const int start_row = row;
  T sum{0}, first_sum{0};
  for (int i = 0; i < count; ++i) {
    if (row < rows && row_end[row] <= nonzero) {
      if (row == start_row) {
        first_sum = sum;  // the parts of earlier threads are added below
      } else {
        store(row0 + row, sum);
      }
      sum = T{0};
      ++row;
    } else {
      sum = add(sum, products[nonzero++]);
    }
  }

  const T carry = block_segment_scan(static_cast<index_t>(row), sum, storage);  // of the row open at the thread's end
  T before = __shfl_up_sync(full_warp, carry, 1);
  if (lane_id() == 0) before = threadIdx.x == 0 ? T{0} : storage.value[threadIdx.x / 32 - 1];

  const bool goes_on = rows + nonzeros > 0 && row0 < a.rows && std::int64_t{a.rowptr[row0]} < nonzero0;
  const auto finish = [&](int local_row, T value_of_row) {
    if (local_row == 0 && goes_on) {
      head[tile] = value_of_row;
    } else {
      store(row0 + local_row, value_of_row);
    }
  };
  if (row > start_row) finish(start_row, add(first_sum, before));
  if (threadIdx.x == blockDim.x - 1 && row0 + rows < a.rows) {  // the row that goes on in the next tile
    const bool has_part = std::int64_t{a.rowptr[row0 + rows]} < nonzero0 + nonzeros;
    if (has_part) finish(rows, carry);
  }
}

/// Fewer threads where the matrix is so small that not every multiprocessor would get its tiles.
template <class T>
int merge_block_size(std::int64_t work, const context& ctx, const spmv_options& o) {
  using policy = merge_policy<T>;
  const std::int64_t tiles = std::int64_t{policy::tiles_per_multiprocessor} * ctx.info().multiprocessors;
  int threads = policy::most_threads;
  while (threads > policy::least_threads && work < tiles * threads * policy::items) threads /= 2;
  return pick_block_size(o, threads);
}

template <class T, class O>
class csr_merge final : public csr_operator<T, O> {
 public:
  csr_merge(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& o)
      : csr_operator<T, O>(ctx, a, merge_block_size<T>(std::int64_t{a.rows} + a.nnz, ctx, o)),
        tile_size_(this->block_size_ * merge_policy<T>::items),
        carries_(ctx, static_cast<std::int32_t>(ceil_div(std::int64_t{a.rows} + a.nnz, tile_size_))),
        tile_row_(ctx, static_cast<std::size_t>(carries_.tiles()) + 1) {
    const std::int32_t tiles = carries_.tiles();
    if (tiles == 0) return;
    const device_guard guard(this->device_);
    launch("find_merge_tiles", find_merge_tiles<T, O>, threads_for(tiles + 1, 128), native(ctx), a, tile_size_, tiles,
           tile_row_.data());
    launch("find_merge_cuts", find_merge_cuts<T, O>, threads_for(tiles, 128), native(ctx), a, tile_size_, tiles,
           tile_row_.data(), carries_.row(), carries_.last());
    check(cudaFuncSetAttribute(csr_merge_kernel<T, O>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes())),
          "cudaFuncSetAttribute");
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return carries_.bytes() + tile_row_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return csr_operator<T, O>::matrix_bytes() + workspace_bytes();
  }

 private:
  /// Products and row ends of a tile: at most one value for each work item, as no value is smaller than a row end.
  [[nodiscard]] std::size_t shared_bytes() const { return static_cast<std::size_t>(tile_size_) * sizeof(T); }

  void run(scale_and_store<T> store, const T* x, cudaStream_t stream) override {
    launch("csr.merge", csr_merge_kernel<T, O>, {carries_.tiles(), this->block_size_, shared_bytes()}, stream, this->a_,
           tile_row_.data(), x, carries_.head(), store);
    carries_.add(store, stream);
  }

  int tile_size_;
  carries<T> carries_;
  buffer<index_t> tile_row_;
};

}  // namespace

spmv_kernel csr_merge_entry() {
  return {
      .name = "csr.merge",
      .summary = "merge-path: equal work per thread whatever the row lengths",
      .backend = backend_kind::cuda,
      .types = type_set::all,
      .needs_set_up = false,
      .has = {.many = true, .finish = true},
      .listens_to = {.block_size = true},
      .make = make_operator<csr_merge, type_set::all>,
  };
}

}  // namespace tulle::cuda

// Vectors into another order and back, and the columns of some rows.
//
// A thread takes four elements of a vector, a block apart, so that their loads overlap; or one element of several
// vectors. Bytes per element: a number of 4, what is written, and of what is read a sector of 32 where neighbours come
// from far apart.
#include "cuda/device/arithmetic.cuh"
#include "cuda/reorder/reorder.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "kernels/types.hpp"

namespace tulle::cuda {
namespace {

constexpr int elements = 4;

template <class T>
__device__ __forceinline__ void put(T* y, T value, T beta) {
  *y = beta == T{0} ? value : multiply_add(beta, *y, value);
}

template <class T>
__global__ void gather_kernel(const index_t* __restrict__ from, index_t n, const T* __restrict__ x, T beta, T* y) {
  const std::int64_t first = std::int64_t{blockIdx.x} * block_threads * elements + threadIdx.x;
  index_t at[elements];
  T value[elements];
#pragma unroll
  for (int u = 0; u < elements; ++u) {
    const std::int64_t i = first + u * block_threads;
    at[u] = i < n ? __ldg(from + i) : 0;
  }
#pragma unroll
  for (int u = 0; u < elements; ++u) value[u] = __ldg(x + at[u]);
#pragma unroll
  for (int u = 0; u < elements; ++u) {
    const std::int64_t i = first + u * block_threads;
    if (i < n) put(y + i, value[u], beta);
  }
}

template <class T>
struct vectors {
  T* data;
  std::int64_t row_stride, vector_stride;

  explicit vectors(const strided_vectors& v)
      : data(static_cast<T*>(v.data)), row_stride(v.row_stride), vector_stride(v.vector_stride) {}
  __device__ __forceinline__ T* at(std::int64_t i, index_t j) const {
    return data + i * row_stride + j * vector_stride;
  }
};

/// Neighbouring threads take neighbouring elements of y, whichever way it is stored.
template <class T>
__global__ void gather_many_kernel(const index_t* __restrict__ from, index_t n, index_t count, vectors<T> x, T beta,
                                   vectors<T> y) {
  const bool by_row = y.vector_stride == 1;
  for (std::int64_t k = grid_thread(); k < std::int64_t{n} * count; k += grid_stride()) {
    const std::int64_t i = by_row ? k / count : k % n;
    const auto j = static_cast<index_t>(by_row ? k % count : k / n);
    put(y.at(i, j), *x.at(from[i], j), beta);
  }
}

}  // namespace

void gather_vectors(const vector_move& move, const strided_vectors& x, double beta, const strided_vectors& y) {
  if (move.n == 0 || x.count == 0) return;
  const device_guard guard(move.ctx.device());
  const cudaStream_t stream = native(move.stream);
  dispatch<type_set::all>({move.type}, [&]<class T, class>() {
    const T b = static_cast<T>(beta);
    if (x.count == 1 && x.row_stride == 1 && y.row_stride == 1) {
      launch("gather", gather_kernel<T>, {ceil_div(move.n, block_threads * elements)}, stream, move.from, move.n,
             static_cast<const T*>(x.data), b, static_cast<T*>(y.data));
    } else {
      launch("gather_many", gather_many_kernel<T>, bounded(move.ctx, threads_for(std::int64_t{move.n} * x.count)),
             stream, move.from, move.n, x.count, vectors<T>(x), b, vectors<T>(y));
    }
  });
}

void split_order(const context& ctx, const index_t* from, index_t n, index_t span, index_t* source, index_t* place) {
  buffer<std::uint64_t> ranges(ctx, static_cast<std::size_t>(n));
  buffer<std::int64_t> numbers(ctx, static_cast<std::size_t>(n));
  std::uint64_t* const range = ranges.data();
  std::int64_t* number = numbers.data();
  for_each_item(ctx, "ranges", n, [=] __device__(std::int64_t i) {
    range[i] = static_cast<std::uint64_t>(from[i] / span);
    number[i] = i;
  });
  sort_pairs(ctx, ranges, numbers, 0, bits_for(ceil_div(n, span)));
  number = numbers.data();
  for_each_item(ctx, "split_order", n, [=] __device__(std::int64_t p) {
    source[p] = from[number[p]];
    place[number[p]] = static_cast<index_t>(p);
  });
}

void row_columns(const context& ctx, const matrix_ref& a, const index_t* rows, index_t count, index_t most,
                 index_t* columns) {
  const bool wide = a.types.offset == offset_type::i64;
  const auto* const rowptr = static_cast<const char*>(a.rowptr);
  const index_t* const colind = a.colind;
  for_each_item(ctx, "row_columns", std::int64_t{count} * most, [=] __device__(std::int64_t k) {
    const index_t row = rows[k / most];
    const auto offset = [&](index_t r) {
      return wide ? reinterpret_cast<const std::int64_t*>(rowptr)[r]
                  : std::int64_t{reinterpret_cast<const std::int32_t*>(rowptr)[r]};
    };
    const std::int64_t at = offset(row) + k % most;
    columns[k] = at < offset(row + 1) ? colind[at] : -1;
  });
}

}  // namespace tulle::cuda

// Operands of C = A B on the device: order of rows, duplicates, values in another order, [alpha A | I], [B ; beta D].
// One thread: an entry, or a row.
#include <cstddef>
#include <cub/block/block_reduce.cuh>
#include <utility>

#include "core/backends.hpp"
#include "cuda/device/arithmetic.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "kernels/operand_kernels.hpp"

namespace tulle::cuda {
namespace {

/// Adds what the threads of a block found to `found`, with one atomic per number.
__device__ void add_counts(pattern_counts mine, pattern_counts* found) {
  using reduce = cub::BlockReduce<unsigned long long, block_threads>;
  __shared__ typename reduce::TempStorage shared[2];
  const unsigned long long defects = reduce(shared[0]).Sum(mine.defects);
  const unsigned long long descents = reduce(shared[1]).Sum(mine.descents);
  if (threadIdx.x != 0) return;
  if (defects != 0) atomicAdd(&found->defects, defects);
  if (descents != 0) atomicAdd(&found->descents, descents);
}

/// Columns that do not increase from one entry to the next, less those where a row begins: 0 where every row increases.
/// Reads nothing out of bounds, whatever the offsets are; the count of descents means nothing then.
template <class O>
__global__ void __launch_bounds__(block_threads)
    inspect_kernel(index_t rows, index_t cols, std::int64_t nnz, const O* __restrict__ rowptr,
                   const index_t* __restrict__ colind, pattern_counts* found) {
  constexpr int depth = 4;  // entries, or rows, that a thread has in flight
  unsigned defects = 0;
  std::int64_t descents = 0;
  for (std::int64_t i = grid_thread(); i < nnz; i += depth * grid_stride()) {
    index_t column[depth], before[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const std::int64_t k = i + u * grid_stride();
      column[u] = k < nnz ? colind[k] : 0;
      before[u] = k < nnz && k > 0 ? colind[k - 1] : -1;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const bool real = i + u * grid_stride() < nnz;
      defects += real && (column[u] < 0 || column[u] >= cols);
      descents += real && column[u] <= before[u];
    }
  }
  for (std::int64_t i = grid_thread(); i < rows; i += depth * grid_stride()) {
    std::int64_t begin[depth], end[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      const std::int64_t r = i + u * grid_stride();
      begin[u] = r < rows ? rowptr[r] : 0;
      end[u] = r < rows ? rowptr[r + 1] : 0;
    }
#pragma unroll
    for (int u = 0; u < depth; ++u) {
      defects += end[u] < begin[u] || end[u] > nnz || begin[u] < 0;
      if (begin[u] > 0 && begin[u] < end[u] && begin[u] < nnz) descents -= colind[begin[u]] <= colind[begin[u] - 1];
    }
  }
  if (grid_thread() == 0) defects += rowptr[0] != 0 || rowptr[rows] != nnz;
  add_counts({defects, static_cast<unsigned long long>(descents)}, found);
}

buffer<pattern_counts> inspect(const context& ctx, std::span<const csr_ref> matrices) {
  const device_guard guard(ctx.device());
  buffer<pattern_counts> counts(ctx, matrices.size());
  fill_bytes(ctx, counts.data(), memory_space::device, 0, counts.bytes());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const csr_ref& a = matrices[i];
    dispatch<type_set::all>(a.types, [&]<class T, class O>() {
      launch_items(ctx, "inspect", inspect_kernel<O>, std::max(a.nnz, std::int64_t{a.rows} + 1), a.rows, a.cols, a.nnz,
                   static_cast<const O*>(a.rowptr), a.colind, counts.data() + i);
    });
  }
  return counts;
}

template <class T>
__global__ void number_kernel(std::int64_t n, T* to) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) to[i] = static_cast<T>(i);
}

void number(const context& ctx, scalar_type type, std::int64_t n, void* to) {
  const device_guard guard(ctx.device());
  if (type == scalar_type::f64) {
    launch_items(ctx, "number", number_kernel<double>, n, n, static_cast<double*>(to));
  } else {
    launch_items(ctx, "number", number_kernel<std::int32_t>, n, n, static_cast<std::int32_t*>(to));
  }
}

/// heads[k] = 1 where entry k is the first of its column in its row.
template <class O>
__global__ void mark_heads(index_t rows, const O* rowptr, const index_t* colind, std::int64_t* heads) {
  for_each_entry(rows, rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active) heads[k] = k == rowptr[row] || colind[k] != colind[k - 1];
  });
}

/// `places`: the scan of the heads, nnz + 1 of them.
template <class O>
__global__ void place_heads(index_t rows, std::int64_t nnz, const O* rowptr, const index_t* colind,
                            const std::int64_t* places, O* folded_rowptr, index_t* folded_colind,
                            std::int64_t* segments) {
  const std::int64_t items = max(nnz, std::int64_t{rows}) + 1;
  for (std::int64_t i = grid_thread(); i < items; i += grid_stride()) {
    if (i <= rows) folded_rowptr[i] = static_cast<O>(places[rowptr[i]]);
    if (i == nnz) segments[places[nnz]] = nnz;
    if (i >= nnz || places[i + 1] == places[i]) continue;
    folded_colind[places[i]] = colind[i];
    segments[places[i]] = i;
  }
}

template <class O>
folded_pattern fold_typed(const context& ctx, const csr_ref& a) {
  const O* rowptr = static_cast<const O*>(a.rowptr);
  auto places = zero_counts(ctx, a.nnz);
  launch_entries(ctx, "mark_heads", mark_heads<O>, a.nnz, a.rows, rowptr, a.colind, places.data());
  exclusive_scan(ctx, places);
  const auto nnz = static_cast<std::size_t>(read_back(ctx, places.data() + a.nnz));
  folded_pattern out{buffer<std::byte>(ctx, (static_cast<std::size_t>(a.rows) + 1) * sizeof(O)),
                     buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz + 1)};
  launch_items(ctx, "place_heads", place_heads<O>, std::max(a.nnz, std::int64_t{a.rows}) + 1, a.rows, a.nnz, rowptr,
               a.colind, places.data(), reinterpret_cast<O*>(out.rowptr.data()), out.colind.data(),
               out.segments.data());
  return out;
}

folded_pattern fold(const context& ctx, const csr_ref& a) {
  const device_guard guard(ctx.device());
  return a.types.offset == offset_type::i64 ? fold_typed<std::int64_t>(ctx, a) : fold_typed<std::int32_t>(ctx, a);
}

template <class T, class P>
__global__ void gather_kernel(std::int64_t count, const std::int64_t* segments, const P* positions, const T* from,
                              T scale, T* to) {
  const auto at = [=](std::int64_t j) { return positions ? static_cast<std::int64_t>(positions[j]) : j; };
  for (std::int64_t i = grid_thread(); i < count; i += grid_stride()) {
    const std::int64_t begin = segments ? segments[i] : i, end = segments ? segments[i + 1] : i + 1;
    T sum = from[at(begin)];
    for (std::int64_t j = begin + 1; j < end; ++j) sum += from[at(j)];
    to[i] = scale * sum;
  }
}

template <class T, class P>
void gather_typed(const context& ctx, const value_gather& g) {
  using sum = sum_of<T>;
  launch_items(ctx, "gather", gather_kernel<sum, P>, g.count, g.count, g.segments, static_cast<const P*>(g.positions),
               static_cast<const sum*>(g.from), static_cast<sum>(static_cast<T>(g.scale)), static_cast<sum*>(g.to));
}

void gather(const context& ctx, const value_gather& g) {
  const device_guard guard(ctx.device());
  const bool wide = g.position_type == scalar_type::f64;
  if (g.scale == 0) {
    const auto bytes = static_cast<std::size_t>(g.count) * size_of(g.type);
    fill_bytes(ctx, g.to, memory_space::device, 0, bytes);
  } else {
    dispatch<type_set::all>({g.type, offset_type::i32}, [&]<class T, class O>() {
      wide ? gather_typed<T, double>(ctx, g) : gather_typed<T, std::int32_t>(ctx, g);
    });
  }
}

template <class O>
__global__ void append_identity_rows(index_t rows, index_t cols, const O* rowptr, O* to, index_t* colind) {
  for (std::int64_t i = grid_thread(); i <= rows; i += grid_stride()) {
    to[i] = static_cast<O>(rowptr[i] + i);
    if (i < rows) colind[rowptr[i + 1] + i] = static_cast<index_t>(cols + i);
  }
}

template <class E, class O>
__global__ void copy_beside(index_t rows, const O* rowptr, const E* from, E scale, E* to) {
  for_each_entry(rows, rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active) to[k + row] = scale * from[k];
  });
}

void append_identity(const context& ctx, const csr_ref& a, void* rowptr, index_t* colind) {
  const device_guard guard(ctx.device());
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const O* from = static_cast<const O*>(a.rowptr);
    launch_items(ctx, "append_identity", append_identity_rows<O>, std::int64_t{a.rows} + 1, a.rows, a.cols, from,
                 static_cast<O*>(rowptr), colind);
    launch_entries(ctx, "copy_beside", copy_beside<index_t, O>, a.nnz, a.rows, from, a.colind, index_t{1}, colind);
  });
}

template <class T, class O>
__global__ void place_ones(index_t rows, const O* rowptr, T* values) {
  for (std::int64_t i = grid_thread(); i < rows; i += grid_stride()) values[rowptr[i + 1] + i] = T{1};
}

void fill_beside_identity(const context& ctx, const csr_ref& a, double alpha, void* values) {
  const device_guard guard(ctx.device());
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const O* rowptr = static_cast<const O*>(a.rowptr);
    using sum = sum_of<T>;
    sum* to = static_cast<sum*>(values);
    launch_items(ctx, "place_ones", place_ones<sum, O>, a.rows, a.rows, rowptr, to);
    launch_entries(ctx, "copy_beside", copy_beside<sum, O>, a.nnz, a.rows, rowptr, static_cast<const sum*>(a.values),
                   static_cast<sum>(static_cast<T>(alpha)), to);
  });
}

template <class O>
__global__ void append_offsets_kernel(index_t rows, std::int64_t first, const O* from, O* to) {
  for (std::int64_t i = grid_thread(); i <= rows; i += grid_stride()) to[i] = static_cast<O>(first + from[i]);
}

void append_offsets(const context& ctx, const csr_ref& below, std::int64_t first, void* to) {
  const device_guard guard(ctx.device());
  dispatch<type_set::all>(below.types, [&]<class T, class O>() {
    launch_items(ctx, "append_offsets", append_offsets_kernel<O>, std::int64_t{below.rows} + 1, below.rows, first,
                 static_cast<const O*>(below.rowptr), static_cast<O*>(to));
  });
}

}  // namespace

const operand_kernels& operands() {
  static constexpr operand_kernels table = {
      .inspect = inspect,
      .number = number,
      .fold = fold,
      .gather = gather,
      .append_identity = append_identity,
      .fill_beside_identity = fill_beside_identity,
      .append_offsets = append_offsets,
  };
  return table;
}

}  // namespace tulle::cuda

// Values that follow a pattern, scaled values, the diagonal, and the identity.
//
// One thread: an entry, or for the diagonal a lane of the warp that has the row. Gather: 8 bytes per nonzero of each of
// positions and segments, and twice the value; scale: 12 to 24 bytes per nonzero; diagonal: 4 bytes per nonzero.
#include "cuda/device/warp.cuh"
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/entries.cuh"

namespace tulle::cuda {
namespace {

template <class T>
__global__ void map_kernel(std::int64_t count, const std::int64_t* segments, const std::int64_t* positions,
                           const T* from, T* to) {
  const auto at = [=](std::int64_t j) { return positions ? positions[j] : j; };
  for (std::int64_t i = grid_thread(); i < count; i += grid_stride()) {
    const std::int64_t begin = segments ? segments[i] : i, end = segments ? segments[i + 1] : i + 1;
    T sum = from[at(begin)];
    for (std::int64_t j = begin + 1; j < end; ++j) sum = add(sum, from[at(j)]);
    to[i] = sum;
  }
}

template <class T, class O>
__global__ void diagonal_kernel(index_t count, const O* rowptr, const index_t* colind, const T* values, T* out,
                                std::int64_t stride) {
  for (std::int64_t row = grid_thread() / 32; row < count; row += grid_stride() / 32) {
    T sum{0};
    bool found = false;
    for (std::int64_t first = rowptr[row]; first < rowptr[row + 1]; first += 32) {
      const std::int64_t k = first + lane_id();
      const bool mine = k < rowptr[row + 1] && colind[k] == row;
      const T value = mine ? values[k] : T{0};
      for (unsigned lanes = __ballot_sync(full_warp, mine); lanes != 0; lanes &= lanes - 1) {
        const T next = __shfl_sync(full_warp, value, __ffs(lanes) - 1);
        sum = found ? add(sum, next) : next;  // a single -0 stays
        found = true;
      }
    }
    if (lane_id() == 0) out[row * stride] = sum;
  }
}

template <class T, class O>
__global__ void scale_rows_kernel(index_t rows, const O* rowptr, const T* from, const T* factors, std::int64_t stride,
                                  T* to) {
  for_each_entry(rows, rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active) to[k] = rounded_product(from[k], factors[row * stride]);
  });
}

template <class T>
__global__ void scale_columns_kernel(std::int64_t nnz, const index_t* colind, const T* from, const T* factors,
                                     std::int64_t stride, T* to) {
  for (std::int64_t k = grid_thread(); k < nnz; k += grid_stride()) {
    to[k] = rounded_product(from[k], factors[colind[k] * stride]);
  }
}

template <class T, class O>
__global__ void identity_kernel(index_t n, O* rowptr, index_t* colind, T* values) {
  for (std::int64_t i = grid_thread(); i <= n; i += grid_stride()) {
    rowptr[i] = static_cast<O>(i);
    if (i == n) continue;
    colind[i] = static_cast<index_t>(i);
    values[i] = T{1};
  }
}

}  // namespace

void map_values(const context& ctx, const value_map& m) {
  dispatch<type_set::all>({m.type}, [&]<class T, class>() {
    launch_items(ctx, "map_values", map_kernel<T>, m.count, m.count, m.segments, m.positions,
                 static_cast<const T*>(m.from), static_cast<T*>(m.to));
  });
}

void diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride) {
  const index_t count = std::min(a.rows, a.cols);
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    launch_items(ctx, "diagonal", diagonal_kernel<T, O>, std::int64_t{count} * 32, count,
                 static_cast<const O*>(a.rowptr), a.colind, static_cast<const T*>(a.values), static_cast<T*>(out),
                 stride);
  });
}

void scale_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values) {
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const auto m = a.as<T, O>();
    const T* factors = static_cast<const T*>(how.factors);
    T* to = static_cast<T*>(values);
    if (how.by_column) {
      launch_items(ctx, "scale_columns", scale_columns_kernel<T>, a.nnz, a.nnz, m.colind, m.values, factors, how.stride,
                   to);
    } else {
      launch_entries(ctx, "scale_rows", scale_rows_kernel<T, O>, a.nnz, a.rows, m.rowptr, m.values, factors, how.stride,
                     to);
    }
  });
}

void fill_identity(const context& ctx, index_t n, type_key types, void* rowptr, index_t* colind, void* values) {
  dispatch<type_set::all>(types, [&]<class T, class O>() {
    launch_items(ctx, "identity", identity_kernel<T, O>, std::int64_t{n} + 1, n, static_cast<O*>(rowptr), colind,
                 static_cast<T*>(values));
  });
}

}  // namespace tulle::cuda

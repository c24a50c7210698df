// Values that follow a pattern, scaled values, the diagonal, and the identity.
//
// One thread: an entry, or for the diagonal a lane of the warp that has the row. Gather: 8 bytes per nonzero of each of
// positions and segments, and twice the value; scale: 12 to 24 bytes per nonzero; diagonal: 4 bytes per nonzero.
#include "cuda/device/warp.cuh"
#include "cuda/matrix/further.hpp"
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/entries.cuh"

namespace tulle::cuda {
namespace {

template <class T>
void map_typed(const context& ctx, const value_map& m, const T* from, T* to) {
  const auto at = [positions = m.positions] __device__(std::int64_t j) { return positions ? positions[j] : j; };
  for_each_item(ctx, "map_values", m.count, [=, segments = m.segments] __device__(std::int64_t i) {
    const std::int64_t begin = segments ? segments[i] : i, end = segments ? segments[i + 1] : i + 1;
    T sum = from[at(begin)];
    for (std::int64_t j = begin + 1; j < end; ++j) sum = add(sum, from[at(j)]);
    to[i] = sum;
  });
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
void scale_typed(const context& ctx, csr_view<T, O> a, const value_scaling& how, T* to) {
  const T* const factors = static_cast<const T*>(how.factors);
  const std::int64_t stride = how.stride;
  if (how.by_column) {
    for_each_item(ctx, "scale_columns", a.nnz, [=] __device__(std::int64_t k) {
      to[k] = rounded_product(a.values[k], factors[a.colind[k] * stride]);
    });
  } else {
    for_each_entry(ctx, "scale_rows", a.nnz, a.rows, a.rowptr, [=] __device__(index_t row, std::int64_t k) {
      to[k] = rounded_product(a.values[k], factors[row * stride]);
    });
  }
}

template <class T, class O>
void fill_identity_typed(const context& ctx, index_t n, O* rowptr, index_t* colind, T* values) {
  for_each_item(ctx, "identity", std::int64_t{n} + 1, [=] __device__(std::int64_t i) {
    rowptr[i] = static_cast<O>(i);
    if (i == n) return;
    colind[i] = static_cast<index_t>(i);
    if (values != nullptr) values[i] = T{1};
  });
}

}  // namespace

void map_values(const context& ctx, const value_map& m) {
  if (is_further(m.type)) return map_further_values(ctx, m);
  dispatch<type_set::all>(
      {m.type}, [&]<class T, class>() { map_typed(ctx, m, static_cast<const T*>(m.from), static_cast<T*>(m.to)); });
}

void diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride) {
  if (is_further(a.types.value)) return further_diagonal(ctx, a, out, stride);
  const index_t count = std::min(a.rows, a.cols);
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    launch_items(ctx, "diagonal", diagonal_kernel<T, O>, std::int64_t{count} * 32, count,
                 static_cast<const O*>(a.rowptr), a.colind, static_cast<const T*>(a.values), static_cast<T*>(out),
                 stride);
  });
}

void scale_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values) {
  if (is_further(a.types.value)) return scale_further_values(ctx, a, how, values);
  dispatch<type_set::all>(a.types,
                          [&]<class T, class O>() { scale_typed(ctx, a.as<T, O>(), how, static_cast<T*>(values)); });
}

void fill_identity(const context& ctx, index_t n, type_key types, void* rowptr, index_t* colind, void* values) {
  if (is_further(types.value)) {
    fill_ones(ctx, types.value, n, values);
    values = nullptr;
  }
  dispatch<type_set::all>(pattern_types(types), [&]<class T, class O>() {
    fill_identity_typed(ctx, n, static_cast<O*>(rowptr), colind, static_cast<T*>(values));
  });
}

}  // namespace tulle::cuda

// Some of a matrix's entries: those that stay are marked, a scan of the marks places them.
//
// One thread: an entry, or a row. 8 bytes per entry of scratch, about 28 bytes per entry of traffic. Used in set-up.
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

/// Whether entry k stays, distinct or not.
template <class T>
__device__ bool stays(const entry_selection& what, const index_t* colind, const T* values, std::int64_t k) {
  const index_t c = colind[k];
  return c >= what.first_col && c < what.last_col && (!what.nonzero || values[k] != T{0});
}

/// marks[i] is that of entry first + i.
template <class T>
__global__ void mark_entries(entry_selection what, std::int64_t first, std::int64_t n, const index_t* colind,
                             const T* values, std::int64_t* marks) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_stride()) {
    const std::int64_t k = first + i;
    const bool repeats = what.distinct && k > 0 && colind[k] == colind[k - 1];
    marks[i] = !repeats && stays(what, colind, values, k);
  }
}

/// The first entry of a row repeats none.
template <class T, class O>
__global__ void mark_first_entries(entry_selection what, std::int64_t first, const O* rowptr, const index_t* colind,
                                   const T* values, std::int64_t* marks) {
  const index_t rows = what.last_row - what.first_row;
  for (std::int64_t r = grid_thread(); r < rows; r += grid_stride()) {
    if (rowptr[r] < rowptr[r + 1]) marks[rowptr[r] - first] = stays(what, colind, values, rowptr[r]);
  }
}

template <class O>
__global__ void place_entries(entry_selection what, std::int64_t first, std::int64_t n, std::int64_t nnz,
                              const O* rowptr, const index_t* colind, const std::int64_t* places, O* new_rowptr,
                              index_t* new_colind, std::int64_t* positions) {
  const index_t rows = what.last_row - what.first_row;
  for (std::int64_t i = grid_thread(); i <= max(n, std::int64_t{rows}); i += grid_stride()) {
    if (i <= rows) new_rowptr[i] = static_cast<O>(places[rowptr[i] - first]);
    if (i == n) positions[places[n]] = nnz;
    if (i >= n || places[i + 1] == places[i]) continue;
    new_colind[places[i]] = colind[first + i] - what.first_col;
    positions[places[i]] = first + i;
  }
}

template <scalar T, offset O>
entry_map select_typed(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  const index_t rows = what.last_row - what.first_row;
  const O* rowptr = static_cast<const O*>(a.rowptr) + what.first_row;
  const T* values = static_cast<const T*>(a.values);
  const std::int64_t first = what.first_row == 0 ? 0 : read_back(ctx, rowptr);
  const std::int64_t n = (what.last_row == a.rows ? a.nnz : std::int64_t{read_back(ctx, rowptr + rows)}) - first;
  auto places = zero_counts(ctx, n);
  launch_items(ctx, "mark_entries", mark_entries<T>, n, what, first, n, a.colind, values, places.data());
  if (what.distinct) {
    launch_items(ctx, "mark_first_entries", mark_first_entries<T, O>, rows, what, first, rowptr, a.colind, values,
                 places.data());
  }
  exclusive_scan(ctx, places);
  const auto kept = static_cast<std::size_t>(read_back(ctx, places.data() + n));
  buffer<O> new_rowptr(ctx, static_cast<std::size_t>(rows) + 1);
  buffer<index_t> colind(ctx, kept);
  buffer<std::int64_t> positions(ctx, kept + 1);
  launch_items(ctx, "place_entries", place_entries<O>, std::max(n, std::int64_t{rows}) + 1, what, first, n, a.nnz,
               rowptr, a.colind, places.data(), new_rowptr.data(), colind.data(), positions.data());
  return {std::move(new_rowptr), std::move(colind), std::move(positions)};
}

}  // namespace

entry_map select_entries(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  return dispatch<type_set::all>(a.types, [&]<class T, class O>() { return select_typed<T, O>(ctx, a, what); });
}

}  // namespace tulle::cuda

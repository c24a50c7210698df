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

template <scalar T, offset O>
entry_map select_typed(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  const index_t rows = what.last_row - what.first_row;
  const O* rowptr = static_cast<const O*>(a.rowptr) + what.first_row;
  const T* values = static_cast<const T*>(a.values);
  const std::int64_t first = what.first_row == 0 ? 0 : read_back(ctx, rowptr);
  const std::int64_t n = (what.last_row == a.rows ? a.nnz : std::int64_t{read_back(ctx, rowptr + rows)}) - first;
  const index_t* const old_colind = a.colind;
  auto marks = zero_counts(ctx, n);
  std::int64_t* const places = marks.data();  // place i is that of entry first + i
  for_each_item(ctx, "mark_entries", n, [=] __device__(std::int64_t i) {
    const std::int64_t k = first + i;
    const bool repeats = what.distinct && k > 0 && old_colind[k] == old_colind[k - 1];
    places[i] = !repeats && stays(what, old_colind, values, k);
  });
  if (what.distinct) {  // the first entry of a row repeats none
    for_each_item(ctx, "mark_first_entries", rows, [=] __device__(std::int64_t r) {
      if (rowptr[r] < rowptr[r + 1]) places[rowptr[r] - first] = stays(what, old_colind, values, rowptr[r]);
    });
  }
  exclusive_scan(ctx, marks);
  const auto kept = static_cast<std::size_t>(read_back(ctx, places + n));
  buffer<O> new_rowptr(ctx, static_cast<std::size_t>(rows) + 1);
  buffer<index_t> colind(ctx, kept);
  buffer<std::int64_t> positions(ctx, kept + 1);
  const auto place = [=, nnz = a.nnz, to_rowptr = new_rowptr.data(), to_colind = colind.data(),
                      to = positions.data()] __device__(std::int64_t i) {
    if (i <= rows) to_rowptr[i] = static_cast<O>(places[rowptr[i] - first]);
    if (i == n) to[places[n]] = nnz;
    if (i >= n || places[i + 1] == places[i]) return;
    to_colind[places[i]] = old_colind[first + i] - what.first_col;
    to[places[i]] = first + i;
  };
  for_each_item(ctx, "place_entries", std::max(n, std::int64_t{rows}) + 1, place);
  return {std::move(new_rowptr), std::move(colind), std::move(positions)};
}

}  // namespace

entry_map select_entries(const context& ctx, const matrix_ref& a, const entry_selection& what) {
  return dispatch<type_set::all>(what.nonzero ? a.types : pattern_types(a.types), [&]<class T, class O>() { return select_typed<T, O>(ctx, a, what); });
}

}  // namespace tulle::cuda

// Statistics of a CSR from passes over its offsets and its column indices.
#include "cuda/formats/statistics.hpp"

#include "core/instantiate.hpp"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

template <scalar T, offset O>
csr_stats statistics(const context& ctx, csr_view<T, O> a) {
  csr_stats stats;
  stats.rows = a.rows;
  stats.cols = a.cols;
  stats.nnz = a.nnz;
  auto accesses = device_value<access_sums>(ctx);
  add_row_lengths(ctx, a.rows, a.rowptr, accesses.data());
  add_accesses(ctx, a.rows, a.nnz, a.rowptr, a.colind, accesses.data());
  set_accesses(read_back(ctx, accesses.data()), stats);
  row_statistics(ctx, a.rowptr, stats);
  const bool sorted = column_statistics(ctx, a.rowptr, a.colind, stats);
  gather_statistics(ctx, a.colind, stats);
  block_fill(ctx, a.rowptr, a.colind, sorted, stats);
  return stats;
}

#define TULLE_INSTANTIATE(T, O) template csr_stats statistics<T, O>(const context&, csr_view<T, O>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda

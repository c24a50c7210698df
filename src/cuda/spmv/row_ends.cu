// Flags the last entry of each row and numbers the rows that have entries: one thread for each row.
#include "cuda/device/grid.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/row_ends.cuh"

namespace tulle::cuda {
namespace {

template <class O>
__global__ void flag_ends_kernel(const O* rowptr, index_t rows, unsigned* last, std::int64_t* place) {
  const std::int64_t r = grid_thread();
  if (r >= rows) return;
  const O end = rowptr[r + 1];
  const bool filled = end > rowptr[r];
  if (filled) atomicOr(last + (end - 1) / 32, 1u << ((end - 1) % 32));
  place[r] = filled ? 1 : 0;
}

/// `place`: of rows, how many before them have entries.
template <class O>
__global__ void number_rows_kernel(const O* rowptr, index_t rows, const std::int64_t* place, index_t* row_of,
                                   O* filled_rowptr, index_t* empty) {
  const std::int64_t r = grid_thread();
  if (r > rows) return;
  const std::int64_t at = place[r];
  if (r == rows) {
    filled_rowptr[at] = rowptr[r];
  } else if (place[r + 1] > at) {
    row_of[at] = static_cast<index_t>(r);
    filled_rowptr[at] = rowptr[r];
  } else {
    empty[r - at] = static_cast<index_t>(r);
  }
}

__global__ void renumber_kernel(cut_row* cut, std::int32_t count, const index_t* row_of) {
  const std::int64_t i = grid_thread();
  if (i < count) cut[i].row = row_of[cut[i].row];
}

}  // namespace

template <class O>
row_ends<O>::row_ends(const context& ctx, const O* rowptr, index_t rows, O nnz, std::optional<index_t> empties)
    : all_(rowptr), rows_(rows), last_(ctx, static_cast<std::size_t>(nnz / 32 + 2)) {
  fill_bytes(ctx, last_.data(), memory_space::device, 0, last_.bytes());
  buffer<std::int64_t> place = zero_counts(ctx, rows);
  launch("row_ends", flag_ends_kernel<O>, threads_for(rows), native(ctx), rowptr, rows, last_.data(), place.data());
  if (empties == 0) return;
  exclusive_scan(ctx, place);
  empties_ = empties ? *empties : static_cast<index_t>(rows - read_back(ctx, place.data() + rows));
  if (empties_ == 0) return;
  const auto filled = static_cast<std::size_t>(rows - empties_);
  row_of_ = buffer<index_t>(ctx, filled);
  empty_ = buffer<index_t>(ctx, static_cast<std::size_t>(empties_));
  rowptr_ = buffer<O>(ctx, filled + 1);
  launch("row_ends.number", number_rows_kernel<O>, threads_for(std::int64_t{rows} + 1), native(ctx), rowptr, rows,
         place.data(), row_of_.data(), rowptr_.data(), empty_.data());
}

template <class O>
void row_ends<O>::renumber(const context& ctx, row_pieces<O>& pieces) const {
  if (empties_ == 0) return;
  launch("row_ends.renumber", renumber_kernel, threads_for(pieces.counts().rows), native(ctx), pieces.cuts(),
         pieces.counts().rows, row_of_.data());
}

template class row_ends<std::int32_t>;
template class row_ends<std::int64_t>;

}  // namespace tulle::cuda

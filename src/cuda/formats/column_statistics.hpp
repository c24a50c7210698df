// What the column indices of a matrix say.
#pragma once

#include <tulle/formats/stats.hpp>

namespace tulle::cuda {

/// Sets bandwidth and column_window; true when every row is sorted by column.
template <offset O>
bool column_statistics(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats);

/// Mean number of 32-byte sectors that a sample of warps touches; see csr_stats::gather_sectors.
double gather_sectors(const context& ctx, std::int64_t nnz, const index_t* colind);

/// Queues the same count: *sectors grows by the sectors that the returned number of warps touch.
std::int64_t count_gather_sectors(const context& ctx, std::int64_t nnz, const index_t* colind, unsigned long long* sectors);

}  // namespace tulle::cuda

// Statistics of the row offsets.
#pragma once

#include <tulle/formats/stats.hpp>

namespace tulle::cuda {

/// Sets mean, max, stddev, skew, empty_rows and the three paddings; rows and nnz are given.
template <offset O>
void row_statistics(const context& ctx, const O* rowptr, csr_stats& stats);

}  // namespace tulle::cuda

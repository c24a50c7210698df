// Which way sums rows of CSR soonest on this processor.
#pragma once

#include <string>
#include <tulle/core/types.hpp>
#include <tulle/formats/stats.hpp>

#include "cpu/spmv/rows.hpp"

namespace tulle::cpu {

/// For rows as long as those of a matrix, in one type of vectors. Where there is a choice (all that there are give the same bits) it is
/// made by time: at the first call some ten thousand entries are multiplied by each, 10 ms in all, and what was found is remembered in
/// cache_directory() and by the process. `stats` may hold no more than rows and nonzeros.
row_path fastest_row_path(scalar_type vectors, const csr_stats& stats);

/// What was found, for `tulle doctor`.
std::string describe_row_paths();

}  // namespace tulle::cpu

// How full the b x b blocks of a matrix are.
#pragma once

#include <tulle/formats/stats.hpp>

namespace tulle::cuda {

/// Sets block_fill[2..8]. `sorted`: every row is sorted by column; otherwise the sample is sorted into a copy.
template <offset O>
void block_fill(const context& ctx, const O* rowptr, const index_t* colind, bool sorted, csr_stats& stats);

/// The same from 512 block rows, assumed sorted.
template <offset O>
void rough_block_fill(const context& ctx, const O* rowptr, const index_t* colind, csr_stats& stats);

}  // namespace tulle::cuda

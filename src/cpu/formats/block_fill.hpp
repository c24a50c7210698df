// How full the b x b blocks of a matrix are.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>

namespace tulle::cpu {

/// Distinct entries over slots of the b x b blocks that hold one (1 when there is none); from all block rows up to
/// 65536 rows, then from block rows i * block_rows / 4096. `sorted`: every row is in order of its columns.
template <offset O>
double block_fill(const context& ctx, index_t rows, const O* rowptr, const index_t* colind, index_t b, bool sorted);

}  // namespace tulle::cpu

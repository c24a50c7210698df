// The order of the rows of a SELL.
#pragma once

#include <tulle/core/buffer.hpp>

namespace tulle::cuda {

/// Rows by decreasing length within windows of `sigma`, stable, padded with -1 to whole slices. Empty when no row
/// moves.
template <offset O>
buffer<index_t> sell_order(const context& ctx, index_t rows, const O* rowptr, index_t sigma);

}  // namespace tulle::cuda

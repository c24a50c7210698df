// Rows in the order of their length, for the formats that pad.
#pragma once

#include <tulle/core/buffer.hpp>

namespace tulle::cuda {

/// Rows by decreasing length within windows of `sigma`, stable, padded with -1 to a multiple of 32. Empty when no row
/// moves.
template <offset O>
buffer<index_t> sell_order(const context& ctx, index_t rows, const O* rowptr, index_t sigma);

}  // namespace tulle::cuda

// The block size that suits a matrix best, the same for every kernel that stores blocks and for the choice of one.
#pragma once

#include <algorithm>
#include <cstddef>

#include <tulle/formats/stats.hpp>

namespace tulle {

/// Bytes a nonzero in blocks of `block`: values, one index and (where blocks are not full) one mask a block.
inline double bsr_bytes_a_nonzero(const csr_stats& s, index_t block, std::size_t value_size) {
  const double fill = std::max(s.block_fill[static_cast<std::size_t>(block)], 1e-9);
  const double area = static_cast<double>(block) * block;
  return (area * static_cast<double>(value_size) + (fill < 1 ? 12 : 4)) / (area * fill);
}

/// The block (2 to 8) with the fewest bytes a nonzero.
inline index_t best_bsr_block(const csr_stats& s, std::size_t value_size) {
  index_t best = 2;
  for (index_t b = 3; b <= 8; ++b) {
    if (bsr_bytes_a_nonzero(s, b, value_size) < bsr_bytes_a_nonzero(s, best, value_size)) best = b;
  }
  return best;
}

}  // namespace tulle

// Entries in the order of their row, or of their column.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/types.hpp>

namespace tulle::cuda {

template <offset O>
struct major_order {
  buffer<O> offsets;           // of each major index, majors + 1
  buffer<std::uint64_t> keys;  // entry i was entry keys[i] & position_mask
  std::uint64_t position_mask;
};

/// Stable. Throws OVERFLOW where a major index and a position together need more than 64 bits.
template <offset O>
major_order<O> order_by(const context& ctx, std::int64_t n, index_t majors, const index_t* major);

}  // namespace tulle::cuda

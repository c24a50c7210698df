// Row offsets, for several conversions.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>

namespace tulle::cuda {

/// Row offsets of rows with `counts` entries (which has one more element at the end), and their total.
template <offset O>
struct scanned_offsets {
  buffer<O> rowptr;
  std::int64_t total;
};
template <offset O>
scanned_offsets<O> offsets_of(const context& ctx, buffer<std::int64_t> counts);

/// Entries of the longest row.
template <offset O>
std::int64_t longest(const context& ctx, index_t rows, const O* rowptr);

}  // namespace tulle::cuda

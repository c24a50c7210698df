// Into how many blocks of columns the CUDA kernel `csr5.blocked` cuts a matrix, the same for it and for the choice of
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle {

struct column_blocks {
  index_t width;  // columns of every block but the last, which may have fewer
  index_t count;

  [[nodiscard]] index_t first(index_t block) const { return block * width; }
  [[nodiscard]] index_t end(index_t block, index_t cols) const {
    return static_cast<index_t>(std::min<std::int64_t>((std::int64_t{block} + 1) * width, cols));
  }
};

/// A block's part of x takes six tenths of L2 at most, so that the matrix and y pass beside it; from two columns on
/// there are at least two blocks. Beyond `most` blocks they grow instead: each goes through all rows of y.
inline column_blocks column_blocks_for(index_t cols, std::size_t value_bytes, std::size_t l2_bytes) {
  constexpr std::int64_t least = 2, most = 32;
  constexpr std::size_t least_l2 = 1 << 20;
  const auto in_cache = static_cast<std::int64_t>(std::max(l2_bytes, least_l2) * 6 / 10 / value_bytes);
  const std::int64_t wanted = std::clamp((cols + in_cache - 1) / in_cache, least, most);
  const std::int64_t width = std::max<std::int64_t>(1, (cols + wanted - 1) / wanted);
  const std::int64_t count = std::max<std::int64_t>(1, (cols + width - 1) / width);
  return {static_cast<index_t>(width), static_cast<index_t>(count)};
}

}  // namespace tulle

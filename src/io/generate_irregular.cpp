// Patterns with random columns, row by row: uniform, short rows, random blocks.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/generate_pattern.hpp"
#include "io/generate_random.hpp"

namespace tulle::generators_detail {

pattern make_uniform(const context& ctx, const parameters& p) {
  const index_t rows = p.dimension("n");
  const index_t cols = p.dimension_or("cols", rows);
  const index_t degree = p.dimension("degree");
  if (rows > 0 && degree > cols) p.refuse(fmt::format("degree={} is more than the {} columns", degree, cols));
  const std::uint64_t seed = split_mix(p.seed());
  return build_pattern(
      ctx, rows, cols, static_cast<double>(rows) * degree, [=](index_t) { return degree; },
      [=](index_t r, index_t* to, index_t*) {
        random_stream random(key_of(seed, static_cast<std::uint64_t>(r)));
        sample_distinct(random, 0, cols, degree, to);
      });
}

pattern make_short(const context& ctx, const parameters& p) {
  constexpr std::int64_t longest = 4;
  const index_t n = p.dimension("n");
  const index_t width = p.dimension("width");
  const std::uint64_t seed = split_mix(p.seed());
  struct row {
    random_stream random;
    index_t low;
    std::int64_t range;
    std::int64_t length;
  };
  const auto row_of = [=](index_t r) {
    random_stream random(key_of(seed, static_cast<std::uint64_t>(r)));
    const index_t low = std::max(r - width, 0);
    const std::int64_t range = std::min<std::int64_t>(static_cast<std::int64_t>(r) + width + 1, n) - low;
    const std::int64_t length = std::min(1 + random.below(longest), range);
    return row{random, low, range, length};
  };
  return build_pattern(
      ctx, n, n, 2.5 * n, [=](index_t r) { return row_of(r).length; },
      [=](index_t r, index_t* to, index_t*) {
        row at = row_of(r);
        sample_distinct(at.random, at.low, at.range, at.length, to);
      });
}

pattern make_block(const context& ctx, const parameters& p) {
  const index_t block_rows = p.dimension("n");
  const index_t block = p.dimension("block", 1);
  const index_t blocks = p.dimension("blocks");
  const index_t rows = dimension_product("block", {block_rows, block});
  if (rows > 0 && blocks > block_rows) p.refuse(fmt::format("blocks={} is more than n={}", blocks, block_rows));
  const std::uint64_t seed = split_mix(p.seed());
  const std::int64_t length = static_cast<std::int64_t>(blocks) * block;
  return build_pattern(
      ctx, rows, rows, static_cast<double>(rows) * static_cast<double>(length), [=](index_t) { return length; },
      [=](index_t r, index_t* to, index_t*) {
        random_stream random(key_of(seed, static_cast<std::uint64_t>(r / block)));
        sample_distinct(random, 0, block_rows, blocks, to);
        for (std::int64_t k = length - 1; k >= 0; --k) {  // widen block columns from the back
          to[k] = to[k / block] * block + static_cast<index_t>(k % block);
        }
      });
}

}  // namespace tulle::generators_detail

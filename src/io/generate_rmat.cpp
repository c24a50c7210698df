// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004), vertices as they fall, repeated edges removed. Edge number e is a
// function of e alone. Edges are sorted by row, then every row by itself.
#include <fmt/format.h>

#include <algorithm>

#include "io/generate_pattern.hpp"
#include "io/generate_random.hpp"

namespace tulle::generators_detail {
namespace {

struct edge {
  index_t row;
  index_t col;
};

/// Edge number e of the graph: one quadrant a level, chosen by 32 random bits.
struct edge_source {
  std::uint64_t seed;
  int scale;
  std::uint64_t a, ab, abc;  // cumulative probabilities times 2^32

  edge operator()(std::int64_t e) const {
    random_stream random(key_of(seed, static_cast<std::uint64_t>(e)));
    std::uint64_t row = 0;
    std::uint64_t col = 0;
    std::uint64_t bits = 0;
    for (int level = 0; level < scale; ++level) {
      bits = level % 2 == 0 ? random.next() : bits >> 32;
      const std::uint64_t draw = bits & 0xffffffff;
      const std::uint64_t lower = draw >= ab;
      row = 2 * row + lower;
      col = 2 * col + (draw >= a) - lower + (draw >= abc);  // a branch would be mispredicted half of the time
    }
    return {static_cast<index_t>(row), static_cast<index_t>(col)};
  }
};

edge_source make_source(const parameters& p, int scale) {
  const double a = p.probability("a");
  const double b = p.probability("b");
  const double c = p.probability("c");
  if (a + b + c > 1) p.refuse(fmt::format("a + b + c = {} is more than 1", a + b + c));
  const auto threshold = [](double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); };
  return {split_mix(p.seed()), scale, threshold(a), threshold(a + b), threshold(a + b + c)};
}

}  // namespace

pattern make_rmat(const context& ctx, const parameters& p) {
  const auto scale = static_cast<int>(p.integer("scale", 0, 30));
  const index_t n = index_t{1} << scale;
  const std::int64_t count = static_cast<std::int64_t>(p.dimension("degree")) << scale;
  require_memory(ctx, n, static_cast<double>(count));
  const edge_source source = make_source(p, scale);
  buffer<index_t> columns(ctx, static_cast<std::size_t>(count));
  const buffer<std::int64_t> offsets = counting_sort<std::int64_t>(
      ctx, count, n, [&](std::int64_t e) { return source(e).row; },
      [&](std::int64_t begin, std::int64_t end, auto next) {
        for (std::int64_t e = begin; e < end; ++e) {
          const edge made = source(e);
          columns.data()[next(made.row)] = made.col;
        }
      });
  // The distinct columns of a row come to stand at its front, in order.
  const auto distinct = [&](index_t r) {
    index_t* first = columns.data() + offsets.data()[r];
    index_t* last = columns.data() + offsets.data()[r + 1];
    std::sort(first, last);
    return std::unique(first, last) - first;
  };
  return build_pattern(ctx, n, n, static_cast<double>(count), distinct, [&](index_t r, index_t* to, index_t* end) {
    std::copy_n(columns.data() + offsets.data()[r], end - to, to);
  });
}

}  // namespace tulle::generators_detail

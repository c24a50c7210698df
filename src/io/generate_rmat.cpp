// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004), vertices as they fall, repeated edges removed. Edge number e is a
// function of e alone. Edges are bucketed by the leading bits of their row, then every bucket is sorted by itself.
#include <fmt/format.h>

#include <algorithm>

#include "io/generate_pattern.hpp"
#include "io/generate_random.hpp"

namespace tulle::generators_detail {
namespace {

constexpr int most_bucket_bits = 12;

/// An edge as row * 2^32 + column, so that edges sort by row and then by column.
using edge = std::uint64_t;

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
    return row << 32 | col;
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

/// Edges in any order within buckets of rows; the same order for any number of threads.
struct bucketed_edges {
  buffer<std::int64_t> offsets;  // buckets + 1
  buffer<edge> edges;
};

bucketed_edges make_edges(const context& ctx, const edge_source& source, std::int64_t count, int bucket_bits) {
  bucketed_edges out{{}, buffer<edge>(ctx, static_cast<std::size_t>(count))};
  edge* to = out.edges.data();
  const int shift = 32 + source.scale - bucket_bits;
  const auto bucket_of = [shift](edge e) { return static_cast<index_t>(e >> shift); };
  out.offsets = counting_sort<std::int64_t>(
      ctx, count, index_t{1} << bucket_bits, [&](std::int64_t e) { return bucket_of(source(e)); },
      [&](std::int64_t begin, std::int64_t end, auto next) {
        for (std::int64_t e = begin; e < end; ++e) {
          const edge made = source(e);
          to[next(bucket_of(made))] = made;
        }
      });
  return out;
}

}  // namespace

pattern make_rmat(const context& ctx, const parameters& p) {
  const auto scale = static_cast<int>(p.integer("scale", 0, 30));
  const index_t n = index_t{1} << scale;
  const std::int64_t count = static_cast<std::int64_t>(p.dimension("degree")) << scale;
  require_memory(ctx, n, static_cast<double>(count));

  const int bucket_bits = std::min(scale, most_bucket_bits);
  bucketed_edges made = make_edges(ctx, make_source(p, scale), count, bucket_bits);
  const std::int64_t* offsets = made.offsets.data();
  const index_t bucket_rows = index_t{1} << (scale - bucket_bits);
  pattern out{n, n, buffer<std::int64_t>(ctx, static_cast<std::size_t>(n) + 1), {}};
  std::int64_t* rowptr = out.rowptr.data();
  std::fill_n(rowptr, n + 1, 0);
  // Sorts a bucket, moves its distinct edges to the front, and counts them by row.
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 1)
  for (index_t b = 0; b < index_t{1} << bucket_bits; ++b) {
    edge* begin = made.edges.data() + offsets[b];
    edge* end = made.edges.data() + offsets[b + 1];
    std::sort(begin, end);
    end = std::unique(begin, end);
    for (const edge* e = begin; e != end; ++e) ++rowptr[(*e >> 32) + 1];
  }
  scan_counts(ctx.threads(), rowptr, n);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[n]));
  index_t* colind = out.colind.data();
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 1)
  for (index_t b = 0; b < index_t{1} << bucket_bits; ++b) {
    const std::int64_t first = rowptr[static_cast<std::int64_t>(b) * bucket_rows];
    const std::int64_t last = rowptr[(static_cast<std::int64_t>(b) + 1) * bucket_rows];
    const edge* from = made.edges.data() + offsets[b];
    for (std::int64_t k = first; k < last; ++k) colind[k] = static_cast<index_t>(*from++ & 0xffffffff);
  }
  return out;
}

}  // namespace tulle::generators_detail

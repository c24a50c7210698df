// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004), vertices as they fall, repeated edges removed. Edges come from their
// number, once to count and once to place them; rows are then sorted one by one, which also undoes the order of
// threads.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

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
    edge out{0, 0};
    std::uint64_t bits = 0;
    for (int level = 0; level < scale; ++level) {
      bits = level % 2 == 0 ? random.next() : bits >> 32;
      const std::uint64_t draw = bits & 0xffffffff;
      const index_t row_bit = draw >= ab;
      const index_t col_bit = (draw >= a) - (draw >= ab) + (draw >= abc);
      out.row = 2 * out.row + row_bit;
      out.col = 2 * out.col + col_bit;
    }
    return out;
  }
};

/// Every edge's column in the share of its row, in no particular order; `rowptr` gets the offsets.
buffer<index_t> place_edges(const context& ctx, const edge_source& source, std::int64_t edges, index_t n,
                            std::int64_t* rowptr) {
  std::fill_n(rowptr, n + 1, 0);
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t e = 0; e < edges; ++e) {
    std::atomic_ref(rowptr[source(e).row + 1]).fetch_add(1, std::memory_order_relaxed);
  }
  cpu::scan_counts(ctx.threads(), rowptr, n);
  buffer<index_t> columns(ctx, static_cast<std::size_t>(edges));
  buffer<std::int64_t> next(ctx, static_cast<std::size_t>(n));
  std::copy_n(rowptr, n, next.data());
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t e = 0; e < edges; ++e) {
    const edge at = source(e);
    columns.data()[std::atomic_ref(next.data()[at.row]).fetch_add(1, std::memory_order_relaxed)] = at.col;
  }
  return columns;
}

edge_source make_source(const parameters& p, int scale) {
  const double a = p.probability("a");
  const double b = p.probability("b");
  const double c = p.probability("c");
  if (a + b + c > 1) p.refuse(fmt::format("a + b + c = {} is more than 1", a + b + c));
  const auto threshold = [](double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); };
  return {mix(p.seed()), scale, threshold(a), threshold(a + b), threshold(a + b + c)};
}

}  // namespace

pattern make_rmat(const context& ctx, const parameters& p) {
  const auto scale = static_cast<int>(p.integer("scale", 0, 30));
  const index_t degree = p.dimension("degree");
  const index_t n = index_t{1} << scale;
  const std::int64_t edges = static_cast<std::int64_t>(degree) << scale;
  require_memory(ctx, n, static_cast<double>(edges));

  buffer<std::int64_t> placed(ctx, static_cast<std::size_t>(n) + 1);
  const std::int64_t* first = placed.data();
  buffer<index_t> columns = place_edges(ctx, make_source(p, scale), edges, n, placed.data());
  pattern out{n, n, buffer<std::int64_t>(ctx, static_cast<std::size_t>(n) + 1), {}};
  std::int64_t* rowptr = out.rowptr.data();
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 256)
  for (index_t r = 0; r < n; ++r) {
    index_t* begin = columns.data() + first[r];
    index_t* end = columns.data() + first[r + 1];
    std::sort(begin, end);
    rowptr[r + 1] = std::unique(begin, end) - begin;
  }
  cpu::scan_counts(ctx.threads(), rowptr, n);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[n]));
  cpu::parallel_rows(ctx.threads(), n, rowptr, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      std::copy_n(columns.data() + first[r], rowptr[r + 1] - rowptr[r], out.colind.data() + rowptr[r]);
    }
  });
  return out;
}

}  // namespace tulle::generators_detail

// Patterns that a formula gives: stencils, finite elements, bands, corners, arrows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "io/generate_pattern.hpp"

namespace tulle::generators_detail {
namespace {

/// Neighbours -1, 0, 1 that exist along one direction of a grid.
struct reach {
  index_t low;
  index_t high;
  reach(index_t at, index_t size) : low(at > 0 ? at - 1 : 0), high(at + 1 < size ? at + 1 : at) {}
  [[nodiscard]] index_t count() const { return high - low + 1; }
};

/// nx * ny * nz nodes numbered lexicographically (x first), `dof` unknowns per node, every pair of unknowns of adjacent
/// nodes. box: nodes that share a cell are adjacent (9 or 27 points); else those that share an edge (5 or 7).
struct grid {
  index_t nx, ny, nz, dof;
  bool box;

  struct node {
    index_t x, y, z;
    reach in_x, in_y, in_z;
    node(const grid& g, index_t i)
        : x(i % g.nx), y(i / g.nx % g.ny), z(i / g.nx / g.ny), in_x(x, g.nx), in_y(y, g.ny), in_z(z, g.nz) {}
  };

  [[nodiscard]] double entries() const {
    const auto pairs = [](double n) { return std::max(3 * n - 2, 0.0); };  // of neighbours on a line of n nodes
    const double x = nx, y = ny, z = nz, nodes = x * y * z;
    const double adjacent =
        box ? pairs(x) * pairs(y) * pairs(z) : pairs(x) * y * z + x * pairs(y) * z + x * y * pairs(z) - 2 * nodes;
    return adjacent * dof * dof;
  }

  [[nodiscard]] std::int64_t length(index_t row) const {
    const node at(*this, row / dof);
    const std::int64_t nodes = box ? static_cast<std::int64_t>(at.in_x.count()) * at.in_y.count() * at.in_z.count()
                                   : at.in_x.count() + at.in_y.count() + at.in_z.count() - 2;
    return nodes * dof;
  }

  void fill(index_t row, index_t* out) const {
    const node at(*this, row / dof);
    for (index_t z = at.in_z.low; z <= at.in_z.high; ++z) {
      for (index_t y = at.in_y.low; y <= at.in_y.high; ++y) {
        const index_t line = nx * (y + ny * z);
        const int off_axes = (z != at.z) + (y != at.y);
        if (!box && off_axes > 1) continue;
        const index_t low = box || off_axes == 0 ? at.in_x.low : at.x;
        const index_t high = box || off_axes == 0 ? at.in_x.high : at.x;
        const index_t first = (line + low) * dof;
        const index_t last = (line + high) * dof + dof;
        for (index_t column = first; column < last; ++column) *out++ = column;
      }
    }
  }
};

pattern make_grid(const context& ctx, std::string_view name, const grid& g) {
  const index_t rows = dimension_product(name, {g.nx, g.ny, g.nz, g.dof});
  return build_pattern(
      ctx, rows, rows, g.entries(), [g](index_t r) { return g.length(r); },
      [g](index_t r, index_t* to, index_t*) { g.fill(r, to); }, true);
}

}  // namespace

pattern make_stencil(const context& ctx, const parameters& p) {
  const std::int64_t points = p.integer("points", 0, std::numeric_limits<std::int64_t>::max());
  if (points != 5 && points != 7 && points != 9 && points != 27) {
    p.refuse(fmt::format("points={} must be 5 or 9 (two dimensions), 7 or 27 (three)", points));
  }
  const bool flat = points == 5 || points == 9;
  const index_t n = p.dimension("n");
  const index_t nz = p.dimension_or("nz", flat ? 1 : n);
  if (flat && nz > 1) p.refuse(fmt::format("nz={} with points={}, which is a stencil in two dimensions", nz, points));
  return make_grid(ctx, "stencil",
                   {p.dimension_or("nx", n), p.dimension_or("ny", n), nz, 1, points == 9 || points == 27});
}

pattern make_fem(const context& ctx, const parameters& p) {
  const index_t n = p.dimension("n");
  return make_grid(ctx, "fem", {n, n, n, p.dimension("dof", 1), true});
}

pattern make_banded(const context& ctx, const parameters& p) {
  const index_t n = p.dimension("n");
  const index_t width = p.dimension("width");
  const double band = std::min(width, std::max(n - 1, 0));
  const double expected = n * (2 * band + 1) - band * (band + 1);
  const auto low = [=](index_t r) { return std::max(r - width, 0); };
  const auto past = [=](index_t r) { return std::min<std::int64_t>(static_cast<std::int64_t>(r) + width + 1, n); };
  return build_pattern(
      ctx, n, n, expected, [=](index_t r) { return past(r) - low(r); },
      [=](index_t r, index_t* to, index_t* end) { std::iota(to, end, low(r)); }, true);
}

pattern make_diagonal(const context& ctx, const parameters& p) {
  const index_t n = p.dimension("n");
  return build_pattern(
      ctx, n, n, n, [](index_t) { return 1; }, [](index_t r, index_t* to, index_t*) { *to = r; }, true);
}

pattern make_corner(const context& ctx, const parameters& p) {
  const index_t n = p.dimension("n");
  const index_t size = p.dimension("size");
  if (size > n) p.refuse(fmt::format("size={} is larger than n={}", size, n));
  const index_t first = n - size;
  return build_pattern(
      ctx, n, n, static_cast<double>(size) * size, [=](index_t r) { return r < first ? 0 : size; },
      [=](index_t, index_t* to, index_t* end) { std::iota(to, end, first); });
}

pattern make_arrow(const context& ctx, const parameters& p) {
  const index_t n = p.dimension("n");
  const index_t dense = p.dimension("dense");
  const index_t columns = p.dimension("columns");
  if (dense > n) p.refuse(fmt::format("dense={} is more than n={}", dense, n));
  if (columns > n) p.refuse(fmt::format("columns={} is more than n={}", columns, n));
  return build_pattern(
      ctx, n, n, (1.0 + dense + columns) * n, [=](index_t r) { return r < dense ? n : columns + (r >= columns); },
      [=](index_t r, index_t* to, index_t*) {
        const index_t filled = r < dense ? n : columns;
        std::iota(to, to + filled, 0);
        if (r >= filled) to[filled] = r;
      },
      dense == columns);
}

}  // namespace tulle::generators_detail

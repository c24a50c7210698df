#include <algorithm>
#include <cmath>
#include <tuple>

#include "pattern.hpp"

namespace tulle::cli::plot {
namespace {

constexpr double longest_aspect = 20;

index_t blocks_of(index_t n, index_t block) { return n / block + (n % block != 0 ? 1 : 0); }

/// So many whole pixels for each of some cells, unless that would leave a fifth of the room empty.
int pixels_of(int cells, double each) {
  const double whole = std::floor(each);
  return static_cast<int>(std::lround(cells * (whole >= 0.8 * each ? whole : each)));
}

/// `n` rows or columns in `pixels`, at least one.
side fit(index_t n, double pixels, index_t block) {
  side s{block, static_cast<int>(blocks_of(n, block)), 0};
  s.pixels = std::max(1, pixels_of(std::max(s.cells, 1), pixels / std::max(s.cells, 1)));
  return s;
}

index_t least_block(index_t n, double pixels) {
  return std::max<index_t>(1, static_cast<index_t>(std::ceil(n / std::max(std::floor(pixels), 1.0))));
}

/// Sides in the same scale, but the shorter a twentieth of the longer at least.
std::pair<side, side> fit_sides(index_t rows, index_t cols, int height, int width) {
  const index_t block = std::max(least_block(rows, height), least_block(cols, width));
  const double r = std::max(blocks_of(rows, block), 1), c = std::max(blocks_of(cols, block), 1);
  const double each = std::min(height / r, width / c), thinnest = each * std::max(r, c) / longest_aspect;
  const auto one = [&](index_t n, double cells) {
    return cells * each >= thinnest ? fit(n, cells * each, block) : fit(n, thinnest, least_block(n, thinnest));
  };
  return {one(rows, r), one(cols, c)};
}

template <offset O>
void count(csr_view<double, O> a, density& d) {
  for (index_t row = 0; row < a.rows; ++row) {
    const auto line = std::int64_t{row / d.rows.block} * d.cols.cells;
    for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      const index_t column = a.colind[k];
      ++d.count[static_cast<std::size_t>(line + column / d.cols.block)];
      d.bandwidth = std::max(d.bandwidth, std::abs(std::int64_t{row} - column));
    }
  }
}

}  // namespace

std::int64_t density::most() const { return count.empty() ? 0 : std::ranges::max(count); }

density count_entries(const matrix_ref& a, int height, int width) {
  density d;
  std::tie(d.rows, d.cols) = fit_sides(a.rows, a.cols, height, width);
  d.count.resize(static_cast<std::size_t>(d.rows.cells) * static_cast<std::size_t>(d.cols.cells));
  with_view<double>(a, [&](const auto& view) { count(view, d); });
  return d;
}

std::vector<density_class> classes_of_density(std::int64_t most) {
  constexpr int most_classes = 7;
  const auto reach = [](std::int64_t ratio) { return std::pow(static_cast<double>(ratio), most_classes); };
  std::int64_t ratio = 2;
  for (const std::int64_t wider : {4, 10, 100, 1000}) {
    if (static_cast<double>(most) >= reach(ratio)) ratio = wider;
  }
  std::vector<density_class> classes;
  for (std::int64_t least = 1; least <= most; least *= ratio)
    classes.push_back({least, std::min(least * ratio - 1, most)});
  return classes;
}

}  // namespace tulle::cli::plot

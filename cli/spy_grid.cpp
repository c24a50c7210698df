// Counts the entries of a matrix in a grid of cells.
#include <algorithm>
#include <cmath>

#include "spy.hpp"

namespace tulle::cli {
namespace {

constexpr double widest_aspect = 20;  // beyond it the shorter side would be too thin to see

struct grid_size {
  int width;
  int height;
};

grid_size size_for(index_t rows, index_t cols, int longest) {
  const double r = std::max<index_t>(rows, 1);
  const double c = std::max<index_t>(cols, 1);
  const double side = std::min<double>(longest, std::max(r, c));
  const double scale = side / std::max(r, c);
  const double thinnest = side / widest_aspect;
  const auto cells = [&](double n) {
    return static_cast<int>(std::max({std::round(n * scale), std::min(n, thinnest), 1.0}));
  };
  return {cells(c), cells(r)};
}

}  // namespace

pattern_grid draw_pattern(csr_view<double, std::int64_t> a, int longest) {
  const auto [width, height] = size_for(a.rows, a.cols, longest);
  std::vector<std::int64_t> count(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (index_t row = 0; row < a.rows; ++row) {
    const auto line = std::int64_t{row} * height / a.rows * width;
    for (std::int64_t k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) {
      ++count[static_cast<std::size_t>(line + std::int64_t{a.colind[k]} * width / a.cols)];
    }
  }
  const double most = count.empty() ? 0 : static_cast<double>(*std::max_element(count.begin(), count.end()));
  constexpr double faintest = 48;  // a single entry stays visible beside full cells
  pattern_grid grid{width, height, std::vector<std::uint8_t>(count.size())};
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    const double depth = most > 1 ? std::log(static_cast<double>(count[i])) / std::log(most) : 1;
    grid.ink[i] = static_cast<std::uint8_t>(faintest + (255 - faintest) * depth);
  }
  return grid;
}

}  // namespace tulle::cli

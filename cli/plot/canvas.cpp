#include "canvas.hpp"

#include <array>

namespace tulle::cli::plot {

void canvas::rectangle(const box& a, colour fill) {
  polygon(std::array<point, 4>{{{a.left, a.top}, {a.right(), a.top}, {a.right(), a.bottom()}, {a.left, a.bottom()}}},
          fill);
}

void canvas::outline(const box& a, const stroke& style) {
  line(
      std::array<point, 5>{
          {{a.left, a.top}, {a.right(), a.top}, {a.right(), a.bottom()}, {a.left, a.bottom()}, {a.left, a.top}}},
      style);
}

void canvas::segment(point from, point to, const stroke& style) { line(std::array{from, to}, style); }

}  // namespace tulle::cli::plot

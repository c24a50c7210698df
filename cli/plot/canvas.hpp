// What pictures are drawn with: a few shapes, as SVG or as PNG.
//
// Lengths are in units of 1/scale pixels, x to the right and y downwards from the upper left corner. Text is UTF-8 and
// has no control characters (plain_text sees to that).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colours.hpp"

namespace tulle::cli::plot {

struct point {
  double x = 0, y = 0;
};

struct box {
  double left = 0, top = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return left + width; }
  [[nodiscard]] double bottom() const { return top + height; }
};

struct stroke {
  colour ink = colours::ink;
  double width = 1;
  double dash = 0;  // length of dashes and of the gaps between them; 0: none
};

enum class anchor { start, middle, end };

struct font {
  double size = 12;
  anchor at = anchor::start;
  colour ink = colours::ink;
  bool bold = false;
  bool upwards = false;  // turned to the left by 90 degrees
};

/// Cells row by row; 0 is empty, k has shade k - 1.
struct cell_grid {
  int height = 0, width = 0;
  std::vector<std::uint8_t> level;

  [[nodiscard]] std::uint8_t at(int row, int column) const {
    return level[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column)];
  }
};

/// Whole pixels, and how many of them a unit is.
struct extent {
  int width = 0, height = 0;
  double scale = 1;
};

/// White at first.
class canvas {
 public:
  canvas() = default;
  canvas(const canvas&) = delete;
  canvas& operator=(const canvas&) = delete;
  virtual ~canvas() = default;

  virtual void line(std::span<const point> through, const stroke& style) = 0;
  virtual void polygon(std::span<const point> corners, colour fill) = 0;
  virtual void disc(point centre, double radius, colour fill) = 0;
  /// `at` is on the base line.
  virtual void text(point at, std::string_view words, const font& style) = 0;
  /// Cells with sharp edges that fill `area` together.
  virtual void cells(const box& area, const cell_grid& grid, std::span<const colour> shades) = 0;
  /// The bytes of the file; nothing can be drawn after it. Throws bad_alloc, INTERNAL.
  virtual std::string finish() = 0;

  void rectangle(const box& area, colour fill);
  void outline(const box& area, const stroke& style);
  void segment(point from, point to, const stroke& style);
};

/// `title` is for those who cannot see the picture.
std::unique_ptr<canvas> make_svg(const extent& size, std::string_view title);
/// There is only where tulle is built with cairo. Throws bad_alloc.
std::unique_ptr<canvas> make_png(const extent& size);

}  // namespace tulle::cli::plot

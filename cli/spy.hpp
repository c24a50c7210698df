// The pattern of a matrix as a grid of cells, and the two kinds of picture made of it.
#pragma once

#include <vector>

#include "common/matrix.hpp"

namespace tulle::cli {

/// Cells row by row; ink 0 is empty, 255 the densest.
struct pattern_grid {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> ink;

  [[nodiscard]] std::uint8_t at(int row, int column) const {
    return ink[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column)];
  }
};

/// A pattern, and what its title and axes say.
struct spy_panel {
  pattern_grid grid;
  matrix_facts matrix;
};

/// Panels side by side, all of one size, the longer side of each fitted into `pixels`. Throw FILE_IO.
void write_svg(const std::string& file, const std::vector<spy_panel>& panels, int pixels);
void write_png(const std::string& file, const std::vector<spy_panel>& panels, int pixels);

}  // namespace tulle::cli

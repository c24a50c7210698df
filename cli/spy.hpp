// The pattern of a matrix as a grid of cells, and the two kinds of picture made of it.
#pragma once

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

/// Both fit the longer side into `pixels`. Throw FILE_IO. `matrix` is what the title and the axes say.
void write_svg(const std::string& file, const pattern_grid& grid, const matrix_facts& matrix, int pixels);
void write_png(const std::string& file, const pattern_grid& grid, int pixels);

}  // namespace tulle::cli

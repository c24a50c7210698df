// The pattern of a matrix as cells, shaded by how many entries each has, and pictures of patterns side by side.
#pragma once

#include <string>
#include <vector>

#include "common/matrix.hpp"
#include "frame.hpp"

namespace tulle::cli::plot {

/// One side of a matrix: how many of its rows or columns are a cell, how many cells there are, and how long they are
/// together.
struct side {
  index_t block = 1;
  int cells = 0;
  int pixels = 0;
};

/// Entries counted in cells, row by row of cells; the last ones may reach past the matrix.
struct density {
  side rows, cols;
  std::vector<std::int64_t> count;
  std::int64_t bandwidth = 0;  // the largest |row - column| of an entry

  [[nodiscard]] std::int64_t most() const;
};

/// A host CSR of f64 in at most height x width pixels, cells as square as pixels are: one entry in each where that
/// fits. What is longer than 20 to 1 is drawn as 20 to 1. A stored zero is an entry.
density count_entries(const matrix_ref& a, int height, int width);

/// Numbers of entries that share a shade.
struct density_class {
  std::int64_t least = 1, most = 1;
  bool operator==(const density_class&) const = default;
};
/// From 1 to `most`, each class 2 (or 4, 10, 100) times as wide as the one before; seven or fewer, none where most is
/// 0.
std::vector<density_class> classes_of_density(std::int64_t most);

struct titled_matrix {
  std::string title;
  matrix_ref matrix;  // as count_entries takes it
};

/// All of one scale of shades; the longer side of the picture has `pixels`. Returns the cells of each. Throws as
/// write_picture does.
std::vector<density> draw_patterns(const std::string& file, const std::vector<titled_matrix>& matrices, int pixels);

}  // namespace tulle::cli::plot

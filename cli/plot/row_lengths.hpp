// How many rows of a matrix have how many nonzeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frame.hpp"

namespace tulle::cli::plot {

/// Rows of `shortest` to `longest` entries.
struct length_class {
  std::int64_t shortest = 0, longest = 0, rows = 0;
};

/// Classes that follow each other from the shortest row's length, or a bit below, to the longest's, `most` or fewer:
/// of one length each or, where there are more, of so many; where the longest row is far from the mean, 0, 1, 2-3, 4-7
/// and so on. None for no rows.
std::vector<length_class> classes_of_lengths(const std::vector<std::int64_t>& lengths, int most);

/// Bars; their heights are on a logarithmic scale where the tallest is far above the lowest. Throws as write_picture
/// does.
void draw_row_lengths(const std::string& file, const heading& text, const std::vector<std::int64_t>& lengths);

}  // namespace tulle::cli::plot

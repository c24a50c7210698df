// What kernels reach against what each needs from memory, below the line of what the memory reaches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"

namespace tulle::cli::plot {

struct roof_point {
  std::string name;        // of the matrix; stands beside its highest point where there is room
  double x = 0, y = 0;     // above 0
  std::size_t series = 0;  // of roofline::series
};

struct roofline {
  heading text;
  std::string x_label, y_label;
  std::vector<std::string> series;
  std::vector<roof_point> points;
  std::optional<double> roof;
  std::string roof_label;
};

/// Of one point or more. The first series lies on top. Throws as write_picture does.
void draw_roofline(const std::string& file, const roofline& chart);

}  // namespace tulle::cli::plot

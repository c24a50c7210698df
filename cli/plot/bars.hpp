// Bars with spreads, in groups: kernels of each matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"

namespace tulle::cli::plot {

struct bar {
  std::string label;
  double value = 0;
  double low = 0, high = 0;  // its spread
  std::size_t kind = 0;      // of bar_chart::kinds
};

struct bar_group {
  std::string title;
  std::vector<bar> bars;
};

struct bar_chart {
  heading text;
  std::string unit;
  std::vector<std::string> kinds;  // what a bar's colour means, three at most
  std::string spread;              // what a whisker is
  std::optional<double> limit;     // what could be reached
  std::string limit_label;
  std::vector<bar_group> groups;
};

inline constexpr std::size_t most_bars = 700;  // taller than 32767 pixels no PNG is drawn

/// At most most_bars: else INVALID_ARGUMENT. Otherwise throws as write_picture does.
void draw_bars(const std::string& file, const bar_chart& chart);

}  // namespace tulle::cli::plot

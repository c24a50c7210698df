// What the charts have in common: a title with facts, a legend, and a plane between two axes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "axis.hpp"
#include "canvas.hpp"

namespace tulle::cli::plot {

/// Heights and gaps of all charts, in units.
inline constexpr double title_size = 14, text_size = 12, row_height = 18, gap = 8, edge = 12;

enum class shape { circle, square, triangle, diamond, cross, ring };
void draw_mark(canvas& on, point at, shape which, colour ink, double radius = 4);

/// One thing that a legend explains; a text alone where there is no sample.
struct legend_entry {
  enum class sample { none, area, line, dashes, mark, whisker };
  std::string label;
  sample kind = sample::none;
  colour ink = {};
  shape mark = shape::circle;
};

/// A title and facts in lines below it, all shortened to the width. Any text.
struct heading {
  std::string title;
  std::vector<std::string> facts;
};

double height_of(const heading& h);
void draw_heading(canvas& on, const box& area, const heading& h);

/// Entries side by side, in as many rows as it takes.
double height_of_legend(std::span<const legend_entry> entries, double width);
void draw_legend(canvas& on, const box& area, std::span<const legend_entry> entries);

/// What lies between two axes.
struct plane {
  box area;
  axis x, y;

  [[nodiscard]] double across(double value) const { return area.left + area.width * x.share(value); }
  [[nodiscard]] double down(double value) const { return area.bottom() - area.height * y.share(value); }
  [[nodiscard]] point at(double x_value, double y_value) const { return {across(x_value), down(y_value)}; }
};

/// Room for ticks and labels: below, and to the left.
double height_of_axis();
double width_of_axis(const axis& y);
void draw_grid(canvas& on, const plane& p);
/// The axis of x, and both with a frame around the plane.
void draw_axis_below(canvas& on, const plane& p);
void draw_axes(canvas& on, const plane& p);

/// A picture of one plane: heading, legend, plane; its axes and the size are given, the plane's area is found.
plane draw_chart(canvas& on, const extent& size, const heading& h, std::span<const legend_entry> legend, axis x,
                 axis y);

}  // namespace tulle::cli::plot

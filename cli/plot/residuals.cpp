#include "residuals.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "picture.hpp"

namespace tulle::cli::plot {
namespace {

constexpr extent size{720, 440};
using sample = legend_entry::sample;

/// Whether a logarithmic axis takes it.
bool has_logarithm(double v) { return v >= 1e-300 && v <= 1e300; }

std::vector<legend_entry> legend_of(const residual_history& h) {
  std::vector<legend_entry> entries{{"residual during the solve", sample::line, colours::series[0]}};
  if (has_logarithm(h.at_end)) {
    entries.push_back(
        {fmt::format("‖b − A x‖ at the end: {:.2e}", h.at_end), sample::mark, colours::ink, shape::diamond});
  }
  if (has_logarithm(h.target)) {
    entries.push_back({fmt::format("asked for: {:.2e}", h.target), sample::dashes, colours::limit});
  }
  return entries;
}

axis residual_axis(const residual_history& h) {
  std::vector<double> values = h.residuals;
  values.insert(values.end(), {h.target, h.at_end});
  std::erase_if(values, [](double v) { return !has_logarithm(v); });
  if (values.empty()) values.push_back(1);
  const auto [least, most] = std::ranges::minmax(values);
  return logarithmic_axis("residual norm", least / 1.5, most, 10);
}

}  // namespace

void draw_residuals(const std::string& file, const residual_history& h) {
  write_picture(file, size, h.text.title, [&](canvas& on) {
    const plane p = draw_chart(on, size, h.text, legend_of(h),
                               linear_axis("iteration", 0, std::max(1.02 * h.iterations, 1.0), 8, 1), residual_axis(h));
    if (has_logarithm(h.target)) {
      const double y = p.down(h.target);
      on.segment({p.area.left, y}, {p.area.right(), y}, {colours::limit, 1.5, 5});
    }
    std::vector<point> through;
    for (std::size_t i = 0; i < h.residuals.size(); ++i) {
      if (!has_logarithm(h.residuals[i])) continue;
      const double iteration = std::min(static_cast<double>(i) * h.stride, static_cast<double>(h.iterations));
      through.push_back(p.at(iteration, h.residuals[i]));
    }
    if (through.size() > 1) on.line(through, {colours::series[0], 2});
    if (through.size() == 1) on.disc(through[0], 3, colours::series[0]);
    if (has_logarithm(h.at_end)) draw_mark(on, p.at(h.iterations, h.at_end), shape::diamond, colours::ink);
  });
}

}  // namespace tulle::cli::plot

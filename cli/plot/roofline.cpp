#include "roofline.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "picture.hpp"
#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr extent size{760, 500};
constexpr double mark_radius = 4.5, label_size = 11;
constexpr double far = 30;  // the largest value over the least
constexpr std::array shapes{shape::circle, shape::square, shape::triangle, shape::diamond, shape::cross, shape::ring};
using sample = legend_entry::sample;

std::vector<legend_entry> legend_of(const roofline& c) {
  std::vector<legend_entry> entries;
  for (std::size_t i = 0; i < c.series.size(); ++i) {
    if (std::ranges::find(c.points, i, &roof_point::series) == c.points.end()) continue;
    entries.push_back({plain_text(c.series[i]), sample::mark, colours::series[i % colours::series.size()],
                       shapes[i % shapes.size()]});
  }
  if (c.roof) entries.push_back({c.roof_label, sample::dashes, colours::limit});
  return entries;
}

/// Around the values; where they are far apart on a logarithmic scale.
axis axis_of_bytes(const std::string& label, std::span<const double> values) {
  const auto [least, largest] = std::ranges::minmax(values);
  if (largest > far * least) return logarithmic_axis(label, least / 1.1, largest * 1.1, 12);
  const double room = std::max(0.08 * (largest - least), 0.1 * largest);
  return linear_axis(label, std::max(0.0, least - room), largest + room, 12);
}

/// From 0; where the values are far apart on a logarithmic scale.
axis axis_of_rates(const std::string& label, std::vector<double> values, std::optional<double> roof) {
  if (roof) values.push_back(*roof);
  const auto [least, largest] = std::ranges::minmax(values);
  if (largest > far * least) return logarithmic_axis(label, least / 1.1, largest * 1.1, 10);
  return linear_axis(label, 0, 1.1 * largest, 10);
}

bool overlap(const box& a, const box& b) {
  return a.left < b.right() && b.left < a.right() && a.top < b.bottom() && b.top < a.bottom();
}

/// Names where they hide neither marks nor each other; one that finds no such place is left out.
void draw_names(canvas& on, const plane& p, const roofline& c) {
  std::vector<box> taken;
  const double r = mark_radius;
  for (const roof_point& q : c.points) {
    const point at = p.at(q.x, q.y);
    taken.push_back({at.x - r, at.y - r, 2 * r, 2 * r});
  }
  if (c.roof) taken.push_back({p.area.left, p.down(*c.roof) - 2, p.area.width, 4});
  std::vector<roof_point> highest = c.points;
  std::ranges::stable_sort(highest, std::ranges::greater{}, &roof_point::y);
  std::set<std::string> named;
  for (const roof_point& q : highest) {
    if (!named.insert(q.name).second) continue;
    const point at = p.at(q.x, q.y);
    const std::string name = shortened(plain_text(q.name), label_size, 210);
    const double w = text_width(name, label_size), h = label_size;
    for (const point corner : {point{at.x + r + 3, at.y - h / 2}, point{at.x - r - 3 - w, at.y - h / 2},
                               point{at.x - w / 2, at.y - r - 2 - h}, point{at.x - w / 2, at.y + r + 2}}) {
      const box place{corner.x, corner.y, w, h};
      const bool inside = place.left > p.area.left && place.right() < p.area.right() && place.top > p.area.top &&
                          place.bottom() < p.area.bottom();
      if (!inside || std::ranges::any_of(taken, [&](const box& b) { return overlap(b, place); })) continue;
      on.text({corner.x + w / 2, corner.y + h - 2}, name, {.size = label_size, .at = anchor::middle});
      taken.push_back(place);
      break;
    }
  }
}

}  // namespace

void draw_roofline(const std::string& file, const roofline& c) {
  std::vector<double> xs, ys;
  for (const roof_point& q : c.points) {
    xs.push_back(q.x);
    ys.push_back(q.y);
  }
  write_picture(file, size, c.text.title, [&](canvas& on) {
    const plane p =
        draw_chart(on, size, c.text, legend_of(c), axis_of_bytes(c.x_label, xs), axis_of_rates(c.y_label, ys, c.roof));
    if (c.roof) on.segment({p.area.left, p.down(*c.roof)}, {p.area.right(), p.down(*c.roof)}, {colours::limit, 2, 6});
    std::vector<roof_point> back_to_front = c.points;
    std::ranges::stable_sort(back_to_front, std::ranges::greater{}, &roof_point::series);
    for (const roof_point& q : back_to_front) {
      draw_mark(on, p.at(q.x, q.y), shapes[q.series % shapes.size()],
                colours::series[q.series % colours::series.size()], mark_radius);
    }
    draw_names(on, p, c);
  });
}

}  // namespace tulle::cli::plot

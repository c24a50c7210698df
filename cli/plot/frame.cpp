#include "frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr double sample_width = 18, tick_length = 4;

/// In the middle of a pixel, where a line of one pixel is sharp.
double sharp(double v) { return std::floor(v) + 0.5; }

double entry_width(const legend_entry& e) {
  const double sample = e.kind == legend_entry::sample::none ? 0 : sample_width + 6;
  return sample + text_width(e.label, text_size) + 2 * gap;
}

void draw_sample(canvas& on, point left, const legend_entry& e) {
  using enum legend_entry::sample;
  const point right{left.x + sample_width, left.y}, middle{left.x + sample_width / 2, left.y};
  if (e.kind == area) on.rectangle({left.x, left.y - 6, sample_width, 12}, e.ink);
  if (e.kind == line) on.segment(left, right, {e.ink, 2});
  if (e.kind == dashes) on.segment(left, right, {e.ink, 1.5, 5});
  if (e.kind == mark) draw_mark(on, middle, e.mark, e.ink);
  if (e.kind == whisker) {
    on.segment(left, right, {e.ink, 1.2});
    for (const point end : {left, right}) on.segment({end.x, end.y - 4}, {end.x, end.y + 4}, {e.ink, 1.2});
  }
}

/// Calls place(entry, left, row) for each.
template <class Place>
int flow(std::span<const legend_entry> entries, double width, const Place& place) {
  double x = 0;
  int row = 0;
  for (const legend_entry& e : entries) {
    const double wide = entry_width(e);
    if (x > 0 && x + wide - 2 * gap > width) {
      x = 0;
      ++row;
    }
    place(e, x, row);
    x += wide;
  }
  return entries.empty() ? 0 : row + 1;
}

}  // namespace

void draw_mark(canvas& on, point p, shape which, colour ink, double r) {
  const auto corners = [&](std::initializer_list<point> offsets) {
    std::vector<point> result;
    for (const point& o : offsets) result.push_back({p.x + r * o.x, p.y + r * o.y});
    return result;
  };
  switch (which) {
    case shape::circle:
      return on.disc(p, r, ink);
    case shape::square:
      return on.polygon(corners({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}), ink);
    case shape::triangle:
      return on.polygon(corners({{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}}), ink);
    case shape::diamond:
      return on.polygon(corners({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}}), ink);
    case shape::cross:
      on.line(corners({{-1, -1}, {1, 1}}), {ink, 2});
      return on.line(corners({{-1, 1}, {1, -1}}), {ink, 2});
    case shape::ring:
      on.disc(p, r, ink);
      return on.disc(p, r - 1.5, colours::white);
  }
}

double height_of(const heading& h) { return row_height * (1 + static_cast<double>(h.facts.size())); }

void draw_heading(canvas& on, const box& area, const heading& h) {
  const std::string title = shortened(plain_text(h.title), title_size, area.width / 1.08);  // bold is wider
  on.text({area.left, area.top + title_size}, title, {.size = title_size, .bold = true});
  double y = area.top + title_size + row_height;
  for (const std::string& fact : h.facts) {
    on.text({area.left, y}, shortened(plain_text(fact), text_size, area.width), {.ink = colours::faint_ink});
    y += row_height;
  }
}

double height_of_legend(std::span<const legend_entry> entries, double width) {
  return row_height * flow(entries, width, [](const legend_entry&, double, int) {});
}

void draw_legend(canvas& on, const box& area, std::span<const legend_entry> entries) {
  flow(entries, area.width, [&](const legend_entry& e, double left, int row) {
    const double x = area.left + left, y = area.top + row_height * (row + 0.5);
    draw_sample(on, {x, y}, e);
    const double indent = e.kind == legend_entry::sample::none ? 0 : sample_width + 6;
    on.text({x + indent, y + 4}, shortened(plain_text(e.label), text_size, area.width - indent), {});
  });
}

double height_of_axis() { return tick_length + 2 * row_height; }

double width_of_axis(const axis& y) {
  double widest = 0;
  for (const tick& t : y.ticks) widest = std::max(widest, text_width(t.label, text_size));
  return std::ceil(widest) + tick_length + 4 + (y.label.empty() ? 0 : row_height);
}

void draw_grid(canvas& on, const plane& p) {
  for (const tick& t : p.x.ticks)
    on.segment({sharp(p.across(t.at)), p.area.top}, {sharp(p.across(t.at)), p.area.bottom()}, {colours::grid});
  for (const tick& t : p.y.ticks)
    on.segment({p.area.left, sharp(p.down(t.at))}, {p.area.right(), sharp(p.down(t.at))}, {colours::grid});
}

void draw_axis_below(canvas& on, const plane& p) {
  const box& a = p.area;
  on.segment({a.left, sharp(a.bottom())}, {a.right(), sharp(a.bottom())}, {colours::faint_ink});
  for (const tick& t : p.x.ticks) {
    const double x = sharp(p.across(t.at));
    on.segment({x, a.bottom()}, {x, a.bottom() + tick_length}, {colours::faint_ink});
    on.text({x, a.bottom() + tick_length + 13}, t.label, {.at = anchor::middle});
  }
  on.text({a.left + a.width / 2, a.bottom() + tick_length + 13 + row_height}, p.x.label, {.at = anchor::middle});
}

void draw_axes(canvas& on, const plane& p) {
  const box& a = p.area;
  draw_axis_below(on, p);
  on.outline({sharp(a.left) - 1, sharp(a.top) - 1, std::round(a.width) + 1, std::round(a.height) + 1},
             {colours::faint_ink});
  for (const tick& t : p.y.ticks) {
    const double y = sharp(p.down(t.at));
    on.segment({a.left - tick_length, y}, {a.left, y}, {colours::faint_ink});
    on.text({a.left - tick_length - 4, y + 4}, t.label, {.at = anchor::end});
  }
  on.text({a.left - width_of_axis(p.y) + 10, a.top + a.height / 2}, p.y.label, {.at = anchor::middle, .upwards = true});
}

plane draw_chart(canvas& on, const extent& size, const heading& h, std::span<const legend_entry> legend, axis x,
                 axis y) {
  const double width = size.width / size.scale, height = size.height / size.scale;
  const double left = std::ceil(edge + width_of_axis(y)), right = width - 2 * edge;
  draw_heading(on, {edge, edge - 2, width - 2 * edge, 0}, h);
  double top = edge + height_of(h);
  draw_legend(on, {left, top, right - left, 0}, legend);
  top += height_of_legend(legend, right - left) + gap;
  plane p{{left, top, right - left, height - height_of_axis() - gap - top}, std::move(x), std::move(y)};
  draw_grid(on, p);
  draw_axes(on, p);
  return p;
}

}  // namespace tulle::cli::plot

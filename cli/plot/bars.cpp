#include "bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tulle/core/status.hpp>

#include "picture.hpp"
#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr double width = 760, bar_pitch = 17, bar_thickness = 12, group_height = 24;
constexpr double widest_label = 190, value_width = 52;
constexpr std::array<colour, 3> inks{{{0x00, 0x4c, 0x80}, {0x7f, 0xb8, 0xdd}, {0xb8, 0xb8, 0xb8}}};
using sample = legend_entry::sample;

std::size_t count(const bar_chart& c) {
  std::size_t n = 0;
  for (const bar_group& g : c.groups) n += g.bars.size();
  return n;
}

std::vector<legend_entry> legend_of(const bar_chart& c) {
  std::vector<legend_entry> entries;
  for (std::size_t i = 0; i < c.kinds.size(); ++i) {
    const auto is_there = [&](const bar_group& g) { return std::ranges::find(g.bars, i, &bar::kind) != g.bars.end(); };
    if (std::ranges::any_of(c.groups, is_there)) entries.push_back({c.kinds[i], sample::area, inks[i]});
  }
  entries.push_back({c.spread, sample::whisker, colours::ink});
  if (c.limit) entries.push_back({c.limit_label, sample::dashes, colours::limit});
  return entries;
}

double largest(const bar_chart& c) {
  double most = c.limit.value_or(0);
  for (const bar_group& g : c.groups) {
    for (const bar& b : g.bars) most = std::max({most, b.value, b.high});
  }
  return most > 0 ? most : 1;
}

double label_width(const bar_chart& c) {
  double widest = 0;
  for (const bar_group& g : c.groups) {
    for (const bar& b : g.bars) widest = std::max(widest, text_width(plain_text(b.label), text_size));
  }
  return std::min(widest, widest_label);
}

void draw_bar(canvas& on, const plane& p, double top, const bar& b) {
  const double middle = top + bar_thickness / 2;
  on.text({p.area.left - gap, middle + 4}, shortened(plain_text(b.label), text_size, widest_label),
          {.at = anchor::end});
  on.rectangle({p.area.left, top, p.across(b.value) - p.area.left, bar_thickness}, inks[b.kind]);
  const double low = p.across(b.low), high = p.across(b.high);
  if (high - low > 2) {
    on.segment({low, middle}, {high, middle}, {colours::ink, 1.2});
    for (const double end : {low, high}) on.segment({end, middle - 3}, {end, middle + 3}, {colours::ink, 1.2});
  }
  on.text({p.area.right() + value_width, middle + 4}, fmt::format("{:.4g}", b.value), {.at = anchor::end});
}

void draw_groups(canvas& on, const plane& p, const bar_chart& c) {
  double y = p.area.top;
  for (const bar_group& g : c.groups) {
    const double end = y + group_height + bar_pitch * static_cast<double>(g.bars.size());
    for (const tick& t : p.x.ticks) {
      on.segment({p.across(t.at), y + group_height - 3}, {p.across(t.at), end}, {colours::grid});
    }
    on.text({edge, y + 16}, shortened(plain_text(g.title), text_size, width - 2 * edge), {.bold = true});
    y += group_height;
    for (const bar& b : g.bars) {
      draw_bar(on, p, y, b);
      y += bar_pitch;
    }
  }
}

}  // namespace

void draw_bars(const std::string& file, const bar_chart& c) {
  if (count(c) > most_bars) {
    throw error(
        status::invalid_argument,
        fmt::format(
            "{}: {} bars are too many for one picture, which takes {}: name fewer matrices, kernels or precisions",
            file, count(c), most_bars));
  }
  const std::vector<legend_entry> legend = legend_of(c);
  const double legend_height = height_of_legend(legend, width - 2 * edge);
  const double top = edge + height_of(c.text) + legend_height + gap;
  const double bars = bar_pitch * static_cast<double>(count(c)) + group_height * static_cast<double>(c.groups.size());
  const extent size{static_cast<int>(width), static_cast<int>(std::ceil(top + bars + gap + height_of_axis() + gap))};
  write_picture(file, size, c.text.title, [&](canvas& on) {
    draw_heading(on, {edge, edge - 2, width - 2 * edge, 0}, c.text);
    draw_legend(on, {edge, edge + height_of(c.text), width - 2 * edge, 0}, legend);
    const double left = std::ceil(edge + label_width(c) + gap), right = width - edge - value_width;
    plane p{{left, top, right - left, bars + gap}, linear_axis(c.unit, 0, 1.03 * largest(c), 8), {}};
    draw_groups(on, p, c);
    if (c.limit)
      on.segment({p.across(*c.limit), top + 20}, {p.across(*c.limit), p.area.bottom()}, {colours::limit, 1.5, 5});
    draw_axis_below(on, p);
  });
}

}  // namespace tulle::cli::plot

#include "pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/quantity.hpp"
#include "picture.hpp"
#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr double usual_pixels = 800;  // a larger picture has larger text
constexpr double legend_width = 118, narrowest_panel = 200;

struct panel {
  heading text;
  density cells;
  plane where;
  double left = 0;   // of the axis of rows
  double width = 0;  // of the plane, or what the heading has where that is more

  [[nodiscard]] double right() const { return where.area.left + width; }
};

axis index_axis(const char* label, index_t n, const side& s, double scale) {
  axis a{-0.5, std::max<double>(static_cast<double>(s.cells) * s.block, 1) - 0.5, false, label, {}};
  if (n == 0) return a;
  const int most = std::max(1, static_cast<int>(s.pixels / scale / 50));
  a.ticks = linear_axis("", 0, n - 1, most, 1).ticks;
  return a;
}

axis row_axis(index_t n, const side& s, double scale) {
  axis a = index_axis("row", n, s, scale);
  std::swap(a.low, a.high);  // rows are numbered downwards
  return a;
}

/// "cells of 12 x 12, bandwidth 59,999".
std::string details(const matrix_ref& a, const density& d) {
  std::string text;
  if (d.rows.block > 1 || d.cols.block > 1)
    text = fmt::format("cells of {} × {}", grouped(d.rows.block), grouped(d.cols.block));
  if (a.rows != a.cols || a.nnz == 0) return text;
  return fmt::format("{}{}bandwidth {}", text, text.empty() ? "" : ", ", grouped(d.bandwidth));
}

/// Of all panels, with areas from the left edge on; everything in units.
std::vector<panel> lay_out(const std::vector<titled_matrix>& matrices, double side, double scale) {
  std::vector<panel> panels;
  double margins = 2 * edge + legend_width, top = 0;
  for (const titled_matrix& m : matrices) {
    panel& p = panels.emplace_back();
    p.text = {m.title, {size_text(m.matrix.rows, m.matrix.cols, m.matrix.nnz), " "}};
    p.where.y =
        row_axis(m.matrix.rows, {1, m.matrix.rows, static_cast<int>(side)}, 1);  // its labels are as wide as any
    margins += width_of_axis(p.where.y) + 2 * gap;
    top = std::max(top, edge + height_of(p.text) + gap);
  }
  top = std::ceil(top * scale) / scale;
  const double width = (side - margins) / static_cast<double>(panels.size());
  const double height = side - top - height_of_axis() - edge;
  double x = edge;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    panel& p = panels[i];
    const matrix_ref& a = matrices[i].matrix;
    p.cells = count_entries(a, static_cast<int>(height * scale), static_cast<int>(width * scale));
    p.text.facts.back() = details(a, p.cells);
    p.left = x;
    x = std::ceil((x + width_of_axis(p.where.y)) * scale) / scale;  // on a whole pixel, so that cells are
    p.where.area = {x, top, p.cells.cols.pixels / scale, p.cells.rows.pixels / scale};
    p.where.x = index_axis("column", a.cols, p.cells.cols, scale);
    p.where.y = row_axis(a.rows, p.cells.rows, scale);
    p.width = std::max(p.where.area.width, std::min(narrowest_panel, width));
    x = p.right() + 2 * gap;
  }
  return panels;
}

cell_grid shade(const density& d, const std::vector<density_class>& classes) {
  cell_grid grid{d.rows.cells, d.cols.cells, std::vector<std::uint8_t>(d.count.size())};
  for (std::size_t i = 0; i < d.count.size(); ++i) {
    const auto above = std::ranges::upper_bound(classes, d.count[i], {}, &density_class::least);
    grid.level[i] = static_cast<std::uint8_t>(above - classes.begin());
  }
  return grid;
}

/// 4095, 16k, 1.2M.
std::string short_count(std::int64_t n) {
  const auto v = static_cast<double>(n);
  if (n < 10'000) return fmt::format("{}", n);
  return n < 1'000'000 ? fmt::format("{:.0f}k", std::floor(v / 1e3)) : fmt::format("{:.3g}M", v / 1e6);
}

std::string label_of(const density_class& c) {
  return c.least == c.most ? short_count(c.least) : fmt::format("{}–{}", short_count(c.least), short_count(c.most));
}

void draw_shades(canvas& on, point corner, const std::vector<density_class>& classes, const std::vector<colour>& of) {
  if (classes.empty()) return on.text({corner.x, corner.y + text_size}, "no entries", {});
  double y = corner.y + text_size;
  on.text({corner.x, y}, "entries in a cell", {});
  for (std::size_t i = 0; i < classes.size(); ++i) {
    y += row_height;
    on.rectangle({corner.x, y - 11, 18, 14}, of[i]);
    on.text({corner.x + 24, y}, label_of(classes[i]), {});
  }
}

/// `end` is how far the heading may go to the right.
void draw_panel(canvas& on, const panel& p, double end, const std::vector<density_class>& classes,
                const std::vector<colour>& of) {
  const box& a = p.where.area;
  draw_heading(on, {p.left, edge - 2, end - p.left, 0}, p.text);
  if (!p.cells.count.empty()) on.cells(a, shade(p.cells, classes), of);
  draw_axes(on, p.where);
}

/// The longer side has `pixels`, however much the cells left of them.
extent size_around(const std::vector<panel>& panels, std::size_t classes, int pixels, double scale) {
  double height = panels.front().where.area.top + row_height * static_cast<double>(classes + 1);
  for (const panel& p : panels) height = std::max(height, p.where.area.bottom() + height_of_axis());
  const double width = panels.back().right() + 2 * gap + legend_width;
  const auto whole = [&](double units) {
    return std::min(pixels, static_cast<int>(std::ceil((units + edge) * scale)));
  };
  extent size{whole(width), whole(height), scale};
  (size.width >= size.height ? size.width : size.height) = pixels;
  return size;
}

}  // namespace

std::vector<density> draw_patterns(const std::string& file, const std::vector<titled_matrix>& matrices, int pixels) {
  const double scale = std::max(1.0, pixels / usual_pixels);
  const std::vector<panel> panels = lay_out(matrices, pixels / scale, scale);
  std::int64_t most = 0;
  std::string title;
  for (const panel& p : panels) {
    most = std::max(most, p.cells.most());
    title += fmt::format("{}{}: {}", title.empty() ? "" : "; ", p.text.title, p.text.facts.front());
  }
  const std::vector<density_class> classes = classes_of_density(most);
  const std::vector<colour> of = shades(static_cast<int>(classes.size()));
  const extent size = size_around(panels, classes.size(), pixels, scale);
  write_picture(file, size, title, [&](canvas& on) {
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const bool last = i + 1 == panels.size();
      draw_panel(on, panels[i], last ? size.width / scale - edge : panels[i].right(), classes, of);
    }
    draw_shades(on, {panels.back().right() + 2 * gap, panels.front().where.area.top}, classes, of);
  });
  std::vector<density> cells;
  for (const panel& p : panels) cells.push_back(p.cells);
  return cells;
}

}  // namespace tulle::cli::plot

// A pattern as SVG: title, frame, axes, and runs of equally dark cells as rectangles.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tulle/io/write_file.hpp>

#include "residual_plot.hpp"
#include "spy.hpp"

namespace tulle::cli {
namespace {

constexpr int margin_left = 70;
constexpr int margin_top = 60;
constexpr int margin_right = 30;
constexpr int margin_bottom = 20;
constexpr int shades = 8;

int shade_of(std::uint8_t ink) { return (ink + 31) / 32; }  // 0 is empty, 8 the darkest

/// One path for each shade, made of horizontal runs.
void append_cells(fmt::memory_buffer& out, const pattern_grid& grid) {
  for (int shade = 1; shade <= shades; ++shade) {
    fmt::memory_buffer path;
    for (int row = 0; row < grid.height; ++row) {
      for (int column = 0; column < grid.width;) {
        const int begin = column;
        while (column < grid.width && shade_of(grid.at(row, column)) == shade) ++column;
        if (column > begin) {
          fmt::format_to(std::back_inserter(path), "M{} {}h{}v1H{}z", begin, row, column - begin, begin);
        } else {
          ++column;
        }
      }
    }
    if (path.size() == 0) continue;
    fmt::format_to(std::back_inserter(out), "<path fill=\"#1b2a6b\" fill-opacity=\"{:.3g}\" d=\"{}\"/>\n",
                   static_cast<double>(shade) / shades, std::string_view(path.data(), path.size()));
  }
}

/// From its left edge on; `scale` is the side of a cell.
void append_panel(fmt::memory_buffer& out, const pattern_grid& grid, const matrix_facts& matrix, double scale) {
  const auto to = std::back_inserter(out);
  const double width = grid.width * scale;
  const double height = grid.height * scale;
  fmt::format_to(to, "<text x=\"{}\" y=\"20\" font-size=\"14\">{}</text>\n", margin_left,
                 escaped_xml(headline(matrix)));
  fmt::format_to(to, "<g fill=\"#444\">\n<text x=\"{}\" y=\"{}\">0</text>\n", margin_left, margin_top - 8);
  fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"end\">columns {}</text>\n",
                 margin_left + std::max(width, 90.0), margin_top - 8, matrix.cols);
  fmt::format_to(to, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">0</text>\n", margin_left - 8, margin_top + 10);
  fmt::format_to(to,
                 "<text x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>\n"
                 "<text transform=\"translate({3} {4:.1f}) rotate(-90)\" text-anchor=\"middle\">rows</text>\n</g>\n",
                 margin_left - 8, margin_top + std::max(height, 24.0), matrix.rows, margin_left - 40,
                 margin_top + height / 2);
  fmt::format_to(to, "<g transform=\"translate({} {}) scale({})\" shape-rendering=\"crispEdges\">\n", margin_left,
                 margin_top, scale);
  append_cells(out, grid);
  fmt::format_to(to,
                 "</g>\n<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#444\"/>\n",
                 margin_left, margin_top, width, height);
}

}  // namespace

void write_svg(const std::string& file, const std::vector<spy_panel>& panels, int pixels) {
  const pattern_grid& first = panels.front().grid;
  const double scale = static_cast<double>(pixels) / std::max(first.width, first.height);
  const double panel_width = std::max(first.width * scale, 320.0) + margin_left + margin_right;  // the title needs room
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                 "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n",
                 panel_width * static_cast<double>(panels.size()), first.height * scale + margin_top + margin_bottom);
  fmt::format_to(to, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  append_panel(out, first, panels.front().matrix, scale);
  for (std::size_t i = 1; i < panels.size(); ++i) {
    fmt::format_to(to, "<g transform=\"translate({:.0f} 0)\">\n", panel_width * static_cast<double>(i));
    append_panel(out, panels[i].grid, panels[i].matrix, scale);
    fmt::format_to(to, "</g>\n");
  }
  fmt::format_to(to, "</svg>\n");
  write_file(file, {out.data(), out.size()});
}

}  // namespace tulle::cli

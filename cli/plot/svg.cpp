// The canvas as SVG: no library, the same bytes everywhere, text as text.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "canvas.hpp"

namespace tulle::cli::plot {
namespace {

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// To a hundredth of a unit, as short as it can be written.
std::string number(double v) { return fmt::format("{}", std::round(v * 100) / 100 + 0.0); }

std::string hex(colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string path(std::span<const point> through) {
  std::string d;
  for (const point& p : through) d += fmt::format("{}{} {}", d.empty() ? 'M' : 'L', number(p.x), number(p.y));
  return d;
}

class svg_canvas final : public canvas {
 public:
  svg_canvas(const extent& size, std::string_view title) {
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n<title>{}</title>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        size.width, size.height, number(size.width / size.scale), number(size.height / size.scale), escaped_xml(title));
  }

  void line(std::span<const point> through, const stroke& s) override {
    put("<path d=\"{}\" fill=\"none\" stroke=\"{}\"", path(through), hex(s.ink));
    if (s.width != 1) put(" stroke-width=\"{}\"", number(s.width));
    if (s.dash > 0) put(" stroke-dasharray=\"{}\"", number(s.dash));
    put("/>\n");
  }

  void polygon(std::span<const point> corners, colour fill) override {
    put("<path d=\"{}z\" fill=\"{}\"/>\n", path(corners), hex(fill));
  }

  void disc(point c, double radius, colour fill) override {
    put("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(c.x), number(c.y), number(radius), hex(fill));
  }

  void text(point at, std::string_view words, const font& f) override {
    if (f.upwards) {
      put("<text transform=\"translate({} {}) rotate(-90)\"", number(at.x), number(at.y));
    } else {
      put("<text x=\"{}\" y=\"{}\"", number(at.x), number(at.y));
    }
    if (f.size != 12) put(" font-size=\"{}\"", number(f.size));
    if (f.bold) put(" font-weight=\"bold\"");
    if (f.at != anchor::start) put(" text-anchor=\"{}\"", f.at == anchor::middle ? "middle" : "end");
    put(" fill=\"{}\">{}</text>\n", hex(f.ink), escaped_xml(words));
  }

  /// A path for each shade, made of runs in rows.
  void cells(const box& area, const cell_grid& grid, std::span<const colour> shades) override {
    put("<g transform=\"translate({} {}) scale({:.6g} {:.6g}) translate(0 .5)\" fill=\"none\" "
        "shape-rendering=\"crispEdges\">\n",
        number(area.left), number(area.top), area.width / grid.width, area.height / grid.height);
    for (std::size_t shade = 0; shade < shades.size(); ++shade) {
      const std::string d = runs(grid, static_cast<std::uint8_t>(shade + 1));
      if (!d.empty()) put("<path stroke=\"{}\" d=\"{}\"/>\n", hex(shades[shade]), d);
    }
    put("</g>\n");
  }

  std::string finish() override { return fmt::to_string(out_) + "</svg>\n"; }

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  /// Each run a stroke through the middle of its cells, from where the one before ended.
  static std::string runs(const cell_grid& grid, std::uint8_t level) {
    fmt::memory_buffer d;
    int end = 0, line = 0;
    for (int row = 0; row < grid.height; ++row) {
      for (int column = 0; column < grid.width; ++column) {
        const int begin = column;
        while (column < grid.width && grid.at(row, column) == level) ++column;
        if (column == begin) continue;
        fmt::format_to(std::back_inserter(d), "{}{} {}h{}", d.size() == 0 ? 'M' : 'm', begin - end, row - line,
                       column - begin);
        end = column;
        line = row;
      }
    }
    return fmt::to_string(d);
  }

  fmt::memory_buffer out_;
};

}  // namespace

std::unique_ptr<canvas> make_svg(const extent& size, std::string_view title) {
  return std::make_unique<svg_canvas>(size, title);
}

}  // namespace tulle::cli::plot

// The canvas as PNG, by cairo.
#include <cairo.h>
#include <fmt/format.h>

#include <new>
#include <numbers>
#include <tulle/core/status.hpp>

#include "canvas.hpp"

namespace tulle::cli::plot {
namespace {

void check(cairo_status_t s) {
  if (s == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (s != CAIRO_STATUS_SUCCESS) throw error(status::internal, fmt::format("cairo: {}", cairo_status_to_string(s)));
}

struct release {
  void operator()(cairo_t* p) const { cairo_destroy(p); }
  void operator()(cairo_surface_t* p) const { cairo_surface_destroy(p); }
  void operator()(cairo_font_options_t* p) const { cairo_font_options_destroy(p); }
};
template <class T>
using owned = std::unique_ptr<T, release>;

cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) noexcept try {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CAIRO_STATUS_NO_MEMORY;
}

class png_canvas final : public canvas {
 public:
  explicit png_canvas(const extent& size)
      : surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, size.width, size.height)) {
    check(cairo_surface_status(surface_.get()));
    cairo_.reset(cairo_create(surface_.get()));
    check(cairo_status(cairo_.get()));
    cairo_scale(cairo_.get(), size.scale, size.scale);
    const owned<cairo_font_options_t> options(cairo_font_options_create());
    cairo_font_options_set_antialias(options.get(), CAIRO_ANTIALIAS_GRAY);  // whatever the desktop is set to
    cairo_font_options_set_hint_style(options.get(), CAIRO_HINT_STYLE_SLIGHT);
    cairo_set_font_options(cairo_.get(), options.get());
    ink(colours::white);
    cairo_paint(cairo_.get());
  }

  void line(std::span<const point> through, const stroke& s) override {
    path(through);
    ink(s.ink);
    cairo_set_line_width(cairo_.get(), s.width);
    cairo_set_dash(cairo_.get(), &s.dash, s.dash > 0 ? 1 : 0, 0);
    cairo_stroke(cairo_.get());
  }

  void polygon(std::span<const point> corners, colour fill) override {
    path(corners);
    ink(fill);
    cairo_fill(cairo_.get());
  }

  void disc(point c, double radius, colour fill) override {
    cairo_arc(cairo_.get(), c.x, c.y, radius, 0, 2 * std::numbers::pi);
    ink(fill);
    cairo_fill(cairo_.get());
  }

  void text(point at, std::string_view words, const font& f) override {
    const std::string terminated(words);
    cairo_t* const c = cairo_.get();
    cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           f.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, f.size);
    cairo_text_extents_t size;
    cairo_text_extents(c, terminated.c_str(), &size);
    const double back = f.at == anchor::start ? 0 : f.at == anchor::middle ? size.x_advance / 2 : size.x_advance;
    cairo_save(c);
    cairo_translate(c, at.x, at.y);
    if (f.upwards) cairo_rotate(c, -std::numbers::pi / 2);
    cairo_move_to(c, -back, 0);
    ink(f.ink);
    cairo_show_text(c, terminated.c_str());
    cairo_restore(c);
    cairo_new_path(c);
  }

  void cells(const box& area, const cell_grid& grid, std::span<const colour> shades) override {
    const owned<cairo_surface_t> image(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, grid.width, grid.height));
    check(cairo_surface_status(image.get()));
    cairo_surface_flush(image.get());
    unsigned char* const pixels = cairo_image_surface_get_data(image.get());
    const int stride = cairo_image_surface_get_stride(image.get());
    for (int row = 0; row < grid.height; ++row) {
      auto* const pixel = reinterpret_cast<std::uint32_t*>(pixels + std::ptrdiff_t{row} * stride);
      for (int column = 0; column < grid.width; ++column) {
        const int level = grid.at(row, column);
        pixel[column] = level == 0 ? 0 : opaque(shades[static_cast<std::size_t>(level - 1)]);
      }
    }
    cairo_surface_mark_dirty(image.get());
    cairo_t* const c = cairo_.get();
    cairo_save(c);
    cairo_translate(c, area.left, area.top);
    cairo_scale(c, area.width / grid.width, area.height / grid.height);
    cairo_set_source_surface(c, image.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(c), CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(c), CAIRO_EXTEND_PAD);  // else the outermost pixels would stay white
    cairo_rectangle(c, 0, 0, grid.width, grid.height);
    cairo_fill(c);
    cairo_restore(c);
  }

  std::string finish() override {
    check(cairo_status(cairo_.get()));
    std::string bytes;
    check(cairo_surface_write_to_png_stream(surface_.get(), append, &bytes));
    return bytes;
  }

 private:
  static std::uint32_t opaque(colour c) {
    return 0xff000000U | std::uint32_t{c.red} << 16 | std::uint32_t{c.green} << 8 | c.blue;
  }

  void ink(colour c) { cairo_set_source_rgb(cairo_.get(), c.red / 255.0, c.green / 255.0, c.blue / 255.0); }

  void path(std::span<const point> through) {
    for (const point& p : through) cairo_line_to(cairo_.get(), p.x, p.y);  // the first one begins the path
  }

  owned<cairo_surface_t> surface_;
  owned<cairo_t> cairo_;
};

}  // namespace

std::unique_ptr<canvas> make_png(const extent& size) { return std::make_unique<png_canvas>(size); }

}  // namespace tulle::cli::plot

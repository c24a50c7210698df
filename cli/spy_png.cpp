// A pattern as PNG: each cell a square of whole pixels, with a thin frame.
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tulle/io/write_file.hpp>

#include "spy.hpp"

namespace tulle::cli {
namespace {

constexpr int channels = 3;
using colour = std::array<std::uint8_t, channels>;
constexpr colour densest{0x1b, 0x2a, 0x6b};
constexpr colour frame{0x44, 0x44, 0x44};

colour blend(std::uint8_t ink) {
  colour c{};
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = static_cast<std::uint8_t>(255 - (255 - densest[i]) * ink / 255);
  }
  return c;
}

}  // namespace

void write_png(const std::string& file, const std::vector<spy_panel>& panels, int pixels) {
  const pattern_grid& first = panels.front().grid;
  const int scale = std::max(1, pixels / std::max(first.width, first.height));
  const int panel_width = first.width * scale + 2;
  const int width = panel_width * static_cast<int>(panels.size());
  const int height = first.height * scale + 2;
  std::vector<std::uint8_t> image;
  image.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * channels);
  for (int y = 0; y < height; ++y) {
    for (int across = 0; across < width; ++across) {
      const pattern_grid& grid = panels[static_cast<std::size_t>(across / panel_width)].grid;
      const int x = across % panel_width;
      const bool border = x == 0 || y == 0 || x == panel_width - 1 || y == height - 1;
      const colour c = border ? frame : blend(grid.at((y - 1) / scale, (x - 1) / scale));
      image.insert(image.end(), c.begin(), c.end());
    }
  }
  png_image description{};
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(width);
  description.height = static_cast<png_uint_32>(height);
  description.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(description);
  const auto packed = std::make_unique_for_overwrite<char[]>(size);
  if (png_image_write_to_memory(&description, packed.get(), &size, 0, image.data(), 0, nullptr) == 0) {
    throw error(status::internal, fmt::format("{}: no PNG can be made: {}", file, description.message));
  }
  write_file(file, {packed.get(), size});
}

}  // namespace tulle::cli

#include "output.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>

namespace cardiac {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr int most_pixels = 900;  // of a section's longer side

/// Writes length and array, x fastest, as VTK wants them: of(x, y, z) of all voxels of the box.
template <class T, class Of>
void write_voxels(std::ofstream& out, const domain& body, const Of& of) {
  const auto plane = static_cast<std::size_t>(body.nx) * static_cast<std::size_t>(body.ny);
  const std::uint64_t bytes = plane * static_cast<std::size_t>(body.nz) * sizeof(T);
  out.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  std::vector<T> values(plane);
  for (int z = 0; z < body.nz; ++z) {
    for (int y = 0; y < body.ny; ++y) {
      for (int x = 0; x < body.nx; ++x) {
        values[static_cast<std::size_t>(y) * static_cast<std::size_t>(body.nx) + static_cast<std::size_t>(x)] =
            of(x, y, z);
      }
    }
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(plane * sizeof(T)));
  }
}

float value_at(const domain& body, const std::vector<float>& field, int x, int y, int z) {
  const index_t i = body.number(x, y, z);
  return i < 0 ? std::numeric_limits<float>::quiet_NaN() : field[static_cast<std::size_t>(i)];
}

struct colour {
  std::uint8_t r, g, b;
};
/// Blue, cyan, green, yellow, red.
colour colour_of(double t) {
  const auto channel = [&](double peak) {
    return static_cast<std::uint8_t>(255 * std::clamp(1.5 - std::abs(4 * std::clamp(t, 0.0, 1.0) - peak), 0.0, 1.0));
  };
  return {channel(3), channel(2), channel(1)};
}

/// Pixels of one section: number(column, row) is the cell there, or -1.
struct section {
  int width, height;
  std::function<index_t(int, int)> number;
};

class picture {
 public:
  picture(const std::vector<float>& field, double low, double high, double contour)
      : field_(field), low_(low), high_(high), contour_(contour) {}

  [[nodiscard]] colour at(const section& s, int column, int row) const {
    const index_t i = s.number(column, row);
    if (i < 0) return {0, 0, 0};
    const float v = field_[static_cast<std::size_t>(i)];
    if (std::isnan(v)) return {255, 255, 255};
    const colour c = colour_of((v - low_) / (high_ - low_));
    if (contour_ <= 0 || !(passes(v, s.number(column + 1, row)) || passes(v, s.number(column, row + 1)))) return c;
    return {static_cast<std::uint8_t>(c.r / 3), static_cast<std::uint8_t>(c.g / 3), static_cast<std::uint8_t>(c.b / 3)};
  }

 private:
  /// A contour lies between a value and that of cell j.
  [[nodiscard]] bool passes(float v, index_t j) const {
    return j >= 0 && std::floor(v / contour_) != std::floor(field_[static_cast<std::size_t>(j)] / contour_);
  }
  const std::vector<float>& field_;
  double low_, high_, contour_;
};

void write_rgb(const std::string& file, int width, int height, const std::vector<colour>& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(fmt::format("{}: {}", file, image.message));
  }
}

}  // namespace

void write_vti(const std::string& file, const domain& body, const std::vector<named_field>& fields) {
  std::ofstream out(file, std::ios::binary);
  const std::string extent = fmt::format("0 {} 0 {} 0 {}", body.nx, body.ny, body.nz);
  out << "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" "
         "header_type=\"UInt64\">\n"
      << fmt::format("<ImageData WholeExtent=\"{}\" Origin=\"{} {} {}\" Spacing=\"{} {} {}\">\n", extent, body.corner.x,
                     body.corner.y, body.corner.z, body.h, body.h, body.h)
      << fmt::format("<Piece Extent=\"{}\">\n<CellData>\n", extent);
  const std::size_t voxels =
      static_cast<std::size_t>(body.nx) * static_cast<std::size_t>(body.ny) * static_cast<std::size_t>(body.nz);
  std::size_t offset = 0;
  const auto declare = [&](const char* type, const std::string& name, std::size_t size) {
    out << fmt::format("<DataArray type=\"{}\" Name=\"{}\" format=\"appended\" offset=\"{}\"/>\n", type, name, offset);
    offset += sizeof(std::uint64_t) + voxels * size;
  };
  declare("UInt8", "inside", 1);
  for (const named_field& f : fields) declare("Float32", f.name, sizeof(float));
  out << "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_";
  write_voxels<std::uint8_t>(out, body, [&](int x, int y, int z) -> std::uint8_t { return body.number(x, y, z) >= 0; });
  for (const named_field& f : fields) {
    write_voxels<float>(out, body, [&](int x, int y, int z) { return value_at(body, f.values, x, y, z); });
  }
  out << "\n</AppendedData>\n</VTKFile>\n";
  if (!out.flush()) throw std::runtime_error(file + " cannot be written");
}

void write_png(const std::string& file, const domain& body, const std::vector<float>& field, double low, double high,
               double contour) {
  const section along = {body.ny, body.nz,
                         [&](int y, int row) { return body.number(body.nx / 2, y, body.nz - 1 - row); }};
  const section across = {body.ny, body.nx, [&](int y, int x) { return body.number(x, y, body.nz / 2); }};
  const int longest = std::max({body.nx, body.ny, body.nz});
  // Whole pixels a cell, or whole cells a pixel.
  const int pixels = std::max(1, most_pixels / longest), cells = std::max(1, (longest + most_pixels - 1) / most_pixels);
  const auto in_pixels = [&](int count) { return count * pixels / cells; };
  const int width = 2 * in_pixels(body.ny), height = in_pixels(std::max(body.nz, body.nx));
  const picture paint(field, low, high, contour);
  std::vector<colour> image;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const section& s = column < width / 2 ? along : across;
      const int c = column % (width / 2) * cells / pixels, r = row * cells / pixels;
      image.push_back(c < s.width && r < s.height ? paint.at(s, c, r) : colour{0, 0, 0});
    }
  }
  write_rgb(file, width, height, image);
}

}  // namespace cardiac

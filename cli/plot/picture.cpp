#include "picture.hpp"

#include <fmt/format.h>

#include <tulle/core/status.hpp>

#include "common/matrix.hpp"
#include "text.hpp"

namespace tulle::cli::plot {
namespace {

constexpr bool draws_png = TULLE_DRAWS_PNG;  // of CMake: png.cpp is compiled

bool is_png(const std::string& file) { return ending_of(file) == ".png"; }

}  // namespace

void check_picture(const char* option, const std::string& file) {
  if (file.empty() || file == "-" || ending_of(file) == ".svg") return;
  if (!is_png(file)) {
    throw error(status::invalid_argument,
                fmt::format("{} {}: the name of a picture ends in .svg or .png", option, file));
  }
  if (!draws_png) {
    throw error(status::unsupported,
                fmt::format("{} {}: this tulle is built without cairo and draws no PNG; name the picture .svg (in "
                            "Python, tulle.spy draws on matplotlib's axes)",
                            option, file));
  }
}

void write_picture(const std::string& file, const extent& size, const std::string& title,
                   const std::function<void(canvas&)>& draw) {
  const std::string bytes = in_memory_for(file, [&] {
    std::unique_ptr<canvas> on;
    if constexpr (draws_png) {
      if (is_png(file)) on = make_png(size);
    }
    if (!on) on = make_svg(size, plain_text(title));
    draw(*on);
    return on->finish();
  });
  write_text(file, bytes);
}

}  // namespace tulle::cli::plot

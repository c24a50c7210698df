// Pictures as files: .svg, or .png where tulle is built with cairo.
#pragma once

#include <functional>
#include <string>

#include "canvas.hpp"

namespace tulle::cli::plot {

inline constexpr const char* picture_help = ".svg, or .png; - is SVG on stdout";

/// Before any work is done. Throws INVALID_ARGUMENT, with the option's name, for a name that ends in neither, and
/// UNSUPPORTED for a PNG that this build cannot draw.
void check_picture(const char* option, const std::string& file);

/// Draws and writes; `title` (any text) is for those who cannot see it. `file` has passed check_picture. Throws
/// FILE_IO, OUT_OF_MEMORY, and reader_gone for "-".
void write_picture(const std::string& file, const extent& size, const std::string& title,
                   const std::function<void(canvas&)>& draw);

}  // namespace tulle::cli::plot

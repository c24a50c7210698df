#include "output.hpp"

#include <fmt/color.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <tulle/core/status.hpp>

namespace tulle::cli {

void print_json(const json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

void print_record(const json& record) {
  json document = object(field("schema_version", schema_version));
  document.update(record);
  print_json(document);
}

json number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

void write_file(const std::string& file, std::string_view content) {
  if (file == "-") {
    std::fwrite(content.data(), 1, content.size(), stdout);
    return;
  }
  std::ofstream stream(file, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (!stream) throw error(status::file_io, fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
}

void note(std::string_view text) { fmt::print(stderr, "tulle: {}\n", text); }

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

void print_verdict(bool right, std::string_view text) {
  const auto colour = fmt::fg(right ? fmt::terminal_color::green : fmt::terminal_color::red);
  fmt::print(use_colour(stdout) ? colour : fmt::text_style{}, "  {:<13}", right ? "verified" : "WRONG");
  fmt::print(" {}\n", text);
}

bool is_terminal(std::FILE* stream) noexcept { return isatty(fileno(stream)) == 1; }

bool use_colour(std::FILE* stream) noexcept {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

}  // namespace tulle::cli

#include "color.hpp"

#include <fmt/color.h>
#include <fmt/format.h>

#include <cstdlib>

#include "output.hpp"

namespace tulle::cli {
namespace {

color_choice choice = color_choice::automatic;

}  // namespace

void set_color(color_choice when) noexcept { choice = when; }

bool has_color(std::FILE* stream) {
  if (choice != color_choice::automatic) return choice == color_choice::always;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return is_terminal(stream) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::string styled(std::string_view text, look style, bool in_color) {
  if (!in_color || style == look::plain || text.empty()) return std::string(text);
  const auto as = style == look::bold
                      ? fmt::text_style(fmt::emphasis::bold)
                      : fmt::fg(style == look::red ? fmt::terminal_color::red : fmt::terminal_color::green);
  return fmt::format(as, "{}", text);
}

}  // namespace tulle::cli

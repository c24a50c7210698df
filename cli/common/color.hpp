// Colour: on a terminal, and only there, unless it is asked for or refused.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tulle::cli {

enum class look { plain, bold, red, green };

/// automatic: on a terminal, unless NO_COLOR is set or TERM is dumb.
enum class color_choice { automatic, always, never };
void set_color(color_choice when) noexcept;
bool has_color(std::FILE* stream);

/// The text between the escape sequences of a style, where `in_color`.
std::string styled(std::string_view text, look style, bool in_color);

}  // namespace tulle::cli

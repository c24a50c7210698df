#include "page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "output.hpp"

namespace tulle::cli {
namespace {

constexpr std::size_t otherwise = 100, narrowest = 40, widest = 1000;

}  // namespace

std::size_t width_of(std::FILE* stream) {
  std::size_t width = 0;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const char* const end = columns + std::strlen(columns);
    if (std::from_chars(columns, end, width).ptr != end) width = 0;
  }
  winsize window{};
  if (width == 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) width = window.ws_col;
  return width == 0 ? otherwise : std::clamp(width, narrowest, widest);
}

page& page::line(std::string_view text, look style, std::size_t hang) {
  const std::string clean = printable(text);
  const std::size_t indent = std::min(clean.find_first_not_of(' '), clean.size());
  std::size_t before = indent;
  const auto room = [&](std::size_t taken) { return width_ - std::min(width_ / 2, taken); };
  for (const std::string& piece :
       lines_within(std::string_view(clean).substr(indent), room(indent + hang), room(indent))) {
    text_ += std::string(piece.empty() ? 0 : before, ' ') + styled(piece, style, color_) + '\n';
    before = indent + hang;
  }
  return *this;
}

page& page::fact(std::string_view label, std::string_view text, look style) {
  const std::size_t hang = table::margin + label_ + 1;
  std::string before = fmt::format("  {}", styled(fmt::format("{:<{}}", printable(label), label_), style, color_));
  for (const std::string& piece : lines_within(printable(text), width_ - std::min(width_ / 2, hang))) {
    text_ += fmt::format("{} {}\n", before, piece);
    before.assign(hang - 1, ' ');
  }
  return *this;
}

page& page::add(const table& t) {
  const table::layout layout = t.fit(width_);
  for (const auto& [text, style] : layout.lines) text_ += styled(text, style, color_) + '\n';
  if (!layout.left_out.empty() && layout.left_out != left_out_) {
    line(fmt::format("  ({} columns are too few for: {})", width_, fmt::join(layout.left_out, ", ")));
  }
  left_out_ = layout.left_out;
  return *this;
}

void page::print(std::FILE* stream) {
  put_raw(stream, text_);
  text_.clear();
}

}  // namespace tulle::cli

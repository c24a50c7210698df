#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/output.hpp"
#include "common/quantity.hpp"

namespace tulle::cli::plot {
namespace {

/// The characters of UTF-8 text.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    result.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

/// In ems, as in DejaVu Sans or Verdana, the widest of the fonts in use.
double width_of(std::string_view character) {
  if (character.size() > 1) return 0.8;
  constexpr std::string_view narrow = " .,:;'|!()[]/-ijltfrI", wide = "mwMW%@+=<>_ABCDEFGHKNOPQRUVXYZ";
  if (narrow.find(character[0]) != std::string_view::npos) return 0.4;
  return wide.find(character[0]) != std::string_view::npos ? 0.82 : 0.635;
}

}  // namespace

std::string plain_text(std::string_view text) {
  const std::string quoted = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  std::string valid = printable(json::parse(quoted).get<std::string>());
  for (const std::string_view no_character : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {  // U+FFFE and U+FFFF: XML has none
    for (std::size_t at = 0; (at = valid.find(no_character, at)) != std::string::npos;)
      valid.replace(at, 3, "\xef\xbf\xbd");
  }
  return valid;
}

double text_width(std::string_view text, double size) {
  double ems = 0;
  for (const std::string_view c : characters(text)) ems += width_of(c);
  return ems * size;
}

std::string shortened(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  const std::vector<std::string_view> all = characters(text);
  const double room = width / size - width_of("…");
  double used = 0;
  std::size_t begin = 0, end = all.size();
  while (begin < end) {  // what is kept grows from both sides
    const bool front = begin <= all.size() - end;
    used += width_of(front ? all[begin] : all[end - 1]);
    if (used > room) break;
    front ? ++begin : --end;
  }
  std::string result;
  for (std::size_t i = 0; i < begin; ++i) result += all[i];
  result += "…";
  for (std::size_t i = end; i < all.size(); ++i) result += all[i];
  return result;
}

std::string size_text(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  return fmt::format("{} × {}, {}", grouped(rows), grouped(cols), counted(nnz, "nonzero"));
}

}  // namespace tulle::cli::plot

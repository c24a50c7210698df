#include "output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

namespace tulle::cli {
namespace {

int lost = 0;
loudness loud = loudness::normal;

/// The length of the control character that `text` begins with, in UTF-8, or 0: also U+0080 to U+009F, where a terminal
/// finds the 8-bit forms of escape sequences.
std::size_t control_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  return text.size() > 1 && byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

/// `escape` formats the last byte of a control character.
std::string escaped(std::string_view text, fmt::format_string<int> escape, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = keep_lines && text[0] == '\n' ? 0 : control_length(text);
    if (length == 0) {
      out += text[0];
    } else {
      out += fmt::format(escape, int{static_cast<unsigned char>(text[length - 1])});
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace

void put_raw(std::FILE* stream, std::string_view text) noexcept {
  if (std::fwrite(text.data(), 1, text.size(), stream) != text.size() && stream == stdout && lost == 0) lost = errno;
}

void put_styled(std::FILE* stream, look style, std::string_view text) {
  put_raw(stream, styled(text, style, has_color(stream)));
}

int lost_output() noexcept {
  if (std::fflush(stdout) != 0 && lost == 0) lost = errno;
  if (std::ferror(stdout) != 0 && lost == 0) lost = EIO;  // of what others print
  return lost;
}

std::string printable(std::string_view text) { return escaped(text, "\\x{:02x}", false); }

std::string printable_lines(std::string_view text) { return escaped(text, "\\x{:02x}", true); }

void print_json(const json& document) {
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace);
  put_raw(stdout, escaped(text, "\\u00{:02x}", true) + '\n');
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

void set_loudness(loudness how) noexcept { loud = how; }

bool is_quiet() noexcept { return loud == loudness::quiet; }

void complain(std::string_view text) { put_raw(stderr, fmt::format("tulle: {}\n", printable(text))); }

void note(std::string_view text) {
  if (loud != loudness::quiet) complain(text);
}

void detail(std::string_view text) {
  if (loud == loudness::verbose) complain(text);
}

bool shows_progress() noexcept { return loud != loudness::quiet && is_terminal(stderr); }

bool is_terminal(std::FILE* stream) noexcept { return isatty(fileno(stream)) == 1; }

}  // namespace tulle::cli

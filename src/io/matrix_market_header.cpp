// Banner, comments and size line, line by line.
#include "io/matrix_market_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "io/matrix_market_number.hpp"
#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

/// Takes the first line off the text, without its end: \n, \r\n or \r.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1, text.size()));
  return line;
}

std::string lower(std::string_view word) {
  std::string result(word.substr(0, 64));
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// What a text without banner is, as far as its first bytes tell.
std::string_view guess(std::string_view text) {
  if (text.empty()) return " (the file is empty)";
  if (text.starts_with("version https://git-lfs"))
    return ": this is a git-LFS pointer; `git lfs pull` fetches the data";
  if (is_gzip(text) || is_zstd(text) || is_xz(text)) return ": it is compressed twice";
  if (text.starts_with("BZh")) return ": this is bzip2 data; decompress it with `bzip2 -d`";
  if (text.starts_with("PK\x03\x04")) return ": this is a zip archive; `unzip` takes the matrix out";
  if (text.substr(std::min<std::size_t>(text.size(), 257)).starts_with("ustar")) {
    return ": this is a tar archive; `tar -xf` takes the matrix out";
  }
  return "";
}

/// The place in `names` of the banner's next word, whatever its case.
std::size_t read_choice(const source& file, std::string_view& line, std::string_view what,
                        std::initializer_list<std::string_view> names, std::string_view valid) {
  const std::string_view word = take_word(line);
  const auto* found = std::find(names.begin(), names.end(), lower(word));
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  fail(status::invalid_format, file, 1,
       word.empty() ? fmt::format("the banner names no {}; {} would be", what, valid)
                    : fmt::format("'{}' is not a known {}; {} would be", quoted(word), what, valid));
}

void read_field(const source& file, std::string_view& line, header& h) {
  constexpr std::array fields{mm_field::real, mm_field::real, mm_field::integer, mm_field::pattern, mm_field::complex};
  const std::size_t choice = read_choice(file, line, "field", {"real", "double", "integer", "pattern", "complex"},
                                         "real, double, integer, pattern or complex");
  h.field = fields[choice];
  if (h.array && h.field == mm_field::pattern) fail(status::invalid_format, file, 1, "an array cannot be a pattern");
}

void read_symmetry(const source& file, std::string_view& line, header& h) {
  constexpr std::array symmetries{mm_symmetry::general, mm_symmetry::symmetric, mm_symmetry::skew_symmetric,
                                  mm_symmetry::hermitian};
  const std::size_t choice =
      read_choice(file, line, "symmetry", {"general", "symmetric", "skew-symmetric", "hermitian"},
                  "general, symmetric, skew-symmetric or hermitian");
  h.symmetry = symmetries[choice];
  // What is its own conjugate transpose and real is symmetric; some programs write so.
  if (h.symmetry == mm_symmetry::hermitian && h.field != mm_field::complex) h.symmetry = mm_symmetry::symmetric;
  if (h.vector && h.symmetry != mm_symmetry::general) fail(status::invalid_format, file, 1, "a vector must be general");
  if (h.field == mm_field::pattern && h.symmetry == mm_symmetry::skew_symmetric) {
    fail(status::invalid_format, file, 1, "a pattern has no signs: it cannot be skew-symmetric");
  }
}

void read_banner(const source& file, std::string_view line, header& h) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // a byte order mark
  if (lower(take_word(line)) != "%%matrixmarket") {
    fail(status::invalid_format, file, 1, fmt::format("no %%MatrixMarket banner{}", guess(file.text)));
  }
  h.vector = read_choice(file, line, "object", {"matrix", "vector"}, "matrix or vector") == 1;
  h.array = read_choice(file, line, "format", {"coordinate", "array"}, "coordinate or array") == 1;
  read_field(file, line, h);
  read_symmetry(file, line, h);
  if (const std::string_view word = take_word(line); !word.empty()) {
    fail(status::invalid_format, file, 1, fmt::format("'{}' follows the end of the banner", quoted(word)));
  }
}

/// A number of the size line, at most `limit`.
std::int64_t read_size(const source& file, std::int64_t line, std::string_view word, std::string_view what,
                       std::int64_t limit) {
  std::int64_t number = 0;
  const conversion result = convert_integer(word, number);
  if (result == conversion::malformed) {
    fail(status::invalid_format, file, line, fmt::format("number of {}: '{}' is not an integer", what, quoted(word)));
  }
  if (word.starts_with('-')) {
    fail(status::invalid_format, file, line, fmt::format("number of {}: {} is negative", what, quoted(word)));
  }
  if (result == conversion::too_large || number > limit) {
    fail(status::overflow, file, line, fmt::format("number of {}: {} is more than {}", what, quoted(word), limit));
  }
  return number;
}

/// Elements that an array of this shape and symmetry stores.
std::int64_t array_entries(const header& h) {
  const std::int64_t n = h.rows;
  if (h.symmetry == mm_symmetry::symmetric || h.symmetry == mm_symmetry::hermitian) return n * (n + 1) / 2;
  if (h.symmetry == mm_symmetry::skew_symmetric) return n > 0 ? n * (n - 1) / 2 : 0;
  return n * h.cols;
}

void read_size_line(const source& file, std::int64_t line, std::string_view text, header& h) {
  const std::size_t expected = (h.vector ? 1U : 2U) + (h.array ? 0U : 1U);
  std::array<std::string_view, 3> words;
  std::size_t count = 0;
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    if (count < words.size()) words[count] = word;
    ++count;
  }
  if (count != expected) {
    fail(status::invalid_format, file, line,
         fmt::format("the size line has {} numbers; {} would be right (rows{}{})", count, expected,
                     h.vector ? "" : ", columns", h.array ? "" : ", entries"));
  }
  constexpr std::int64_t largest = std::numeric_limits<index_t>::max();
  h.rows = static_cast<index_t>(read_size(file, line, words[0], "rows", largest));
  h.cols = h.vector ? 1 : static_cast<index_t>(read_size(file, line, words[1], "columns", largest));
  if (h.symmetry != mm_symmetry::general && h.rows != h.cols) {
    fail(status::invalid_format, file, line,
         fmt::format("{} x {} is not square, as a symmetric matrix must be", h.rows, h.cols));
  }
  h.entries = h.array ? array_entries(h)
                      : read_size(file, line, words[expected - 1], "entries", std::numeric_limits<std::int64_t>::max());
}

/// Nothing where the text ends before the size line, with the number of its last line.
std::optional<header> look_for_header(const source& file, std::int64_t& last_line) {
  header h;
  std::string_view rest = file.text;
  read_banner(file, take_line(rest), h);
  for (last_line = 1; !rest.empty();) {
    const std::string_view line = take_line(rest);
    h.size_line = ++last_line;
    const auto* first = std::find_if_not(line.begin(), line.end(), is_blank);
    if (first == line.end() || *first == '%') continue;
    h.data = file.text.size() - rest.size();
    read_size_line(file, h.size_line, line, h);
    return h;
  }
  return {};
}

/// Of a file that is read segment by segment.
header read_open_header(const source& file) {
  for (std::size_t size = std::size_t{1} << 12; size <= file.bytes; size *= 4) {
    std::string beginning(size, '\0');
    if (!read_at(file.fd, beginning.data(), size, file.start)) break;
    if (const auto found = find_header({beginning, file.name})) return *found;
  }
  throw text_needed();
}

}  // namespace

header read_header(const source& file) {
  if (file.fd >= 0) return read_open_header(file);
  std::int64_t last_line = 1;
  if (const auto found = look_for_header(file, last_line)) return *found;
  fail(status::invalid_format, file, last_line, "the file ends before the size line");
}

std::optional<header> find_header(const source& beginning) {
  constexpr std::size_t longest_banner = 4096;
  const std::size_t whole_lines = beginning.text.find_last_of("\r\n") + 1;  // 0: there is none
  if (whole_lines == 0 && beginning.text.size() <= longest_banner) return {};
  std::int64_t last_line = 1;
  return look_for_header(
      {beginning.text.substr(0, whole_lines == 0 ? beginning.text.npos : whole_lines), beginning.name}, last_line);
}

void fail(status code, const source& file, std::int64_t line, const std::string& message) {
  throw error(code, fmt::format("{}: line {}: {}", file.name, line, message));
}

std::int64_t line_of(std::string_view text, std::size_t position) noexcept {
  std::int64_t line = 1;
  for (std::size_t i = 0; i < position; ++i) {
    const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    line += text[i] == '\n' || (text[i] == '\r' && !pair);
  }
  return line;
}

std::string_view take_word(std::string_view& line) {
  const auto* begin = std::find_if_not(line.begin(), line.end(), is_blank);
  const auto* end = std::find_if(begin, line.end(), is_blank);
  line = {end, static_cast<std::size_t>(line.end() - end)};
  return {begin, static_cast<std::size_t>(end - begin)};
}

std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string result(word.substr(0, longest));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return word.size() > longest ? result + "…" : result;
}

}  // namespace tulle::matrix_market

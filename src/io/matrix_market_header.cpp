// Banner, comments and size line, line by line.
#include "io/matrix_market_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "io/matrix_market_number.hpp"

namespace tulle::matrix_market {
namespace {

/// Walks the lines at the start of the text.
class line_reader {
 public:
  explicit line_reader(std::string_view text) : text_(text) {}

  /// The next line without its end, or nothing at the end of the text.
  std::optional<std::string_view> next() {
    if (position_ == text_.size()) return std::nullopt;
    const std::size_t end = std::min(text_.find_first_of("\r\n", position_), text_.size());
    const std::string_view line = text_.substr(position_, end - position_);
    position_ = std::min(end + 1, text_.size());
    if (end + 1 < text_.size() && text_[end] == '\r' && text_[end + 1] == '\n') ++position_;
    ++number_;
    return line;
  }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
  std::int64_t number_ = 0;
};

/// Takes the first word off a line; empty when there is none.
std::string_view take_word(std::string_view& line) {
  const auto* begin = std::find_if_not(line.begin(), line.end(), is_blank);
  const auto* end = std::find_if(begin, line.end(), is_blank);
  line = {end, static_cast<std::size_t>(line.end() - end)};
  return {begin, static_cast<std::size_t>(end - begin)};
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
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return ": this is xz data; decompress it with `xz -d`";
  if (text.starts_with("BZh")) return ": this is bzip2 data; decompress it with `bzip2 -d`";
  return "";
}

[[noreturn]] void fail_banner(const source& file, std::string_view what, std::string_view word,
                              std::string_view valid) {
  if (word.empty()) fail(status::invalid_format, file, 1, fmt::format("the banner names no {}; {}", what, valid));
  fail(status::invalid_format, file, 1, fmt::format("'{}' is not a known {}; {}", quoted(word), what, valid));
}

void read_object(const source& file, std::string_view& line, header& h) {
  const std::string_view word = take_word(line);
  const std::string object = lower(word);
  if (object != "matrix" && object != "vector") fail_banner(file, "object", word, "matrix or vector would be");
  h.vector = object == "vector";
}

void read_format(const source& file, std::string_view& line, header& h) {
  const std::string_view word = take_word(line);
  const std::string format = lower(word);
  if (format != "coordinate" && format != "array") fail_banner(file, "format", word, "coordinate or array would be");
  h.array = format == "array";
}

void read_field(const source& file, std::string_view& line, header& h) {
  const std::string_view word = take_word(line);
  const std::string field = lower(word);
  if (field == "complex")
    fail(status::unsupported, file, 1, "complex matrices are not supported; real, integer and pattern are");
  if (field == "real" || field == "double") {
    h.field = mm_field::real;
  } else if (field == "integer") {
    h.field = mm_field::integer;
  } else if (field == "pattern") {
    h.field = mm_field::pattern;
  } else {
    fail_banner(file, "field", word, "real, double, integer or pattern would be");
  }
  if (h.array && h.field == mm_field::pattern) fail(status::invalid_format, file, 1, "an array cannot be a pattern");
}

void read_symmetry(const source& file, std::string_view& line, header& h) {
  const std::string_view word = take_word(line);
  const std::string symmetry = lower(word);
  if (symmetry == "hermitian") {
    fail(status::unsupported, file, 1,
         "hermitian matrices are not supported; general, symmetric and skew-symmetric are");
  }
  if (symmetry == "general") {
    h.symmetry = mm_symmetry::general;
  } else if (symmetry == "symmetric") {
    h.symmetry = mm_symmetry::symmetric;
  } else if (symmetry == "skew-symmetric") {
    h.symmetry = mm_symmetry::skew_symmetric;
  } else {
    fail_banner(file, "symmetry", word, "general, symmetric or skew-symmetric would be");
  }
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
  read_object(file, line, h);
  read_format(file, line, h);
  read_field(file, line, h);
  read_symmetry(file, line, h);
  if (const std::string_view word = take_word(line); !word.empty()) {
    fail(status::invalid_format, file, 1, fmt::format("'{}' follows the end of the banner", quoted(word)));
  }
}

/// A number of the size line, at most `limit`.
std::int64_t read_size(const source& file, std::int64_t line, std::string_view word, std::string_view what,
                       std::int64_t limit) {
  const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
  const char* last = word.data() + word.size();
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(first, last, number);
  if (end != last || code == std::errc::invalid_argument) {
    fail(status::invalid_format, file, line, fmt::format("number of {}: '{}' is not an integer", what, quoted(word)));
  }
  if (*first == '-') {
    fail(status::invalid_format, file, line, fmt::format("number of {}: {} is negative", what, quoted(word)));
  }
  if (code == std::errc::result_out_of_range || number > limit) {
    fail(status::overflow, file, line, fmt::format("number of {}: {} is more than {}", what, quoted(word), limit));
  }
  return number;
}

/// Elements that an array of this shape and symmetry stores.
std::int64_t array_entries(const header& h) {
  const std::int64_t n = h.rows;
  if (h.symmetry == mm_symmetry::symmetric) return n * (n + 1) / 2;
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

}  // namespace

header read_header(const source& file) {
  header h;
  line_reader lines(file.text);
  read_banner(file, lines.next().value_or(std::string_view()), h);
  while (const auto line = lines.next()) {
    const auto* first = std::find_if_not(line->begin(), line->end(), is_blank);
    if (first == line->end() || *first == '%') continue;
    h.size_line = lines.number();
    h.data = lines.position();
    read_size_line(file, h.size_line, *line, h);
    return h;
  }
  fail(status::invalid_format, file, lines.number(), "the file ends before the size line");
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

std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string result(word.substr(0, longest));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return word.size() > longest ? result + "…" : result;
}

}  // namespace tulle::matrix_market

// The banner and the size line of a Matrix Market file, and errors that name a line of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <tulle/io/matrix_market.hpp>

namespace tulle::matrix_market {

/// Thrown where a message needs the text of a file that is read segment by segment.
struct text_needed {};

/// The text of a file and the name that messages give it; or the open file itself, whose text is nowhere as a whole.
struct source {
  std::string_view text;
  std::string_view name;
  int fd = -1;  // of a file that is read segment by segment
  std::int64_t start = 0;
  std::size_t bytes = 0;

  [[nodiscard]] std::size_t size() const noexcept { return fd < 0 ? text.size() : bytes; }
  void require_text() const {
    if (fd >= 0) throw text_needed();
  }
};

struct header {
  bool vector = false;  // a vector object: n x 1, its coordinates have a row alone
  bool array = false;
  mm_field field = mm_field::real;
  mm_symmetry symmetry = mm_symmetry::general;
  index_t rows = 0;
  index_t cols = 0;
  bool no_diagonal = false;    // strict reading of a skew-symmetric matrix
  std::int64_t entries = 0;    // lines of data that must follow
  std::int64_t size_line = 0;  // line number of the size line
  std::size_t data = 0;        // where in the text the first line after it starts
};

/// Throws INVALID_FORMAT or OVERFLOW, naming the line.
header read_header(const source& file);
/// The same of the beginning of a file; nothing where it ends before the size line does.
std::optional<header> find_header(const source& beginning);

/// Throws "NAME: line N: MESSAGE".
[[noreturn]] void fail(status code, const source& file, std::int64_t line, const std::string& message);
/// Line number (from 1) of the character at `position`. \n, \r\n and \r alone end lines.
std::int64_t line_of(std::string_view text, std::size_t position) noexcept;
/// Takes the first word off a line; empty when there is none.
std::string_view take_word(std::string_view& line);
/// A word of the file for a message: cut to 40 characters, nothing unprintable.
std::string quoted(std::string_view word);

}  // namespace tulle::matrix_market

// A table that fits a width: columns that do not fit are left out, the least important first, or broken into lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "color.hpp"

namespace tulle::cli {

/// Columns of a terminal that UTF-8 text takes, one for each code point.
std::size_t columns_of(std::string_view text);
/// `text` in lines of at most `width` columns, the first of `first` where that is not 0, broken at spaces, and within
/// words that are longer.
std::vector<std::string> lines_within(std::string_view text, std::size_t width, std::size_t first = 0);

struct column {
  std::string title = {};
  int drop = 0;          // 0: it stays; of the others the highest is left out first
  bool left = false;     // text; numbers stand at the right
  bool wraps = false;    // text that may be broken into lines; at most one of a table
  std::size_t most = 0;  // where the table is too wide: text broken into lines of so many columns; 0: it is not
};

class table {
 public:
  /// What is left of the first column: a mark of one character, and a space.
  static constexpr std::size_t margin = 2;

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns. A column without a cell that is not empty is left out.
  void row(std::vector<std::string> cells, char mark = ' ', look style = look::plain);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  struct row_text {
    std::string text;
    look style = look::plain;
  };
  struct layout {
    std::vector<row_text> lines;
    std::vector<std::string> left_out;  // titles of the columns for which there is no place
  };
  [[nodiscard]] layout fit(std::size_t width) const;

 private:
  struct entry {
    std::vector<std::string> cells;
    char mark = ' ';
    look style = look::plain;
  };
  struct placed {
    std::size_t index = 0, width = 0;
  };
  [[nodiscard]] std::size_t natural_width(std::size_t index) const;
  [[nodiscard]] std::vector<placed> place(std::size_t width, std::vector<std::string>& left_out) const;
  [[nodiscard]] std::vector<std::string> lines_of(const std::vector<placed>& columns, const entry& e) const;

  std::vector<column> columns_;
  std::vector<entry> rows_;
};

}  // namespace tulle::cli

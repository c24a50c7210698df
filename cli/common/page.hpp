// Text for people: lines, facts and tables that fit what they are printed on, with colour where that has it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "color.hpp"
#include "table.hpp"

namespace tulle::cli {

/// Columns of what `stream` is: COLUMNS where that is set, else the width of a terminal, else 100.
std::size_t width_of(std::FILE* stream);

class page {
 public:
  /// `label`: columns of the labels of facts.
  explicit page(std::FILE* stream, std::size_t label = 13) : page(width_of(stream), has_color(stream), label) {}
  explicit page(std::size_t width, bool color = false, std::size_t label = 13)
      : width_(width), color_(color), label_(label) {}

  /// One line, broken at the width; what follows stands `hang` columns further right than it begins. Control
  /// characters, ends of lines among them, become \x1b and the like, here and in what follows.
  page& line(std::string_view text = {}, look style = look::plain, std::size_t hang = 2);
  /// "  label         text": the label in a style, what follows under the text.
  page& fact(std::string_view label, std::string_view text, look style = look::plain);
  /// The last line of a checked result: "verified" in green or "WRONG" in red, then the text.
  page& verdict(bool right, std::string_view text) {
    return fact(right ? "verified" : "WRONG", text, right ? look::green : look::red);
  }
  /// Below it stands which columns were left out, unless that was said last.
  page& add(const table& t);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Prints what there is, and begins anew.
  void print(std::FILE* stream);

 private:
  std::size_t width_;
  bool color_;
  std::size_t label_;
  std::string text_;
  std::vector<std::string> left_out_;  // said last
};

}  // namespace tulle::cli

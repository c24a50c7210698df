// What --help prints: lines of at most 80 columns, in plain words.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "description.hpp"

namespace CLI {
class FormatterBase;
}

namespace tulle::cli {

inline constexpr std::size_t help_columns = 80;

std::string help_text(const command_description& command);

/// `text` in lines of at most `columns` characters, each after the first behind `indent` spaces.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

/// A part of a command's details: a paragraph, or lines that stay as they are.
struct details_part {
  std::string text;  // of a paragraph one line; else lines, indented
  bool is_table;
};
/// Lines that begin with a space are tables; a paragraph ends before these, at an empty line, and with a line that ends
/// a sentence.
std::vector<details_part> parts_of(const std::string& details);

/// What an option's help says in all: the text, the words that are allowed, and what holds otherwise.
std::string whole_help(const option_description& option);

/// help_text for CLI11.
std::shared_ptr<CLI::FormatterBase> make_formatter();

}  // namespace tulle::cli

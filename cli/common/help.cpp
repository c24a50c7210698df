#include "help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace tulle::cli {
namespace {

constexpr std::size_t help_column = 28;

class formatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    return help_text(describe(*app));
  }
};

/// A name in the first column and its text in the second, or below where the name is too long.
std::string entry(std::string_view name, std::string_view text) {
  std::string line = fmt::format("  {}", name);
  if (text.empty()) return line + '\n';
  line += line.size() + 2 > help_column ? '\n' + std::string(help_column, ' ')
                                        : std::string(help_column - line.size(), ' ');
  return line + wrapped(text, help_columns - help_column, help_column) + '\n';
}

/// Options without a letter stand where the others' words do.
std::string label_of(const option_description& o) {
  const std::string label = o.label();
  return label.starts_with("--") ? "    " + label : label;
}

std::string options_text(const std::string& title, const std::vector<option_description>& options) {
  std::string text = fmt::format("\n{}:\n", title);
  for (const option_description& o : options) text += entry(label_of(o), whole_help(o));
  return text;
}

std::string commands_text(const command_description& command) {
  std::string text;
  std::size_t longest = 0;
  for (const auto& group : command.commands) {
    for (const command_description& c : group.commands) longest = std::max(longest, c.word().size());
  }
  for (const auto& group : command.commands) {
    text += fmt::format("\n{}:\n", group.title);
    for (const command_description& c : group.commands) {
      text +=
          fmt::format("  {:<{}}  {}\n", c.word(), longest, wrapped(c.summary, help_columns - longest - 4, longest + 4));
    }
  }
  return text;
}

/// Lines of a table; what is too long for its line goes on below the last column.
std::string table_lines(const std::string& table) {
  std::string lines;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = std::min(table.find('\n', at), table.size());
    const std::string line = table.substr(at, end - at);
    at = end + 1;
    const std::size_t gap = line.rfind("  "), column = gap == line.npos ? 0 : gap + 2;
    lines += (lines.empty() ? "" : "\n") + line.substr(0, column) +
             wrapped(line.substr(column), help_columns - column, column);
  }
  return lines;
}

/// A command of the shell, in lines that it would take as one.
std::string command_lines(const std::string& command) {
  constexpr std::size_t indent = 2, continued = 6;
  std::string lines = wrapped(command, help_columns - continued - 2, continued);
  if (indent + command.size() <= help_columns) return command;
  for (std::size_t at = lines.find('\n'); at != lines.npos; at = lines.find('\n', at + 3)) lines.insert(at, " \\");
  return lines;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string lines;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (used > 0 && used + 1 + word.size() > columns) {
      lines += '\n' + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

std::vector<details_part> parts_of(const std::string& details) {
  std::vector<details_part> parts;
  bool goes_on = false;  // the last part does
  for (std::size_t at = 0; at < details.size();) {
    const std::size_t end = std::min(details.find('\n', at), details.size());
    const std::string line = details.substr(at, end - at);
    at = end + 1;
    const bool is_table = line.starts_with(' ');
    if (line.empty()) {
      goes_on = false;
    } else if (goes_on && parts.back().is_table == is_table) {
      parts.back().text += (is_table ? '\n' : ' ') + line;
    } else {
      parts.push_back({line, is_table});
    }
    if (!line.empty()) goes_on = is_table || !line.ends_with('.');
  }
  return parts;
}

std::string whole_help(const option_description& o) {
  std::string text = o.help;
  if (!o.choices.empty() && !o.shows_choices()) text += fmt::format("; one of {}", fmt::join(o.choices, ", "));
  if (!o.otherwise.empty()) text += fmt::format(" (default {})", o.otherwise);
  return text;
}

std::string help_text(const command_description& c) {
  std::string text =
      wrapped(c.summary, help_columns, 0) + "\n\nUsage: " + wrapped(c.usage(), help_columns - 7, 9) + '\n';
  if (!c.arguments.empty()) text += options_text("Arguments", c.arguments);
  text += commands_text(c);
  for (const option_group& g : c.groups) text += options_text(g.title, g.options);
  for (const details_part& part : parts_of(c.details)) {
    if (!text.ends_with(":\n")) text += '\n';
    text += (part.is_table ? table_lines(part.text) : wrapped(part.text, help_columns, 0)) + '\n';
  }
  if (!c.examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : c.examples) text += "  " + command_lines(example) + '\n';
  return text;
}

std::shared_ptr<CLI::FormatterBase> make_formatter() { return std::make_shared<formatter>(); }

}  // namespace tulle::cli

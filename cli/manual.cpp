// tulle manual -o DIRECTORY: a manual page for each command, from what the commands themselves take (man(7); for the
// build).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <tulle/version.hpp>

#include "common/command.hpp"
#include "common/help.hpp"
#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

/// Text of a line: backslashes, and what would begin a request or be a typographic hyphen, as they are.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
  }
  return out;
}

/// Lines as they are.
std::string table(std::string_view lines) { return fmt::format(".nf\n{}\n.fi\n", roff(lines)); }

/// "tulle-spmv".
std::string page_name(const command_description& c) {
  std::string name = c.name;
  for (char& letter : name) letter = letter == ' ' ? '-' : letter;
  return name;
}

std::string entries(const std::vector<option_description>& options) {
  std::string text;
  for (const option_description& o : options)
    text += fmt::format(".TP\n.B {}\n{}\n", roff(o.label()), roff(whole_help(o)));
  return text;
}

std::string details(const command_description& c) {
  std::string text;
  for (const details_part& part : parts_of(c.details)) {
    if (!text.empty()) text += ".PP\n";
    text += part.is_table ? table(part.text) : roff(part.text) + '\n';
  }
  return text;
}

std::string page(const command_description& c, const std::vector<std::string>& also) {
  std::string text = fmt::format(".TH {} 1 \"\" \"tulle {}\" \"Manual of tulle\"\n.SH NAME\n{} \\- {}\n",
                                 roff(page_name(c)), TULLE_VERSION_STRING, roff(page_name(c)), roff(c.summary));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", roff(c.usage()));
  if (!c.details.empty()) text += ".SH DESCRIPTION\n" + details(c);
  if (!c.arguments.empty()) text += ".SH ARGUMENTS\n" + entries(c.arguments);
  if (!c.commands.empty()) text += ".SH COMMANDS\n";
  for (const auto& group : c.commands) {
    text += fmt::format(".SS {}\n", group.title);
    for (const command_description& below : group.commands) {
      text += fmt::format(".TP\n.B {}\n{}\n", roff(below.word()), roff(below.summary));
    }
  }
  text += ".SH OPTIONS\n";
  for (const option_group& g : c.groups) text += fmt::format(".SS {}\n{}", roff(g.title), entries(g.options));
  if (!c.examples.empty())
    text += fmt::format(".SH EXAMPLES\n{}", table(fmt::format("{}", fmt::join(c.examples, "\n"))));
  return text + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", fmt::join(also, " (1),\n.BR "));
}

/// The pages of `c` and of all commands below it; each sends on to those around it.
void write_pages(const std::filesystem::path& directory, const command_description& c, const std::string& above) {
  std::vector<std::string> also;
  if (!above.empty()) also.push_back(roff(above));
  for (const auto& group : c.commands) {
    for (const command_description& below : group.commands) {
      write_pages(directory, below, page_name(c));
      also.push_back(roff(page_name(below)));
    }
  }
  write_text(directory / (page_name(c) + ".1"), page(c, also));
}

int run(const CLI::App& app, const std::string& directory) {
  write_pages(directory, describe(app), "");
  return ok;
}

}  // namespace

void add_manual(CLI::App& app, int& result) {
  const auto directory = std::make_shared<std::string>();
  CLI::App& command = declare_command(app, result, "manual", "Write the manual pages", "",
                                      [&app, directory] { return run(app, *directory); });
  add_file(command, "-o,--output", *directory, "Folder to write them to")->required();
}

}  // namespace tulle::cli

// For zsh: a function for its _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "completions.hpp"

namespace tulle::cli {
namespace {

/// `text` with a backslash before each of `special`.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string action(const completion& c) {
  if (c.generators) return c.files ? "_tulle_matrix" : "_tulle_generators";
  if (c.files) return "_files";
  if (c.words.empty()) return " ";
  return c.listed ? fmt::format("_sequence compadd - {}", spaced(c.words)) : fmt::format("({})", spaced(c.words));
}

/// '(-o --output)'{-o,--output}'[Write y]:FILE:_files'.
std::string spec(const command_description& command, const option_description& o) {
  std::string text = "[" + escaped(short_help(o), "[]:\\") + "]";
  if (!o.is_flag()) text += fmt::format(":{}:{}", o.value, action(completion_of(command, o)));
  if (o.names.size() == 1) return quoted_word(o.names[0] + text);
  return fmt::format("'({})'{{{}}}{}", spaced(o.names), fmt::join(o.names, ","), quoted_word(text));
}

/// A function that offers the commands.
std::string offers(const std::string& function, const std::vector<command_description>& commands) {
  std::string text;
  for (const command_description& c : commands) {
    text += "    " + quoted_word(c.word() + ':' + escaped(c.summary, ":\\")) + '\n';
  }
  return fmt::format("{}() {{\n  local -a commands=(\n{}  )\n  _describe command commands\n}}\n\n", function, text);
}

std::string specs_of(const command_description& c) {
  std::string text;
  for (const option_description& o : options_of(c)) text += " \\\n        " + spec(c, o);
  int place = 1;
  for (const option_description& a : c.arguments) {
    std::string values = c.word() == "help" ? "_tulle_commands" : action(completion_of(c, a));
    if (!c.commands.empty()) values = fmt::format("{{ _tulle_commands_of_{}; {} }}", c.word(), values);
    const std::string where = a.repeated ? "*" : std::to_string(place++);
    text += " \\\n        " + quoted_word(fmt::format("{}:{}:{}", where, a.names[0], values));
  }
  return text;
}

/// A case for each command, with the commands below it as cases of its own.
std::string cases_of(const std::vector<command_description>& commands, const std::string& indent) {
  std::string text;
  for (const command_description& c : commands) {
    text += fmt::format("{}{})\n", indent, c.word());
    if (!c.commands.empty()) {
      text += fmt::format("{0}  case $words[2] in\n{1}{0}  esac\n", indent, cases_of(commands_of(c), indent + "  "));
    }
    text += fmt::format("{}  _arguments -s{}\n{}  return ;;\n", indent, specs_of(c), indent);
  }
  return text;
}

}  // namespace

std::string zsh_completions(const command_description& tulle) {
  std::string functions = offers("_tulle_commands", commands_of(tulle)), options;
  for (const command_description& c : commands_of(tulle)) {
    if (!c.commands.empty()) functions += offers("_tulle_commands_of_" + c.word(), commands_of(c));
  }
  for (const option_description& o : options_of(tulle)) options += "    " + spec(tulle, o) + " \\\n";
  return fmt::format(R"(#compdef tulle
# Completions of tulle for zsh.

{}_tulle_generators() {{
  local -a generators=({})
  compadd -S : -- $generators
}}

_tulle_matrix() {{
  if compset -P gen:; then _tulle_generators; else _files; compadd -S '' -- gen:; fi
}}

_tulle() {{
  local curcontext=$curcontext state line
  _arguments -C -s \
{}    '1:command:_tulle_commands' \
    '*::argument:->arguments' && return
  [[ $state == arguments ]] || return
  case $words[1] in
{}  esac
}}

if [[ $funcstack[1] == _tulle ]]; then _tulle "$@"; else compdef _tulle tulle; fi
)",
                     functions, spaced(generator_names()), options, cases_of(commands_of(tulle), "    "));
}

}  // namespace tulle::cli

// For fish: a line for each option and each argument.
#include <fmt/format.h>

#include "completions.hpp"

namespace tulle::cli {
namespace {

/// In single quotes fish knows \' and \\ alone.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

/// What follows `complete` for an argument or a value.
std::string values_of(const completion& c) {
  std::string text = c.files ? " -F" : "";
  if (c.generators) text += c.files ? " -a '(__tulle_generators gen:)'" : " -a '(__tulle_generators)'";
  if (c.listed) return text + fmt::format(" -a '(__fish_append , {})'", spaced(c.words));
  return c.words.empty() ? text : text + " -a " + quoted(spaced(c.words));
}

std::string condition(const std::string& test) { return " -n '" + test + "'"; }

/// Where a command is what is completed: it was named, and none that has a command of the same name.
std::string condition_of(const command_description& tulle, const command_description& c) {
  const std::string path = c.path();
  const std::size_t space = path.find(' ');
  std::string text = "__fish_seen_subcommand_from " + c.word();
  if (space != path.npos) return condition(text + "; and __fish_seen_subcommand_from " + path.substr(0, space));
  for (const command_description& other : commands_of(tulle)) {
    if (!other.commands.empty() && other.word() != c.word())
      text += "; and not __fish_seen_subcommand_from " + other.word();
  }
  return condition(text);
}

std::string option_line(const command_description& command, const option_description& o, const std::string& where) {
  std::string text = "complete -c tulle" + where;
  for (const std::string& name : o.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!o.is_flag()) {
    const completion c = completion_of(command, o);
    text += (c.files ? " -r" : " -x") + values_of(c);
  }
  return text + " -d " + quoted(short_help(o)) + '\n';
}

}  // namespace

std::string fish_completions(const command_description& tulle) {
  std::string text = fmt::format(R"(# Completions of tulle for fish.

function __tulle_generators
    for name in {}
        echo "$argv[1]$name:"
    end
end

complete -c tulle -f
)",
                                 spaced(generator_names()));
  for (const command_description& c : commands_of(tulle)) {
    text += fmt::format("complete -c tulle -n __fish_use_subcommand -a {} -d {}\n", c.word(), quoted(c.summary));
  }
  for (const option_description& o : tulle.groups.back().options) text += option_line(tulle, o, "");
  const std::string words = spaced(words_of(commands_of(tulle)));
  for (const command_description& c : all_below(tulle)) {
    const std::string where = condition_of(tulle, c);
    text += '\n';
    for (const command_description& below : commands_of(c)) {
      text += fmt::format("complete -c tulle{} -a {} -d {}\n", where, below.word(), quoted(below.summary));
    }
    for (const option_description& a : c.arguments) {
      const std::string values = c.word() == "help" ? " -a " + quoted(words) : values_of(completion_of(c, a));
      if (!values.empty()) text += "complete -c tulle" + where + values + '\n';
    }
    for (const option_group& g : c.groups) {
      if (g.title == tulle.groups.back().title) continue;
      for (const option_description& o : g.options) text += option_line(c, o, where);
    }
  }
  return text;
}

}  // namespace tulle::cli

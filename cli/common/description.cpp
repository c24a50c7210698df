#include "description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

namespace tulle::cli {
namespace {

constexpr std::size_t longest_choices = 24;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
  }
  return parts;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

/// The type as an option's definition has it: "FILE", "f32|f64", or CLI11's own, "INT:INT in [0 - 64]".
void take_type(std::string type, option_description& o) {
  if (const std::size_t brace = type.find('{'); brace != type.npos && type.ends_with('}')) {
    o.choices = split(std::string_view(type).substr(brace + 1, type.size() - brace - 2), ',');
    o.value = "WORD";
    return;
  }
  if (type.ends_with(":FILE")) type = "FILE";
  type = type.substr(0, type.find(':'));
  o.value = value_label(type);
  if (type.find('|') == type.npos) return;
  o.choices = split(type, '|');
  o.value = "WORD";
}

option_description describe_option(const CLI::Option& option) {
  option_description o;
  if (!option.nonpositional()) {
    o.names = {option.get_name(true)};
    std::ranges::transform(o.names[0], o.names[0].begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  for (const std::string& name : option.get_snames()) o.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) o.names.push_back("--" + name);
  if (option.get_items_expected_max() != 0) take_type(option.get_type_name(), o);
  o.help = option.get_description();
  std::ranges::replace(o.help, '\n', ' ');
  o.otherwise = option.get_default_str();
  if (o.otherwise.starts_with('[') && o.otherwise.ends_with(']'))
    o.otherwise = o.otherwise.substr(1, o.otherwise.size() - 2);
  o.required = option.get_required();
  o.repeated = option.get_items_expected_max() > 1;
  return o;
}

/// The options of `app` by their groups, in the order in which these first appear. --help is the first command's.
void add_groups(const CLI::App& app, command_description& c) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || option->get_group().empty()) continue;
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;
    const auto named = [&](const option_group& g) { return g.title == option->get_group(); };
    const auto at = std::ranges::find_if(c.groups, named);
    (at != c.groups.end() ? *at : c.groups.emplace_back(option_group{option->get_group(), {}}))
        .options.push_back(describe_option(*option));
  }
}

/// What the footer holds: text, and from "Example:" or "Examples:" on commands.
void take_footer(const std::string& footer, command_description& c) {
  bool examples = false;
  for (std::string line : split(footer, '\n')) {
    if (line.starts_with("Example")) {
      examples = true;
      line = line.substr(line.find(':') + 1);
    }
    if (!examples) {
      c.details += line + '\n';
    } else if (const std::size_t start = line.find_first_not_of(' '); start != line.npos) {
      c.examples.push_back(line.substr(start));
    }
  }
  c.details.erase(c.details.find_last_not_of('\n') + 1);
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + ' ' + app.get_name();
}

}  // namespace

std::string value_label(const std::string& type) {
  if (type == "INT" || type == "UINT") return "N";
  if (type == "FLOAT") return "X";
  return type == "TEXT" ? "WORD" : type;
}

bool option_description::shows_choices() const {
  return !choices.empty() && joined(choices, "|").size() <= longest_choices;
}

std::string option_description::label() const {
  const std::string label = joined(names, ", ");
  if (is_flag() || !label.starts_with('-')) return label;
  return label + ' ' + (shows_choices() ? joined(choices, "|") : value);
}

std::string command_description::usage() const {
  if (!commands.empty() && arguments.empty()) return name + " COMMAND [ARGUMENTS]";
  std::vector<std::string> words;
  for (const command_group& g : commands) {
    for (const command_description& c : g.commands) words.push_back(c.word());
  }
  std::string text = name + " [OPTIONS]" + (commands.empty() ? "" : " [" + joined(words, "|") + "]");
  for (const option_group& g : groups) {
    for (const option_description& o : g.options) {
      if (o.required) text += ' ' + o.names.front() + ' ' + o.value;
    }
  }
  for (const option_description& a : arguments) {
    const std::string label = a.label() + (a.repeated ? "..." : "");
    text += a.required ? ' ' + label : " [" + label + ']';
  }
  return text;
}

command_description describe(const CLI::App& app) {
  command_description c;
  c.name = full_name(app);
  c.summary = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->nonpositional()) c.arguments.push_back(describe_option(*option));
  }
  add_groups(app, c);
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    if (above->get_parent() == nullptr) add_groups(*above, c);
  }
  take_footer(app.get_footer(), c);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); })) {
    const std::string title = command->get_group() == "Subcommands" ? "Commands" : command->get_group();
    const auto named = [&](const auto& g) { return g.title == title; };
    const auto at = std::ranges::find_if(c.commands, named);
    (at != c.commands.end() ? *at : c.commands.emplace_back(command_description::command_group{title, {}}))
        .commands.push_back(describe(*command));
  }
  return c;
}

}  // namespace tulle::cli

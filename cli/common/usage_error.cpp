#include "usage_error.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <tulle/core/nearest_name.hpp>
#include <vector>

#include "description.hpp"

namespace tulle::cli {
namespace {

const CLI::App& deepest(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : deepest(*named.front());
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + ' ' + app.get_name();
}

/// "no option '--verfy'; did you mean '--verify'?", from the words of `command` and of those above it.
std::string unknown_option(const CLI::App& command, const std::string& given) {
  const std::string word = given.substr(0, given.find('='));
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* o : app->get_options()) {
      for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  if (std::ranges::find(names, word) != names.end() && command.get_parent() != nullptr) {
    return fmt::format("{0} goes after the command: {1} {0} ...", word, full_name(command));
  }
  const std::string_view nearest = nearest_name(word, views);
  return fmt::format("no option '{}'{}", word, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

std::string too_many(const CLI::App& command, const std::string& word) {
  const bool writes = command.get_option_no_throw("--output") != nullptr;
  return fmt::format("'{}' is one argument too many{}", word,
                     writes ? fmt::format("; a file to write is named by -o: -o {}", word) : "");
}

/// What CLI11 says of an option's values: "--repeat: 1 required INT missing".
std::string mismatch(const CLI::App& command, const std::string& said) {
  const std::string name = said.substr(0, said.find_first_of(": "));
  if (said.find("At Most") != said.npos) return name + " is given twice";
  if (said.find("flag override") != said.npos) return name + " takes no value";
  if (said.find("missing") == said.npos) return said;
  const CLI::Option* o = command.get_option_no_throw(name);
  const std::string type = o == nullptr ? "" : value_label(o->get_type_name());
  return fmt::format("{} needs a value{}", name, type.empty() ? "" : fmt::format(": {} {}", name, type));
}

/// What it is that an option takes.
std::string kind_of(const CLI::Option* o) {
  const std::string type = o == nullptr ? "" : o->get_type_name();
  if (type.starts_with("INT") || type.starts_with("UINT")) return "a whole number";
  return type.starts_with("FLOAT") ? "a number" : "such a value";
}

/// "Could not convert: --rtol = abc".
std::string unconverted(const CLI::App& command, const std::string& said) {
  const std::size_t colon = said.find(": "), equals = said.find(" = ");
  if (colon == said.npos || equals == said.npos) return said;
  const std::string name = said.substr(colon + 2, equals - colon - 2);
  if (const CLI::Option* o = command.get_option_no_throw(name); o != nullptr && o->get_items_expected_max() == 0) {
    return name + " takes no value";
  }
  return fmt::format("{}: '{}' is not {}", name, said.substr(equals + 3), kind_of(command.get_option_no_throw(name)));
}

/// Without the zeros of CLI::Range: "[0.000000 - 1000.000000]".
std::string without_zeros(std::string said) {
  for (std::size_t at = 0; (at = said.find(".000000", at)) != said.npos;) said.erase(at, 7);
  return said;
}

/// "--sweep: blok not in {block_size,lanes}", as CLI::IsMember says it.
std::string not_a_member(const std::string& said) {
  const std::size_t colon = said.find(": "), in = said.find(" not in {");
  if (colon == said.npos || in == said.npos || !said.ends_with('}')) return without_zeros(said);
  std::vector<std::string_view> names;
  std::string_view list(said);
  list.remove_prefix(in + 9);
  for (std::size_t end = 0; end != list.npos; list.remove_prefix(std::min(end + 1, list.size()))) {
    end = list.find(',');
    names.push_back(list.substr(0, end == list.npos ? list.size() - 1 : end));
  }
  const std::string word = said.substr(colon + 2, in - colon - 2);
  return fmt::format("{}: there is no '{}'{}", said.substr(0, colon), word, alternatives(word, names));
}

}  // namespace

std::string unknown_command(const CLI::App& app, const std::string& word) {
  const auto commands = app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); });
  std::vector<std::string_view> names;
  for (const CLI::App* c : commands) names.push_back(c->get_name());
  const std::string_view nearest = nearest_name(word, names);
  const std::string hint = nearest.empty() ? fmt::format("`{} --help` lists them", full_name(app))
                                           : fmt::format("did you mean '{}'?", nearest);
  return fmt::format("no command '{}'; {}", word, hint);
}

std::string command_named(const CLI::App& app) { return full_name(deepest(app)); }

std::string explain(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = deepest(app);
  const std::vector<std::string> rest = app.remaining(true);
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  // First, as what follows it is not what it seems.
  if (const auto at = std::ranges::find_if(rest, is_option); at != rest.end()) return unknown_option(command, *at);
  if (&command == &app && !rest.empty()) return unknown_command(app, rest.front());
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr && !rest.empty()) return too_many(command, rest.front());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) != nullptr) return mismatch(command, e.what());
  if (dynamic_cast<const CLI::ConversionError*>(&e) != nullptr) return unconverted(command, e.what());
  if (dynamic_cast<const CLI::ValidationError*>(&e) != nullptr) return not_a_member(e.what());
  std::string said = e.what();
  if (said.starts_with("A subcommand")) return "no command is named";
  if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && !said.starts_with('-')) {
    for (char& c : std::span(said).first(std::min(said.find(' '), said.size()))) {  // as --help has it
      c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  return said;
}

}  // namespace tulle::cli

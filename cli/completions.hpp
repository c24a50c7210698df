// Scripts by which shells complete the command line.
#pragma once

#include <string>
#include <vector>

#include "common/description.hpp"

namespace tulle::cli {

/// What an argument or the value of an option can be.
struct completion {
  std::vector<std::string> words;
  bool files = false;
  bool generators = false;  // gen:NAME as well
  bool listed = false;      // words between commas
};
completion completion_of(const command_description& command, const option_description& option);
/// "stencil", "fem", ...
std::vector<std::string> generator_names();

/// All options of a command, in the order of --help.
std::vector<option_description> options_of(const command_description& command);
/// The commands right below one, in the order of --help, and all that are below it, each before its own.
std::vector<command_description> commands_of(const command_description& command);
std::vector<command_description> all_below(const command_description& command);
/// Their words.
std::vector<std::string> words_of(const std::vector<command_description>& commands);
/// The first sentence of an option's help, for a list of options.
std::string short_help(const option_description& option);
std::string spaced(const std::vector<std::string>& words);
/// `text` as one word of a POSIX shell: in single quotes.
std::string quoted_word(const std::string& text);

std::string bash_completions(const command_description& tulle);
std::string zsh_completions(const command_description& tulle);
std::string fish_completions(const command_description& tulle);

}  // namespace tulle::cli

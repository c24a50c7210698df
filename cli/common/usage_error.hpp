// What is wrong with a command line, in our words.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tulle::cli {

/// "no option '--verfy'; did you mean '--verify'?", "--repeat needs a value", and the like.
std::string explain(const CLI::App& app, const CLI::ParseError& e);

/// "no command 'spvm'; did you mean 'spmv'?"
std::string unknown_command(const CLI::App& app, const std::string& word);

/// The command that was named last: "tulle spmv".
std::string command_named(const CLI::App& app);

}  // namespace tulle::cli

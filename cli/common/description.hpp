// What a command takes, in plain data: help, completions and manual pages are printed from it, and it comes from the
// very definitions that parse.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tulle::cli {

/// An argument or an option.
struct option_description {
  std::vector<std::string> names;    // "-o", "--output"; of an argument "MATRIX"
  std::string value;                 // "FILE", "N"; empty for a flag
  std::vector<std::string> choices;  // the only words that are allowed; empty where others are
  std::string help;
  std::string otherwise;  // what holds where it is not given; empty: nothing, or nothing worth saying
  bool required = false;
  bool repeated = false;  // may be given several times

  [[nodiscard]] bool is_flag() const { return value.empty(); }
  /// "-o, --output FILE", "--backend auto|cpu|cuda"; "--order WORD" where the choices are many.
  [[nodiscard]] std::string label() const;
  [[nodiscard]] bool shows_choices() const;
};

struct option_group {
  std::string title;
  std::vector<option_description> options;
};

struct command_description {
  std::string name;     // "tulle spmv"
  std::string summary;  // one line
  std::vector<option_description> arguments;
  std::vector<option_group> groups;  // the last one is what all commands take
  std::string details;               // more to know: sentences in paragraphs, tables indented
  std::vector<std::string> examples;
  struct command_group {
    std::string title;
    std::vector<command_description> commands;
  };
  std::vector<command_group> commands;

  /// "tulle spmv [OPTIONS] MATRIX".
  [[nodiscard]] std::string usage() const;
  /// "spmv".
  [[nodiscard]] std::string word() const { return name.substr(name.rfind(' ') + 1); }
  /// "bench spmv": all after the first word; empty for the whole program.
  [[nodiscard]] std::string path() const { return name.find(' ') == name.npos ? "" : name.substr(name.find(' ') + 1); }
};

/// What stands for a value of a type, as CLI11 calls it: "N" for "INT".
std::string value_label(const std::string& type);

/// Of `app` and of the commands below it; those of an empty group are left out.
command_description describe(const CLI::App& app);

}  // namespace tulle::cli

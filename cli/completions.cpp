// tulle completions SHELL: a script by which a shell completes the command line, from what the commands themselves
// take.
#include "completions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <tulle/io/generate.hpp>
#include <tulle/ops/kernels.hpp>

#include "common/command.hpp"
#include "common/matrix.hpp"

namespace tulle::cli {
namespace {

struct settings {
  std::string shell;
  std::string output = "-";
};

/// Of the operations that a command is about.
std::vector<std::string> kernel_names(const std::string& command) {
  using enum kernel_operation;
  std::vector<std::string> names;
  for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda}) {
    for (const kernel_info& k : kernels(backend)) {
      const bool multiplies = k.operation == spmv || k.operation == spmv_transposed;
      const bool suits = command == "spmv" || command == "spmm" ? multiplies
                         : command == "spgemm"                  ? k.operation == spgemm
                         : command == "solve"                   ? multiplies || k.operation == cg
                                                                : k.operation != sddmm;
      if (suits && std::ranges::find(names, k.name) == names.end()) names.emplace_back(k.name);
    }
  }
  return names;
}

int run(const CLI::App& app, const settings& s) {
  check_outputs(false, {{"--output", s.output}});
  const command_description tulle = describe(app);
  const std::string script = s.shell == "bash"  ? bash_completions(tulle)
                             : s.shell == "zsh" ? zsh_completions(tulle)
                                                : fish_completions(tulle);
  write_text(s.output, script);
  return ok;
}

}  // namespace

completion completion_of(const command_description& command, const option_description& o) {
  completion c;
  c.words = o.choices;
  c.listed = o.names.front() == "--kernels" || (o.repeated && !o.choices.empty());
  const bool is_matrix = o.value == "MATRIX" || o.names.front() == "MATRIX";
  c.files = o.value == "FILE" || is_matrix;
  c.generators = is_matrix || o.value == "GENERATOR";
  const bool names_kernels = o.names.front() == "--kernel" || o.names.front() == "--kernels";
  if (names_kernels) c.words = kernel_names(command.word());
  if (c.listed && names_kernels) c.words.insert(c.words.begin(), {"all", "chosen", "study", "vendor"});
  return c;
}

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const generator_info& g : generators()) names.emplace_back(g.name);
  return names;
}

std::vector<option_description> options_of(const command_description& command) {
  std::vector<option_description> all;
  for (const option_group& g : command.groups) all.insert(all.end(), g.options.begin(), g.options.end());
  return all;
}

std::vector<command_description> commands_of(const command_description& command) {
  std::vector<command_description> all;
  for (const auto& g : command.commands) all.insert(all.end(), g.commands.begin(), g.commands.end());
  return all;
}

std::vector<command_description> all_below(const command_description& command) {
  std::vector<command_description> all;
  for (const command_description& c : commands_of(command)) {
    all.push_back(c);
    const std::vector<command_description> below = all_below(c);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::vector<std::string> words_of(const std::vector<command_description>& commands) {
  std::vector<std::string> words;
  for (const command_description& c : commands) words.push_back(c.word());
  return words;
}

std::string short_help(const option_description& option) {
  return option.help.substr(0, std::min(option.help.find("; "), option.help.find(": ")));
}

std::string spaced(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::string quoted_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void add_completions(CLI::App& app, int& result) {
  const auto s = std::make_shared<settings>();
  CLI::App& command = declare_command(app, result, "completions", "A script for a shell to complete all this by",
                                      "They are part of an installation. For bash, without one:\n"
                                      "Examples: source <(tulle completions bash)\n"
                                      "          tulle completions zsh > ~/.zfunc/_tulle\n"
                                      "          tulle completions fish > ~/.config/fish/completions/tulle.fish",
                                      [&app, s] { return run(app, *s); });
  only(command.add_option("shell", s->shell, "The shell"), {"bash", "zsh", "fish"})->required();
  add_file(command, "-o,--output", s->output, "File to write; - is stdout")->capture_default_str();
}

}  // namespace tulle::cli

// The commands, how one is declared, and the exit codes by kind of failure.
#pragma once

#include <functional>
#include <memory>
#include <tulle/core/status.hpp>

namespace CLI {
class App;
}

namespace tulle::cli {

/// `slower`: bench against --compare. `not_converged` is also a wrong answer.
enum exit_code : int { ok = 0, slower = 1, usage = 2, invalid_input = 3, not_converged = 4, device_or_memory = 5 };
int exit_code_of(status s) noexcept;

/// The device asked for cannot be used: exit code 5, whatever the library's status.
class device_error : public error {
 public:
  using error::error;
};

/// A command and the settings that its options fill.
template <class Settings>
struct declared {
  CLI::App& command;
  Settings& s;
};

/// Declares a command; `run()` returns its exit code, which goes into `result`.
CLI::App& declare_command(CLI::App& app, int& result, const char* name, const char* summary, const char* footer,
                          std::function<int()> run);

/// The same, where `run(settings)` does.
template <class Settings>
declared<Settings> add_command(CLI::App& app, int& result, const char* name, const char* summary, const char* footer,
                               int (*run)(const Settings&)) {
  const auto s = std::make_shared<Settings>();
  return {declare_command(app, result, name, summary, footer, [s, run] { return run(*s); }), *s};
}

/// Each command has a file that defines one of these.
using adds_command = void(CLI::App& app, int& result);
adds_command add_info, add_kernels, add_spmv, add_spgemm, add_solve, add_bench, add_convert, add_generate, add_permute,
    add_spy, add_doctor, add_completions, add_help, add_manual;
/// All of them, under the titles that --help has; `result` becomes the exit code of the one that runs.
void add_commands(CLI::App& app, int& result);

}  // namespace tulle::cli

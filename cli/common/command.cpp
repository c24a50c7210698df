#include "command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>

namespace tulle::cli {

int exit_code_of(status s) noexcept {
  using enum status;
  const auto is = [s](std::initializer_list<status> any) { return std::ranges::find(any, s) != any.end(); };
  if (s == success) return ok;
  if (is({null_pointer, invalid_argument})) return usage;
  if (is({invalid_dimensions, invalid_structure, invalid_format, file_io, unsupported, not_finite, overflow})) {
    return invalid_input;
  }
  return is({not_converged, breakdown, indefinite}) ? cli::not_converged : device_or_memory;
}

CLI::App& declare_command(CLI::App& app, int& result, const char* name, const char* summary, const char* footer,
                          std::function<int()> run) {
  CLI::App& command = *app.add_subcommand(name, summary);
  command.footer(footer);
  command.callback([run = std::move(run), &result] { result = run(); });
  return command;
}

}  // namespace tulle::cli

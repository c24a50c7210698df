#include "command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <initializer_list>
#include <vector>

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

void add_commands(CLI::App& app, int& result) {
  const struct {
    const char* title;
    std::vector<adds_command*> commands;
  } groups[] = {{"Matrices", {add_info, add_spy, add_generate, add_convert, add_permute}},
                {"Computing", {add_spmv, add_spgemm, add_solve}},
                {"Speed", {add_bench, add_kernels, add_doctor}},
                {"Help", {add_help, add_completions}},
                {"", {add_manual}}};  // for the build
  for (const auto& [title, commands] : groups) {
    for (adds_command* const add : commands) {
      add(app, result);
      app.get_subcommands([](const CLI::App*) { return true; }).back()->group(title)->fallthrough();
    }
  }
}

}  // namespace tulle::cli

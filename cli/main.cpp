// tulle: sparse linear algebra on the command line. Parses, runs one command, turns every failure into an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <sstream>
#include <tulle/io/write_file.hpp>
#include <tulle/version.hpp>
#include <vector>

#include "common/command.hpp"
#include "common/output.hpp"

namespace tulle::cli {
namespace {

/// Number of insertions, deletions and replacements between two words (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

/// "no command 'spvm'; did you mean 'spmv'?"
std::string unknown_command(std::span<CLI::App* const> commands, const std::string& word) {
  std::string nearest;
  std::size_t least = 3;
  for (const CLI::App* command : commands) {
    const std::size_t distance = edit_distance(word, command->get_name());
    if (distance < least) {
      least = distance;
      nearest = command->get_name();
    }
  }
  const std::string hint = nearest.empty() ? "`tulle --help` lists them" : fmt::format("did you mean '{}'?", nearest);
  return fmt::format("no command '{}'; {}", word, hint);
}

int fail(int code, std::string_view status_name, std::string_view message, bool as_json) {
  if (as_json) print_record(object(field("error", object(field("status", status_name), field("message", message)))));
  put_styled(stderr, look::red, "tulle:");
  const std::string_view named = code == not_converged ? status_name : "";
  put_raw(stderr, fmt::format(" {}{}{}\n", named, named.empty() ? "" : ": ", printable(message)));
  return code;
}

/// As by SIGPIPE, which callers know: `tulle ... | head` ends quietly.
int end_quietly() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  return 128 + SIGPIPE;
}

/// The exit code of a command that ended with `code`: what standard output has lost is a failure of its own, unless
/// there is another.
int after_printing(int code) {
  const int why = lost_output();
  if (code != ok || why == 0) return code;
  if (why == EPIPE) return end_quietly();
  return fail(invalid_input, name(status::file_io),
              fmt::format("standard output cannot be written: {}", std::strerror(why)), false);
}

/// What to write instead of `--json FILE`, which bench once took; empty where --json is the flag that it is.
std::string json_with_a_file(std::span<char*> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const bool is_bench = std::string_view(arguments[1]) == "bench";
    if (word.starts_with("--json=") || (word == "--json" && (next.ends_with(".json") || (is_bench && next == "-")))) {
      const std::string_view file = word == "--json" ? next : word.substr(7);
      return fmt::format("--json takes no file: it prints JSON on stdout{}",
                         file == "-" ? "" : fmt::format("; `-o {}` writes a file", file));
    }
  }
  return {};
}

int parse_and_run(CLI::App& app, int argc, char** argv, bool as_json, const int& result) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int code = app.exit(help_or_version, text, text);
    put_raw(stdout, text.str());
    return code;
  } catch (const CLI::ParseError& e) {
    const auto chosen = app.get_subcommands();
    const std::string help = chosen.empty() ? "tulle" : fmt::format("tulle {}", chosen.front()->get_name());
    const int code = fail(usage, name(status::invalid_argument), e.what(), as_json);
    put_raw(stderr, fmt::format("Run '{} --help'.\n", help));
    return code;
  }
  return result;
}

int run(int argc, char** argv) {
  CLI::App app{"Sparse linear algebra at memory speed, on CPUs and NVIDIA GPUs."};
  app.name("tulle");
  app.set_version_flag("--version", "tulle " TULLE_VERSION_STRING);
  app.footer(
      "A MATRIX is a Matrix Market file (.mtx, .mtx.gz, .mtx.zst), - for stdin, or gen:NAME:key=value,...\n"
      "Exit codes: 0 ok, 2 usage, 3 invalid input, 4 not converged or a wrong answer, 5 out of memory or device "
      "error.\n"
      "\nExample: tulle spmv gen:fem:n=20 --verify");
  app.require_subcommand(1);
  int result = ok;
  for (adds_command* const add : commands) add(app, result);
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  const bool as_json = std::ranges::find(arguments, std::string_view("--json")) != arguments.end();
  try {
    const auto all = app.get_subcommands([](const CLI::App*) { return true; });
    const auto is_named = [&](const CLI::App* c) { return c->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(all, is_named)) {
      return fail(usage, name(status::invalid_argument), unknown_command(all, argv[1]), as_json);
    }
    if (const std::string misuse = json_with_a_file(arguments); !misuse.empty()) {
      return fail(usage, name(status::invalid_argument), misuse, as_json);
    }
    return after_printing(parse_and_run(app, argc, argv, as_json, result));
  } catch (const reader_gone&) {
    return end_quietly();
  } catch (const device_error& e) {
    return fail(device_or_memory, name(e.code()), e.what(), as_json);
  } catch (const error& e) {
    return fail(exit_code_of(e.code()), name(e.code()), e.what(), as_json);
  } catch (const std::bad_alloc&) {
    return fail(device_or_memory, name(status::out_of_memory), "out of memory", as_json);
  } catch (const std::exception& e) {
    return fail(device_or_memory, name(status::internal), e.what(), as_json);
  }
}

/// A file that is opened must not become the standard output of a caller that closed it: what is printed would go
/// there. The stand-ins fail where the closed ones would have.
void fill_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) static_cast<void>(open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void end_by(int number) {
  remove_unfinished_files();
  std::raise(number);
}

/// What is half written goes when a person or a scheduler ends the command; a second signal ends it at once. Pipes that
/// nobody reads and files over the limit are errors of a write.
void set_signals() {
  for (const int ignored : {SIGPIPE, SIGXFSZ}) std::signal(ignored, SIG_IGN);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;  // as nohup says
    action.sa_handler = end_by;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(number, &action, nullptr);
  }
}

}  // namespace
}  // namespace tulle::cli

int main(int argc, char** argv) {
  tulle::cli::fill_standard_streams();
  tulle::cli::set_signals();
  return tulle::cli::run(argc, argv);
}

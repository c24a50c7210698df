// tulle: sparse linear algebra on the command line. Parses, runs one command, turns every failure into an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <span>
#include <sstream>
#include <tulle/io/write_file.hpp>
#include <tulle/version.hpp>
#include <vector>

#include "common/command.hpp"
#include "common/help.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/usage_error.hpp"

namespace tulle::cli {
namespace {

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
std::string json_with_a_file(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i], next = i + 1 < arguments.size() ? arguments[i + 1] : "";
    const bool is_bench = arguments[0] == "bench";
    if (word.starts_with("--json=") || (word == "--json" && (next.ends_with(".json") || (is_bench && next == "-")))) {
      const std::string_view file = word == "--json" ? next : word.substr(7);
      return fmt::format("--json takes no file: it prints JSON on stdout{}",
                         file == "-" ? "" : fmt::format("; `-o {}` writes a file", file));
    }
  }
  return {};
}

/// The command line as words. What follows `--` is a file, whatever it begins with.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!files && word == "--") {
      files = true;
    } else {
      words.push_back(files && word.size() > 1 && word[0] == '-' ? fmt::format("./{}", word) : std::string(word));
    }
  }
  return words;
}

constexpr const char* more_about_tulle =
    R"(A MATRIX is a Matrix Market file (.mtx; .mtx.gz, .mtx.xz, .mtx.zst), - for standard input, or gen:NAME:key=value,...,
which `tulle generate --list` explains. What follows -- is a file, whatever it begins with.
Results go to standard output, as JSON with --json; notes go to standard error.

Exit codes:
  0  done                  3  invalid input
  1  slower, of bench      4  not converged, or a wrong answer
  2  wrong command line    5  out of memory, or a GPU failed

Examples:
  tulle info cant.mtx.gz               # size, structure, the kernel for it
  tulle spmv gen:fem:n=20 --verify     # multiply, time, and check the answer
  tulle solve a.mtx b.mtx -o x.mtx     # A x = b)";

void define(CLI::App& app) {
  app.name("tulle");
  app.formatter(make_formatter());
  app.option_defaults()->group("All commands");
  app.set_help_flag("-h,--help", "This text, or that of a command")->group("All commands");
  app.set_version_flag("-V,--version", "tulle " TULLE_VERSION_STRING, "The version")->group("All commands");
  app.add_flag_callback(
      "-q,--quiet", [] { set_loudness(loudness::quiet); }, "No notes and no progress: results and errors alone");
  app.add_flag_callback(
      "-v,--verbose", [] { set_loudness(loudness::verbose); }, "More notes: what is read, and where it runs");
  add_color_option(app);
  app.option_defaults()->group("Options");
  app.footer(more_about_tulle);
  app.require_subcommand(1);
}

int parse_and_run(CLI::App& app, std::vector<std::string> words, bool as_json, const int& result) {
  try {
    if (words.empty()) put_raw(stderr, app.help() + '\n');
    std::ranges::reverse(words);
    app.parse(std::move(words));
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;
    const int code = app.exit(help_or_version, text, text);
    put_raw(stdout, text.str());
    return code;
  } catch (const CLI::ParseError& e) {
    const int code = fail(usage, name(status::invalid_argument), explain(app, e), as_json);
    put_raw(stderr, fmt::format("Run '{} --help'.\n", command_named(app)));
    return code;
  }
  return result;
}

int run(int argc, char** argv) {
  CLI::App app{"Sparse linear algebra at memory speed, on CPUs and NVIDIA GPUs."};
  define(app);
  set_loudness(loudness::normal);
  int result = ok;
  add_commands(app, result);
  const std::vector<std::string> words = words_of(argc, argv);
  const bool as_json = std::ranges::find(words, "--json") != words.end();
  try {
    const auto all = app.get_subcommands([](const CLI::App*) { return true; });
    const auto is_named = [&](const CLI::App* c) { return c->get_name() == words[0]; };
    if (!words.empty() && !words[0].starts_with('-') && std::ranges::none_of(all, is_named)) {
      return fail(usage, name(status::invalid_argument), unknown_command(app, words[0]), as_json);
    }
    if (const std::string misuse = json_with_a_file(words); !misuse.empty()) {
      return fail(usage, name(status::invalid_argument), misuse, as_json);
    }
    return after_printing(parse_and_run(app, words, as_json, result));
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

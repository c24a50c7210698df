#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <limits>
#include <string_view>
#include <thread>
#include <tulle/io/write_file.hpp>
#include <tulle/reorder/orderings.hpp>
#include <utility>

namespace tulle::cli {

CLI::Option* add_choice(CLI::App& app, const char* name, std::string& value, const std::vector<std::string>& words,
                        const char* help) {
  return app.add_option(name, value, help)->check(CLI::IsMember(words))->capture_default_str();
}

CLI::Option* add_ordering(CLI::App& app, const char* name, std::string& value, const char* help,
                          std::vector<std::string> besides) {
  for (auto o = ordering::natural; o <= ordering::random; o = static_cast<ordering>(static_cast<int>(o) + 1)) {
    besides.emplace_back(tulle::name(o));
  }
  return add_choice(app, name, value, besides, help);
}

CLI::Option* add_count(CLI::App& app, const char* name, int& value, int least, int most, const char* help) {
  return app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

void add_threads_option(CLI::App& app, run_options& o) {
  // More threads than that help nobody, and each costs a stack.
  const int most = std::max(64, 4 * static_cast<int>(std::thread::hardware_concurrency()));
  add_count(app, "--threads", o.threads, 0, most, "CPU threads; 0 is as many as OpenMP would use");
}

void add_backend_options(CLI::App& app, run_options& o) {
  add_choice(app, "--backend", o.backend, {"auto", "cpu", "cuda"},
             "Where to run: auto is the GPU if there is one, else the CPU");
  add_threads_option(app, o);
  app.add_option("--device", o.device, "Number of the GPU; 0 otherwise")->check(CLI::Range(0, INT_MAX));
}

void add_plan_options(CLI::App& app, run_options& o) {
  add_choice(app, "--effort", o.effort, {"none", "standard", "max"},
             "Work a plan may cost: none reads the matrix where it is, standard analyses it, max times kernels on it");
  add_choice(app, "--policy", o.policy, {"standard", "simple"},
             "Rules that choose a kernel: tulle's own (standard), or the simple ones of most libraries");
  add_reorder_option(app, o);
}

void add_reorder_option(CLI::App& app, run_options& o) {
  add_ordering(app, "--reorder", o.reorder,
               "Keep rows and columns in another order inside, so that x is read from fewer places: reverse "
               "Cuthill-McKee's where that pays (auto) or in any case (always), or the one named",
               {"never", "auto", "always"});
}

void take_reorder_option(const run_options& o, spmv_options& options) {
  constexpr spmv_reorder by_name[] = {spmv_reorder::never, spmv_reorder::automatic, spmv_reorder::always};
  for (const spmv_reorder when : by_name) {
    if (o.reorder == name(when)) return void(options.reorder = when);
  }
  options.reorder = spmv_reorder::always;
  options.reorder_method = ordering_named(o.reorder);
}

bool check_outputs(bool json, std::initializer_list<output_option> outputs) {
  bool takes_stdout = false;
  for (const output_option* o = outputs.begin(); o != outputs.end(); ++o) {
    if (o->file.empty()) continue;
    const bool to_stdout = o->file == "-";
    if (to_stdout && json)
      throw error(status::invalid_argument, fmt::format("{} - and --json both want stdout", o->name));
    const output_option* const same =
        std::find_if(outputs.begin(), o, [&](const output_option& other) { return other.file == o->file; });
    if (same != o) {
      throw error(status::invalid_argument, fmt::format("{} and {} both want {}", same->name, o->name,
                                                        to_stdout ? "stdout" : "the file " + o->file));
    }
    takes_stdout |= to_stdout;
    if (!to_stdout) check_writable(o->file);
  }
  return takes_stdout;
}

void add_precision_option(CLI::App& app, run_options& o, const std::vector<std::string>& types) {
  const bool mixed = std::ranges::find(types, "mixed") != types.end();
  add_choice(app, "--precision", o.precision, types,
             mixed ? "Type of the values; mixed: f64, but values of A in fewer bits where that is allowed"
                   : "Type of the values; complex files are c128 without this option")
      ->each([&o](const std::string&) { o.precision_given = true; });
}

void add_json_option(CLI::App& app, run_options& o) { app.add_flag("--json", o.json, "JSON on stdout"); }

void add_strict_option(CLI::App& app, run_options& o) {
  app.add_flag("--strict", o.strict, "Refuse files with duplicate entries or data after the last entry");
}

double scalar_option(const char* name, double value, const run_options& o) {
  return with_precision(o, [&]<class T>() {
    if (std::is_integral_v<T> && (!(std::abs(value) <= INT32_MAX) || std::trunc(value) != value)) {
      throw error(status::invalid_argument, fmt::format("{} {}: i32 needs a whole number below 2^31", name, value));
    }
    if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<T>::max())) {
      throw error(status::invalid_argument, fmt::format("{} {}: too large for {}", name, value, o.precision));
    }
    return static_cast<double>(static_cast<T>(value));
  });
}

std::size_t size_option(const char* name, const std::string& text) {
  constexpr std::string_view suffixes = "KMGT";
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  auto [rest, failure] = std::from_chars(text.data(), end, value);
  bool fits = failure == std::errc();
  if (fits && rest != end) {
    const std::size_t power = suffixes.find(*rest++);
    const std::size_t shift = 10 * (power + 1);
    fits = power != std::string_view::npos && value <= std::numeric_limits<std::size_t>::max() >> shift;
    if (fits) value <<= shift;
  }
  if (fits && rest == end) return value;
  throw error(status::invalid_argument,
              fmt::format("{} {}: must be a whole number of bytes, or of K, M, G or T (powers of 1024)", name, text));
}

}  // namespace tulle::cli

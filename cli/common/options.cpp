#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <climits>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>
#include <thread>
#include <tulle/core/nearest_name.hpp>
#include <tulle/io/write_file.hpp>
#include <tulle/reorder/orderings.hpp>
#include <utility>

#include "color.hpp"

namespace tulle::cli {
namespace {

/// "'abc' must be a whole number from 0 to 8", or "" where it is.
std::string refusal_of_count(const std::string& text, int least, int most) {
  int value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failure == std::errc() && rest == text.data() + text.size();
  if (whole && value >= least && value <= most) return {};
  return most == INT_MAX ? fmt::format("'{}' must be a whole number from {}", text, least)
                         : fmt::format("'{}' must be a whole number from {} to {}", text, least, most);
}

/// Refuses a name by which others would take the file for what it is not: "c.mtx.bz2", "c.txt".
void check_matrix_name(const output_option& o) {
  const std::filesystem::path file = o.file;
  std::error_code none;
  if (file == "-" || (std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none))) return;
  std::filesystem::path name = file;
  if (const std::string kind = ending_of(name); kind == ".gz" || kind == ".xz" || kind == ".zst") name = name.stem();
  const std::string kind = ending_of(name);
  if (kind.empty() || kind == ".mtx" || kind == ".mm") return;
  constexpr std::string_view packed[] = {".bz2", ".lz4", ".lzma", ".z", ".zip", ".7z", ".br", ".gz", ".xz", ".zst"};
  std::filesystem::path right = file;
  while (right.has_extension()) right.replace_extension();
  const bool compresses = std::ranges::find(packed, kind) != std::end(packed);
  throw error(status::invalid_argument,
              fmt::format("{} {}: a matrix is written as .mtx, .mtx.gz, .mtx.xz or .mtx.zst; did you mean '{}{}'?",
                          o.name, o.file, right.string(), compresses ? ".mtx.xz" : ".mtx"));
}

/// The same file under another name is the same: "./a.mtx" is "a.mtx".
bool same_file(const std::string& a, const std::string& b) {
  if (a == b || a == "-" || b == "-") return a == b;
  std::error_code none;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(a, none), none) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(b, none), none);
}

}  // namespace

std::string ending_of(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

void refuse_idle(const std::vector<CLI::Option*>& options, const char* goes_with) {
  for (const CLI::Option* o : options) {
    if (o->count() > 0) {
      throw error(status::invalid_argument, fmt::format("{} goes with {}", o->get_name(), goes_with));
    }
  }
}

void check_device_option(const run_options& o) {
  if (!o.device || o.backend != "cpu") return;
  throw error(status::invalid_argument, fmt::format("--device {} goes with a GPU, not with --backend cpu", *o.device));
}

CLI::Option* only(CLI::Option* option, const std::vector<std::string>& words) {
  const auto refusal = [words](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return {};
    const std::vector<std::string_view> names(words.begin(), words.end());
    return fmt::format("there is no '{}'{}", text, alternatives(text, names));
  };
  return option->check(refusal)->type_name(fmt::format("{}", fmt::join(words, "|")));
}

CLI::Option* add_choice(CLI::App& app, const char* name, std::string& value, const std::vector<std::string>& words,
                        const char* help) {
  return only(app.add_option(name, value, help), words)->capture_default_str();
}

CLI::Option* add_ordering(CLI::App& app, const char* name, std::string& value, const char* help,
                          std::vector<std::string> besides) {
  for (auto o = ordering::natural; o <= ordering::random; o = static_cast<ordering>(static_cast<int>(o) + 1)) {
    besides.emplace_back(tulle::name(o));
  }
  return add_choice(app, name, value, besides, help);
}

CLI::Option* add_count(CLI::App& app, const char* name, int& value, int least, int most, const char* help) {
  return app.add_option(name, value, help)
      ->check([=](const std::string& text) { return refusal_of_count(text, least, most); })
      ->type_name("N")
      ->capture_default_str();
}

CLI::Option* add_matrix(CLI::App& app, const char* name, std::string& value, const char* help) {
  return app.add_option(name, value, help)->type_name("MATRIX");
}

CLI::Option* add_file(CLI::App& app, const char* name, std::string& value, const std::string& help) {
  return app.add_option(name, value, help)
      ->check(
          [](const std::string& file) { return file.empty() ? "the name of a file is needed, and '' is none" : ""; })
      ->type_name("FILE");
}

CLI::Option* add_kernel(CLI::App& app, std::string& value, const char* help) {
  return app.add_option("--kernel", value, help)->type_name("KERNEL");
}

void add_threads_option(CLI::App& app, run_options& o) {
  // More threads than that help nobody, and each costs a stack.
  const int most = std::max(64, 4 * static_cast<int>(std::thread::hardware_concurrency()));
  add_count(app, "-j,--threads", o.threads, 0, most, "CPU threads; 0 is as many as OpenMP would use");
}

void add_backend_options(CLI::App& app, run_options& o, const char* help) {
  add_choice(app, "--backend", o.backend, {"auto", "cpu", "cuda"}, help);
  add_threads_option(app, o);
  app.add_option("--device", o.device, "Which GPU, counted from 0; the first without this option")
      ->check([](const std::string& text) { return refusal_of_count(text, 0, INT_MAX); })
      ->type_name("N");
}

void add_plan_options(CLI::App& app, run_options& o) {
  add_choice(app, "--effort", o.effort, {"none", "standard", "max"},
             "Work a plan may cost: none reads the matrix where it is, standard analyses it, max times kernels on it")
      ->group(plan_group);
  add_choice(app, "--policy", o.policy, {"standard", "simple"},
             "Rules that choose a kernel: tulle's own (standard), or the simple ones of most libraries")
      ->group(plan_group);
  add_reorder_option(app, o);
}

void add_reorder_option(CLI::App& app, run_options& o) {
  add_ordering(app, "--reorder", o.reorder,
               "Keep rows and columns in another order inside, so that x is read from fewer places: reverse "
               "Cuthill-McKee's where that pays (auto) or in any case (always), or the one named",
               {"never", "auto", "always"})
      ->group(plan_group);
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
        std::find_if(outputs.begin(), o, [&](const output_option& other) { return same_file(other.file, o->file); });
    if (same != o) {
      throw error(status::invalid_argument, fmt::format("{} and {} both want {}", same->name, o->name,
                                                        to_stdout ? "stdout" : "the file " + o->file));
    }
    takes_stdout |= to_stdout;
    if (o->matrix) check_matrix_name(*o);
    if (!to_stdout) check_writable(o->file);
  }
  return takes_stdout;
}

void add_precision_option(CLI::App& app, run_options& o, const std::vector<std::string>& types) {
  const bool mixed = std::ranges::find(types, "mixed") != types.end();
  const std::string help =
      fmt::format("Type of the values{}; a complex file is c128 without this option",
                  mixed ? "; mixed: f64, but values of A in fewer bits where that is allowed" : "");
  add_choice(app, "--precision", o.precision, types, help.c_str())->each([&o](const std::string&) {
    o.precision_given = true;
  });
}

void add_json_option(CLI::App& app, run_options& o) { app.add_flag("--json", o.json, "JSON on stdout"); }

void add_color_option(CLI::App& app) {
  const auto take = [](const std::string& when) {
    set_color(when == "always"  ? color_choice::always
              : when == "never" ? color_choice::never
                                : color_choice::automatic);
  };
  only(app.add_option_function<std::string>("--color", take, "auto: on a terminal, unless NO_COLOR is set"),
       {"auto", "always", "never"})
      ->default_str("auto");
}

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

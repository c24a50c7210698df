// The options that several commands take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tulle::cli {

/// --backend, --threads, --device, --kernel, --effort, --policy, --reorder, --precision and what goes with it, --json,
/// --strict: one meaning everywhere.
struct run_options {
  std::string backend = "auto";
  int threads = 0;
  std::optional<int> device;
  std::string kernel;
  std::string effort = "standard";                          // none, standard, max
  std::string policy = "standard";                          // standard, simple
  std::string reorder = "never";                            // never, auto, always, an ordering's name
  std::string precision = "f64";                            // f32, f64, i32, mixed, c64, c128, i64, bool
  bool precision_given = false;                             // else a complex file is read as c128
  std::optional<double> tolerance, below, shrink, percent;  // of mixed: see narrowing.hpp
  std::string bound;                                        // of a tolerance; empty: componentwise
  bool json = false;
  bool strict = false;
};

/// The types of values that there are.
inline const std::vector<std::string> every_precision{"f32", "f64", "i32", "c64", "c128", "i64", "bool"};

inline constexpr const char* matrix_help = "Matrix Market file, - or gen:NAME:...";

/// Titles of groups of options in --help.
inline constexpr const char* plan_group = "How a plan is made";
inline constexpr const char* mixed_group = "With --precision mixed";

/// Nothing but the words given; another one is told which was probably meant.
CLI::Option* only(CLI::Option* option, const std::vector<std::string>& words);
/// One of the words given.
CLI::Option* add_choice(CLI::App& app, const char* name, std::string& value, const std::vector<std::string>& words,
                        const char* help);
/// The name of an ordering, or one of `besides`.
CLI::Option* add_ordering(CLI::App& app, const char* name, std::string& value, const char* help,
                          std::vector<std::string> besides = {});
/// A whole number from `least` to `most`.
CLI::Option* add_count(CLI::App& app, const char* name, int& value, int least, int most, const char* help);

/// A matrix, or a vector, as `load` takes it.
CLI::Option* add_matrix(CLI::App& app, const char* name, std::string& value, const char* help = matrix_help);
/// A file to write or to read.
CLI::Option* add_file(CLI::App& app, const char* name, std::string& value, const std::string& help);
/// --kernel.
CLI::Option* add_kernel(CLI::App& app, std::string& value, const char* help);

inline constexpr const char* backend_help = "Where to run: auto is the GPU if there is one, else the CPU";
/// --backend --threads --device
void add_backend_options(CLI::App& app, run_options& o, const char* help = backend_help);
/// Throws INVALID_ARGUMENT for --device beside --backend cpu.
void check_device_option(const run_options& o);
void add_threads_option(CLI::App& app, run_options& o);  // -j, --threads alone
void add_plan_options(CLI::App& app, run_options& o);    // --effort --policy --reorder
void add_reorder_option(CLI::App& app, run_options& o);  // --reorder alone
void add_precision_option(CLI::App& app, run_options& o, const std::vector<std::string>& types = every_precision);
void add_json_option(CLI::App& app, run_options& o);
void add_color_option(CLI::App& app);  // --color, of all commands
void add_strict_option(CLI::App& app, run_options& o);

/// Throws INVALID_ARGUMENT where one of the options was given, which says nothing without what it goes with.
void refuse_idle(const std::vector<CLI::Option*>& options, const char* goes_with);

/// The last ending of a file's name, in small letters: ".gz" of "a.mtx.GZ".
std::string ending_of(const std::filesystem::path& file);

void take_reorder_option(const run_options& o, spmv_options& options);

/// An option that names a file to write, and what was given; empty: nothing is written.
struct output_option {
  const char* name;
  const std::string& file;
  bool matrix = false;  // or a vector: the name must be that of a Matrix Market file
};
/// Before any work is done. Returns whether one of them is "-", so that nothing else goes to standard output. Throws
/// INVALID_ARGUMENT where two of them, or one and --json, want the same place, or where a matrix has the name of
/// another kind of file, FILE_IO where one cannot be written.
bool check_outputs(bool json, std::initializer_list<output_option> outputs);

/// Calls f.operator()<T>() for the precision named ("f32", "f64", "i32"; f64 for all others: for what looks at
/// patterns).
template <class F>
decltype(auto) with_precision(const run_options& o, F&& f) {
  if (o.precision == "f32") return f.template operator()<float>();
  if (o.precision == "i32") return f.template operator()<std::int32_t>();
  return f.template operator()<double>();
}

/// The value of an option, rounded to the precision. Throws INVALID_ARGUMENT where it does not fit, and for fractions
/// in i32.
double scalar_option(const char* name, double value, const run_options& o);

/// "512", "64K", "2G": bytes, in powers of 1024. Throws INVALID_ARGUMENT for anything else.
std::size_t size_option(const char* name, const std::string& text);

}  // namespace tulle::cli

// What the commands share: global options, contexts, loading of matrices, exit codes, output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tulle/tulle.hpp>

namespace tulle::cli {

/// Exit codes, by kind of failure.
enum exit_code : int { ok = 0, usage = 2, invalid_input = 3, not_converged = 4, device_or_memory = 5 };
int exit_code_of(status s) noexcept;

/// Version of everything that --json prints.
inline constexpr int schema_version = 1;

/// --backend, --threads, --device, --kernel, --precision, --json: everywhere they apply.
struct run_options {
  std::string backend = "auto";
  int threads = 0;
  int device = 0;
  std::string kernel;
  std::string precision = "f64";  // f32, f64, i32
  bool json = false;
  bool strict = false;
};
void add_backend_options(CLI::App& app, run_options& o);    // --backend --threads --device
void add_precision_option(CLI::App& app, run_options& o);   // --precision
void add_json_option(CLI::App& app, run_options& o);        // --json
void add_strict_option(CLI::App& app, run_options& o);      // --strict

context make_context(const run_options& o);

/// A matrix named on the command line: a file, "-" (Matrix Market text on stdin) or "gen:NAME:key=value,…".
template <scalar T>
struct named_matrix {
  csr<T> matrix;            // in host memory
  std::string name;         // short: "cant" or the generator spec
  matrix_market_info info;  // of a file
};
/// Notes (duplicates summed and the like) go to stderr.
template <scalar T>
named_matrix<T> load(const std::string& spec, const run_options& o);

/// Random vector in [-1, 1) (i32: -8..8), the same on every machine.
template <scalar T>
std::vector<T> random_vector(std::size_t n, std::uint64_t seed);

/// 64-bit hash of the structure and values (FNV-1a), as 16 hex digits, for records.
template <scalar T, offset O>
std::string matrix_hash(csr_view<T, O> a);

/// Calls f.operator()<T>() for the precision named ("f32", "f64", "i32").
template <class F>
int with_precision(const run_options& o, F&& f) {
  if (o.precision == "f32") return f.template operator()<float>();
  if (o.precision == "i32") return f.template operator()<std::int32_t>();
  return f.template operator()<double>();
}

/// True where `stream` is a terminal and NO_COLOR is unset.
bool use_colour(std::FILE* stream) noexcept;
bool is_terminal(std::FILE* stream) noexcept;

/// Commands register themselves here; each returns through `result` the exit code of its run.
void add_info(CLI::App& app, int& result);
void add_kernels(CLI::App& app, int& result);
void add_spmv(CLI::App& app, int& result);
void add_convert(CLI::App& app, int& result);
void add_generate(CLI::App& app, int& result);
void add_spy(CLI::App& app, int& result);
void add_doctor(CLI::App& app, int& result);
void add_bench(CLI::App& app, int& result);

}  // namespace tulle::cli

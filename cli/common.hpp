// What the commands share: global options, contexts, loading of matrices, exit codes, output.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tulle/tulle.hpp>

namespace tulle::cli {

/// Exit codes, by kind of failure.
enum exit_code : int { ok = 0, usage = 2, invalid_input = 3, not_converged = 4, device_or_memory = 5 };
int exit_code_of(status s) noexcept;

/// The device asked for cannot be used: exit code 5, whatever the library's status.
class device_error : public error {
 public:
  using error::error;
};

using json = nlohmann::ordered_json;

/// Version of everything that --json prints.
inline constexpr int schema_version = 1;
/// Prints one JSON document to stdout.
void print_json(const json& document);
/// Replaces the content of a file; "-" is stdout. Throws FILE_IO.
void write_file(const std::string& file, std::string_view content);
/// A note for a person, to stderr: "tulle: ...".
void note(std::string_view text);

/// --backend, --threads, --device, --kernel, --effort, --policy, --precision, --json: everywhere they apply.
struct run_options {
  std::string backend = "auto";
  int threads = 0;
  std::optional<int> device;
  std::string kernel;
  std::string effort = "default";   // none, default, max
  std::string policy = "standard";  // standard, simple
  std::string precision = "f64";  // f32, f64, i32
  bool json = false;
  bool strict = false;
};
/// What is multiplied: A or A^T, by one vector or several.
struct workload {
  bool transpose = false;
  index_t rhs = 1;
  std::string order = "row";  // row, column: of several vectors

  [[nodiscard]] vector_order vectors() const {
    return order == "row" ? vector_order::row_major : vector_order::column_major;
  }
  /// Element i of vector j in contiguous storage of `rhs` vectors of `rows`.
  [[nodiscard]] std::size_t at(index_t rows, index_t i, index_t j) const {
    return order == "row" ? static_cast<std::size_t>(i) * static_cast<std::size_t>(rhs) + static_cast<std::size_t>(j)
                          : static_cast<std::size_t>(j) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i);
  }
  /// Vector j of them.
  template <class T>
  [[nodiscard]] std::vector<T> vector_of(const std::vector<T>& all, index_t j) const {
    std::vector<T> one(all.size() / static_cast<std::size_t>(rhs));
    const auto rows = static_cast<index_t>(one.size());
    for (index_t i = 0; i < rows; ++i) one[static_cast<std::size_t>(i)] = all[at(rows, i, j)];
    return one;
  }
  template <class T>
  [[nodiscard]] multivector_view<T> view(T* data, index_t rows, memory_space space) const {
    return {rows, rhs, order == "row" ? rhs : rows, vectors(), data, space};
  }
};
void add_backend_options(CLI::App& app, run_options& o);   // --backend --threads --device
void add_threads_option(CLI::App& app, run_options& o);    // --threads alone
void add_plan_options(CLI::App& app, run_options& o);      // --effort --policy
/// --transpose --rhs --order
void add_workload_options(CLI::App& app, workload& w);
void add_precision_option(CLI::App& app, run_options& o);  // --precision
void add_json_option(CLI::App& app, run_options& o);       // --json
void add_strict_option(CLI::App& app, run_options& o);     // --strict

/// How a plan is to be made; the kernel is the one given.
spmv_options plan_options(const run_options& o, std::string kernel = {});

/// The context that the options name. Throws device_error when that is a GPU that cannot be used, and INVALID_ARGUMENT
/// for --device where the CPU runs.
context make_context(const run_options& o);
/// The backends that can run here: the CPU, and CUDA where there is a usable device.
std::vector<context> usable_contexts(const run_options& o);

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

/// A dense vector of `size` elements from an n x 1 (or 1 x n) matrix as `load` takes it; `argument` names the option in
/// the message of INVALID_DIMENSIONS.
template <scalar T>
std::vector<T> load_vector(const std::string& spec, index_t size, std::string_view argument, const run_options& o);
/// Writes a Matrix Market array of `columns` columns, one after the other in x, shortest digits that read back to the
/// same number. Throws FILE_IO.
template <scalar T>
void write_vector(const std::string& file, host_span<const T> x, index_t columns = 1);

/// Fewest bytes that y = alpha A x + beta y has to move: values, 32-bit columns, offsets as narrow as nnz allows, x
/// read once, y written once, and read once where beta is not 0; the last three for each of `vectors` right-hand sides.
double compulsory_bytes(const csr_stats& stats, std::size_t value_bytes, bool reads_y = false, index_t vectors = 1);

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

/// The value of an option as a T. Throws INVALID_ARGUMENT where it does not fit, and for fractions where T is i32.
template <scalar T>
T scalar_option(const char* name, double value);

/// "512", "64K", "2G": bytes, in powers of 1024. Throws INVALID_ARGUMENT for anything else.
std::size_t size_option(const char* name, const std::string& text);

/// "1.23 GB", "45.6 kB" (powers of 1000).
std::string human_bytes(double bytes);

/// True where `stream` is a terminal and NO_COLOR is unset.
bool use_colour(std::FILE* stream) noexcept;
bool is_terminal(std::FILE* stream) noexcept;

/// Commands register themselves here; each returns through `result` the exit code of its run.
void add_info(CLI::App& app, int& result);
void add_kernels(CLI::App& app, int& result);
void add_spmv(CLI::App& app, int& result);
void add_spgemm(CLI::App& app, int& result);
void add_convert(CLI::App& app, int& result);
void add_generate(CLI::App& app, int& result);
void add_spy(CLI::App& app, int& result);
void add_doctor(CLI::App& app, int& result);
void add_bench(CLI::App& app, int& result);

}  // namespace tulle::cli

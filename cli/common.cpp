// Exit codes, options, contexts and output that the commands share.
#include "common.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "core/instantiate.hpp"

namespace tulle::cli {

int exit_code_of(status s) noexcept {
  switch (s) {
    case status::success:
      return ok;
    case status::null_pointer:
    case status::invalid_argument:
      return usage;
    case status::invalid_dimensions:
    case status::invalid_structure:
    case status::invalid_format:
    case status::file_io:
    case status::unsupported:
    case status::not_finite:
    case status::overflow:
      return invalid_input;
    case status::not_converged:
    case status::breakdown:
    case status::indefinite:
      return not_converged;
    case status::out_of_memory:
    case status::device_out_of_memory:
    case status::cuda_memcpy:
    case status::kernel_launch:
    case status::internal:
      return device_or_memory;
  }
  return device_or_memory;
}

void print_json(const json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

void write_file(const std::string& file, std::string_view content) {
  if (file == "-") {
    std::fwrite(content.data(), 1, content.size(), stdout);
    return;
  }
  std::ofstream stream(file, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (!stream) throw error(status::file_io, fmt::format("{}: cannot be written: {}", file, std::strerror(errno)));
}

void note(std::string_view text) { fmt::print(stderr, "tulle: {}\n", text); }

/// More threads than that help nobody, and each costs a stack.
int most_threads() { return std::max(64, 4 * static_cast<int>(std::thread::hardware_concurrency())); }

void add_threads_option(CLI::App& app, run_options& o) {
  app.add_option("--threads", o.threads, "CPU threads; 0 is as many as OpenMP would use")
      ->check(CLI::Range(0, most_threads()))
      ->capture_default_str();
}

void add_backend_options(CLI::App& app, run_options& o) {
  app.add_option("--backend", o.backend, "Where to run: auto is the GPU if there is one, else the CPU")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  add_threads_option(app, o);
  app.add_option("--device", o.device, "Number of the GPU; 0 otherwise")->check(CLI::NonNegativeNumber);
}

void add_plan_options(CLI::App& app, run_options& o) {
  app.add_option(
         "--effort", o.effort,
         "Work a plan may cost: none reads the matrix where it is, default analyses it, max times kernels on it")
      ->check(CLI::IsMember({"none", "default", "max"}))
      ->capture_default_str();
  app.add_option("--policy", o.policy, "Rules that choose a kernel: standard, or the simple ones of most libraries")
      ->check(CLI::IsMember({"standard", "simple"}))
      ->capture_default_str();
}

void add_precision_option(CLI::App& app, run_options& o) {
  app.add_option("--precision", o.precision, "Type of the values")
      ->check(CLI::IsMember({"f32", "f64", "i32"}))
      ->capture_default_str();
}

void add_json_option(CLI::App& app, run_options& o) { app.add_flag("--json", o.json, "JSON on stdout"); }

void add_strict_option(CLI::App& app, run_options& o) {
  app.add_flag("--strict", o.strict, "Refuse files with duplicate entries or data after the last entry");
}

void add_workload_options(CLI::App& app, workload& w) {
  app.add_flag("--transpose", w.transpose, "Multiply by the transpose of A");
  app.add_option("--rhs", w.rhs, "Right-hand sides, multiplied at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--order", w.order,
                 "Of several vectors: row keeps their elements of one row together, column each vector")
      ->check(CLI::IsMember({"row", "column"}))
      ->capture_default_str();
}

spmv_options plan_options(const run_options& o, std::string kernel) {
  spmv_options options;
  options.kernel = std::move(kernel);
  options.effort = o.effort == "none"  ? spmv_effort::none
                   : o.effort == "max" ? spmv_effort::max
                                       : spmv_effort::standard;
  options.policy = o.policy == "simple" ? spmv_policy::simple : spmv_policy::standard;
  return options;
}

context make_context(const run_options& o) {
  const int devices = o.backend == "cpu" ? 0 : cuda_device_count();
  if (o.device && o.backend == "cpu") {
    throw error(status::invalid_argument,
                fmt::format("--device {} goes with a GPU, not with --backend cpu", *o.device));
  }
  if (o.backend == "cuda" && devices == 0) {
    throw device_error(status::unsupported, fmt::format("--backend cuda: {}", cuda_unavailable_reason()));
  }
  if (o.device && devices == 0) {
    throw device_error(status::unsupported, fmt::format("--device {}: {}", *o.device, cuda_unavailable_reason()));
  }
  if (devices == 0) return context::cpu(o.threads);
  const int device = o.device.value_or(0);
  if (device >= devices) {
    throw device_error(status::unsupported,
                       fmt::format("--device {}: devices 0 to {} can be used here", device, devices - 1));
  }
  return context::cuda(device);
}

std::vector<context> usable_contexts(const run_options& o) {
  std::vector<context> contexts;
  if (o.backend != "cuda") contexts.push_back(context::cpu(o.threads));
  if (o.backend == "cuda" || (o.backend == "auto" && cuda_device_count() > 0)) contexts.push_back(make_context(o));
  return contexts;
}

double compulsory_bytes(const csr_stats& stats, std::size_t value_bytes, bool reads_y, index_t vectors) {
  const double value = static_cast<double>(value_bytes);
  const double offset = stats.nnz > INT32_MAX ? 8 : 4;
  const double rows = stats.rows;
  return static_cast<double>(stats.nnz) * (value + sizeof(index_t)) + (rows + 1) * offset +
         vectors * value * (stats.cols + rows * (reads_y ? 2 : 1));
}

template <scalar T>
T scalar_option(const char* name, double value) {
  if (std::is_integral_v<T> && (!(std::abs(value) <= INT32_MAX) || std::trunc(value) != value)) {
    throw error(status::invalid_argument, fmt::format("{} {}: i32 needs a whole number below 2^31", name, value));
  }
  if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<T>::max())) {
    throw error(status::invalid_argument,
                fmt::format("{} {}: too large for {}", name, value, tulle::name(scalar_type_of<T>)));
  }
  return static_cast<T>(value);
}
#define TULLE_INSTANTIATE(T) template T scalar_option<T>(const char*, double);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

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

std::string human_bytes(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

bool is_terminal(std::FILE* stream) noexcept { return isatty(fileno(stream)) == 1; }

bool use_colour(std::FILE* stream) noexcept {
  const char* no_color = std::getenv("NO_COLOR");
  return is_terminal(stream) && (no_color == nullptr || *no_color == '\0');
}

}  // namespace tulle::cli

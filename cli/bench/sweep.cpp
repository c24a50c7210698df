#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tulle::cli::bench {
namespace {

struct sweepable {
  std::string_view name;
  std::string_view what;  // it is
  bool gpu_only;
  int spmv_options::*field;
  std::vector<int> values;
};

const std::array<sweepable, 4>& parameters() {
  static const std::array<sweepable, 4> all{{
      {"block_size", "threads of a block", true, &spmv_options::block_size, {64, 128, 256, 512, 1024}},
      {"lanes", "threads that share a row", true, &spmv_options::lanes, {1, 2, 4, 8, 16, 32}},
      {"sigma", "rows that are sorted together", false, &spmv_options::sigma, {1, 32, 256, 1024, 4096, 16384}},
      {"block", "rows and columns of a block", false, &spmv_options::block, {2, 3, 4, 5, 6, 7, 8}},
  }};
  return all;
}

/// Whether "block_size=128 lanes=8" has a word that begins so: "lanes=", or "lanes=8 " for the whole word.
bool has_word(const std::string& list, const std::string& word) {
  return (" " + list + " ").find(" " + word) != std::string::npos;
}

void sweep_threads(const bench_run& run, subject& s, std::span<const kernel_info> kernels, spmv_results& out) {
  const int most = run.ctx.threads();
  for (int threads = 1; threads <= most; threads = threads == most ? most + 1 : std::min(2 * threads, most)) {
    const context ctx = context::cpu(threads);
    const bench_run fewer{ctx, run.host, run.clock, run.states, run.diagnose, false, false, run.bar};
    const std::string variant = fmt::format("threads={}", threads);
    const spmv_options own;  // what the kernel chooses by itself
    for (const kernel_info& k : kernels) measure_kernel({fewer, s, k, own, variant}, out);
  }
}

}  // namespace

std::vector<std::string> sweep_parameters() {
  std::vector<std::string> names;
  for (const sweepable& p : parameters()) names.emplace_back(p.name);
  names.emplace_back("threads");
  return names;
}

void check_sweep(const std::string& parameter, backend_kind backend) {
  const bool cpu = backend == backend_kind::cpu;
  const auto found = std::ranges::find(parameters(), parameter, &sweepable::name);
  if (found != parameters().end() && found->gpu_only && cpu) {
    throw error(status::invalid_argument,
                fmt::format("--sweep {} goes with a GPU: it is {} there; the CPU has threads, sigma and block",
                            parameter, found->what));
  }
  if (parameter == "threads" && !cpu) {
    throw error(status::invalid_argument, "--sweep threads goes with the CPU (--backend cpu)");
  }
}

void sweep(const bench_run& run, subject& s, std::span<const kernel_info> kernels, const std::string& parameter,
           spmv_results& out) {
  if (parameter == "threads") {
    return sweep_threads(run, s, kernels, out);
  }
  const auto found = std::ranges::find(parameters(), parameter, &sweepable::name);
  for (const kernel_info& k : kernels) {
    for (const int value : found->values) {
      spmv_options options;
      options.*found->field = value;
      const std::string setting = fmt::format("{}={}", parameter, value);
      spmv_results measured;
      measure_kernel({run, s, k, options, setting}, measured);
      if (!measured.records.empty() && !has_word(measured.records[0].parameters, parameter + "=")) break;
      std::erase_if(measured.records, [&](const spmv_record& r) { return !has_word(r.parameters, setting + " "); });
      measured.omitted.clear();
      out.append(std::move(measured));
    }
  }
}

}  // namespace tulle::cli::bench

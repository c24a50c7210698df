#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tulle::cli::bench {
namespace {

struct sweepable {
  std::string_view name;
  int spmv_options::*field;
  std::vector<int> values;
};

const std::array<sweepable, 4>& parameters() {
  static const std::array<sweepable, 4> all{{
      {"block_size", &spmv_options::block_size, {64, 128, 256, 512, 1024}},
      {"lanes", &spmv_options::lanes, {1, 2, 4, 8, 16, 32}},
      {"sigma", &spmv_options::sigma, {1, 32, 256, 1024, 4096, 16384}},
      {"block", &spmv_options::block, {2, 3, 4, 5, 6, 7, 8}},
  }};
  return all;
}

/// Whether "block_size=128 lanes=8" has the word "block_size=128".
bool has_word(const std::string& list, const std::string& word) {
  return (" " + list + " ").find(" " + word + " ") != std::string::npos;
}

/// Measures and keeps the records in which the value was in force.
void measure_value(const bench_run& run, subject& s, const spmv_kernel& kernel, const spmv_options& options,
                   const std::string& setting, results& out) {
  results measured;
  measure_kernel(run, s, kernel, options, setting, measured);
  for (record& r : measured.records) {
    if (has_word(r.parameters, setting)) out.records.push_back(std::move(r));
  }
}

void sweep_threads(const bench_run& run, subject& s, std::span<const spmv_kernel* const> kernels, results& out) {
  const int most = run.ctx.threads();
  for (int threads = 1; threads <= most; threads = threads == most ? most + 1 : std::min(2 * threads, most)) {
    const context ctx = context::cpu(threads);
    const bench_run fewer{ctx, run.host, run.clock, run.states, run.diagnose};
    for (const spmv_kernel* k : kernels) measure_kernel(fewer, s, *k, {}, fmt::format("threads={}", threads), out);
  }
}

/// The kernel has the parameter if its operator lists it.
bool takes(const bench_run& run, const subject& s, const spmv_kernel& kernel, std::string_view parameter) {
  if (!kernel.supports(s.stats, s.a.types, run.ctx.info()).ok) return false;
  try {
    const std::string list = " " + kernel.make_plan(run.ctx, s.a, s.stats, {})->parameters();
    return list.find(fmt::format(" {}=", parameter)) != std::string::npos;
  } catch (const error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> sweep_parameters() {
  std::vector<std::string> names;
  for (const sweepable& p : parameters()) names.emplace_back(p.name);
  names.emplace_back("threads");
  return names;
}

void sweep(const bench_run& run, subject& s, std::span<const spmv_kernel* const> kernels, const std::string& parameter,
           results& out) {
  if (parameter == "threads") {
    if (run.ctx.backend() == backend_kind::cpu) sweep_threads(run, s, kernels, out);
    return;
  }
  const auto found = std::ranges::find(parameters(), parameter, &sweepable::name);
  for (const spmv_kernel* k : kernels) {
    if (!takes(run, s, *k, parameter)) continue;
    for (const int value : found->values) {
      spmv_options options;
      options.*found->field = value;
      measure_value(run, s, *k, options, fmt::format("{}={}", parameter, value), out);
    }
  }
}

std::string sweep_table(std::span<const record> records, const std::string& parameter) {
  if (records.empty()) return fmt::format("  no kernel here has {}\n", parameter);
  std::vector<std::string> variants;  // in the order measured
  std::map<std::string, std::map<std::string, double>> times;
  for (const record& r : records) {
    if (std::ranges::find(variants, r.variant) == variants.end()) variants.push_back(r.variant);
    times[fmt::format("{}, {}", r.kernel, r.cache)][r.variant] = r.time.median;
  }
  std::string text = fmt::format("  {:<26}", "us");
  for (const std::string& v : variants) text += fmt::format(" {:>16}", v);
  for (const auto& [kernel, by_variant] : times) {
    const auto best = std::ranges::min_element(by_variant, {}, [](const auto& entry) { return entry.second; });
    text += fmt::format("\n  {:<26}", kernel);
    for (const std::string& v : variants) {
      const auto t = by_variant.find(v);
      text += t == by_variant.end() ? fmt::format(" {:>16}", "-")
                                    : fmt::format(" {:>15.1f}{}", t->second, t == best ? '*' : ' ');
    }
  }
  return text + '\n';
}

}  // namespace tulle::cli::bench

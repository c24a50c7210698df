#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>
#include <optional>
#include <utility>

#include "compare.hpp"
#include "errors.hpp"
#include "latency.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sweep.hpp"

namespace tulle::cli::bench {
namespace {

/// A run that is slower than the one that --compare names.
constexpr int regression = 1;

/// Everything one call of `tulle bench` writes to.
class bench_command {
 public:
  explicit bench_command(const bench_options& options) : o_(options), text_(options.json == "-" ? stderr : stdout) {}
  int run();

 private:
  void measure(const context& ctx, const machine& host);
  template <scalar T>
  void measure_case(const bench_run& run, const case_name& which, progress& bar);
  void give_up(const case_name& which, scalar_type precision, status code, const std::string& reason);
  void sweep_subject(const bench_run& run, subject& s, progress& bar);
  void measure_subject(const bench_run& run, subject& s, progress& bar);
  [[nodiscard]] std::vector<case_name> cases() const;
  [[nodiscard]] json document(const machine& host) const;
  void print(const std::string& text) const {
    fmt::print(text_, "{}", text);
    std::fflush(text_);
  }

  const bench_options& o_;
  std::FILE* text_;
  results all_;
  std::vector<rounding> errors_;
  int code_ = ok;  // of the first matrix that could not be had
};

std::vector<case_name> bench_command::cases() const {
  std::vector<case_name> all;
  if (!o_.suite.empty()) all = suite(o_.suite);
  for (const std::string& m : o_.matrices) all.push_back({"", m});
  return all;
}

void bench_command::measure_subject(const bench_run& run, subject& s, progress& bar) {
  results mine;
  const auto kernels = o_.kernels.empty() ? latency_kernels(run.ctx.backend()) : o_.kernels;
  for (const spmv_kernel* k : select_kernels(run, s, kernels)) {
    bar.show(fmt::format("{} {} {}", s.name, name(s.a.types.value), k->name));
    measure_kernel(run, s, *k, {}, "", mine);
  }
  add_break_even(mine.records, base_kernel(run.ctx.backend(), s.work));
  bar.clear();
  print(subject_table(s, mine.records, mine.omitted));
  if (run.latency) print(latency_table(mine.records));
  std::ranges::move(mine.records, std::back_inserter(all_.records));
  std::ranges::move(mine.omitted, std::back_inserter(all_.omitted));
}

void bench_command::sweep_subject(const bench_run& run, subject& s, progress& bar) {
  results mine;
  bar.show(fmt::format("{} {} {}", s.name, name(s.a.types.value), o_.sweep));
  sweep(run, s, select_kernels(run, s, o_.kernels), o_.sweep, mine);
  bar.clear();
  print(fmt::format("\n{}, {}:\n{}", s.name, name(s.a.types.value), sweep_table(mine.records, o_.sweep)));
  std::ranges::move(mine.records, std::back_inserter(all_.records));
  std::ranges::move(mine.omitted, std::back_inserter(all_.omitted));
}

/// A matrix that cannot be read or does not fit is noted: the others are still measured.
void bench_command::give_up(const case_name& which, scalar_type precision, status code, const std::string& reason) {
  note(reason);
  all_.omitted.push_back(
      {"all", which.label.empty() ? which.spec : which.label, std::string(name(precision)), reason, false});
  if (code_ == ok) code_ = exit_code_of(code);
}

template <scalar T>
void bench_command::measure_case(const bench_run& run, const case_name& which, progress& bar) {
  bar.show(fmt::format("{}: preparing", which.label.empty() ? which.spec : which.label));
  std::optional<subject> s;
  try {
    s = make_subject<T>(run.ctx, which, o_.run, o_.work, run.clock);
  } catch (const error& e) {
    bar.clear();
    give_up(which, scalar_type_of<T>, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    bar.clear();
    give_up(which, scalar_type_of<T>, status::out_of_memory, fmt::format("{}: out of memory", which.spec));
  }
  if (s && o_.sweep.empty()) measure_subject(run, *s, bar);
  if (s && !o_.sweep.empty()) sweep_subject(run, *s, bar);
  bar.advance();
}

void bench_command::measure(const context& ctx, const machine& host) {
  harness clock(ctx, o_.warmup, o_.repeat);
  std::vector<cache_state> states;
  if (o_.cold || !(o_.warm || o_.latency)) states.push_back(cache_state::cold);
  if (o_.warm || !o_.cold) states.push_back(cache_state::warm);
  const bench_run run{ctx, host, clock, states, o_.diagnose && o_.sweep.empty() && !o_.latency, o_.latency};
  const std::vector<case_name> all = cases();
  progress bar(all.size() * (o_.precision == "both" ? 2 : 1));
  for (const case_name& c : all) {
    if (o_.precision != "f32") measure_case<double>(run, c, bar);
    if (o_.precision != "f64") measure_case<float>(run, c, bar);
  }
}

json bench_command::document(const machine& host) const {
  json j{{"context", describe(host)}, {"benchmarks", json::array()}, {"skipped", json::array()}};
  j["context"]["warmup"] = o_.warmup;
  for (const record& r : all_.records) j["benchmarks"].push_back(to_json(r));
  for (const omission& o : all_.omitted) j["skipped"].push_back(to_json(o));
  if (o_.errors) {
    j["errors"] = json::array();
    for (const rounding& r : errors_) j["errors"].push_back(to_json(r));
  }
  return j;
}

/// Opens what --json names before anything is measured: a name that cannot be written costs no run.
std::ofstream open_output(const std::string& file) {
  std::ofstream stream;
  if (file.empty() || file == "-") return stream;
  stream.open(file);
  if (!stream)
    throw error(status::file_io, fmt::format("--json {}: cannot be written: {}", file, std::strerror(errno)));
  return stream;
}

int bench_command::run() {
  const json before = o_.compare.empty() ? json() : read_run(o_.compare);
  std::ofstream file = open_output(o_.json);
  const context ctx = make_context(o_.run);
  const machine host = measure_machine(ctx);
  print(headline(host) + '\n');
  if (o_.errors) {
    errors_ = study_errors(ctx, o_.kernels);
    print(errors_table(errors_));
  }
  measure(ctx, host);
  print(choice_summary(all_.records));
  print(failures(all_));

  const json after = document(host);
  if (o_.json == "-") print_json(after);
  if (file.is_open()) {
    file << after.dump(1) << '\n';
    file.close();
    if (!file) throw error(status::file_io, fmt::format("--json {}: cannot be written", o_.json));
  }
  const bool wrong = std::ranges::any_of(errors_, [](const rounding& r) { return !(r.error_ratio <= 1); });
  if (wrong || !failures(all_).empty()) return not_converged;
  if (code_ != ok || o_.compare.empty()) return code_;
  const comparisons compared = compare(before, after, o_.tolerance);
  print(comparison_table(compared, o_.tolerance));
  return compared.any_regression() ? regression : ok;
}

}  // namespace

int run_bench(const bench_options& options) { return bench_command(options).run(); }

}  // namespace tulle::cli::bench

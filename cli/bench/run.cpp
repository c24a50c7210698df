#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "errors.hpp"
#include "latency.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "sweep.hpp"

namespace tulle::cli::bench {
namespace {

/// Everything one call of `tulle bench` writes to.
class bench_command {
 public:
  explicit bench_command(const bench_options& options) : o_(options), out_(options) {}
  int run();

 private:
  void measure(const context& ctx, const machine& host);
  template <scalar T>
  void measure_case(const bench_run& run, const case_name& which, progress& bar);
  void give_up(const case_name& which, scalar_type precision, status code, const std::string& reason);
  void sweep_subject(const bench_run& run, subject& s, progress& bar);
  void measure_subject(const bench_run& run, subject& s, progress& bar);
  [[nodiscard]] json document(const machine& host) const;
  void print(const std::string& text) const { out_.print(text); }

  const bench_options& o_;
  output out_;
  results all_;
  std::vector<rounding> errors_;
  int code_ = ok;  // of the first matrix that could not be had
};

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
  const std::vector<case_name> all = cases(o_.suite, o_.matrices);
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

int bench_command::run() {
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

  const bool wrong = std::ranges::any_of(errors_, [](const rounding& r) { return !(r.error_ratio <= 1); });
  return out_.finish(document(host), wrong || !failures(all_).empty() ? not_converged : code_);
}

}  // namespace

int run_bench(const bench_options& options) { return bench_command(options).run(); }

}  // namespace tulle::cli::bench

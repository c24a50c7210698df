// `tulle bench spmv` and `spmm`: every kernel of y = A x on every matrix, a sweep of a parameter, or rounding errors.
#include <algorithm>
#include <array>

#include "common/backend.hpp"
#include "errors.hpp"
#include "report.hpp"
#include "session.hpp"
#include "sweep.hpp"

namespace tulle::cli::bench {
namespace {

spmv_results measure_subject(const bench_options& o, session& bench, const bench_run& run, subject& s) {
  spmv_results mine;
  const auto kernels =
      select_kernels(kernels_of(run.ctx.backend(), s.work.operation()), o.kernels, std::array{s.chosen, s.base});
  const std::string_view precision = s.precision();
  if (!o.sweep.empty()) {
    bench.show(fmt::format("{} {} {}", s.matrix.name, precision, o.sweep));
    sweep(run, s, kernels, o.sweep, mine);
    bench.print(fmt::format("\n{}, {}:\n{}", s.matrix.name, precision, sweep_table(mine.records, o.sweep)));
    return mine;
  }
  for (const kernel_info& k : kernels) {
    bench.show(fmt::format("{} {} {}", s.matrix.name, precision, k.name));
    measure_kernel({run, s, k, {}, {}}, mine);
  }
  add_break_even(mine.records, s.base);
  bench.print(subject_table(s, mine));
  if (run.passes) bench.print(passes_table(mine.records));
  if (run.latency) bench.print(latency_table(mine.records));
  return mine;
}

}  // namespace

int run_spmv_bench(const bench_options& o) {
  session bench(o, make_context(o.run));
  json more = json::object();
  bool wrong = false;
  if (o.errors) {
    const std::vector<rounding> study = study_errors(bench.ctx, o.kernels);
    bench.print(errors_table(study));
    wrong = std::ranges::any_of(study, [](const rounding& r) { return !(r.error_ratio <= 1); });
    for (const rounding& r : study) more["errors"].push_back(to_json(r));
  }
  const bool diagnose = o.diagnose && o.sweep.empty() && !o.latency;
  const bench_run run{bench.ctx, bench.host, bench.clock, states_of(o), diagnose, o.latency, o.passes};
  spmv_results all;
  const auto prepare = [&](const case_name& which, const run_options& options) {
    return make_subject(run.ctx, which, options, o.work);
  };
  bench.each_matrix(all.omitted, prepare, [&](subject& s) { all.append(measure_subject(o, bench, run, s)); });
  bench.print(choice_summary(all.records));
  const int code = bench.finish(all, more);
  return wrong ? not_converged : code;
}

}  // namespace tulle::cli::bench

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

bool takes_matrix(const bench_run& run, const subject& s, const kernel_info& k) {
  return unsupported_reason(k, s.stats, s.a.types, run.ctx.info()).empty();
}

/// Whether every production kernel that takes the matrix was measured, or declined it.
bool measured_all(const bench_run& run, const subject& s, const spmv_results& mine) {
  return std::ranges::all_of(kernels_of(run.ctx.backend(), s.work.operation()), [&](const kernel_info& k) {
    const auto is_of = [&](const auto& r) { return r.kernel == k.name; };
    return k.role != kernel_role::production || !takes_matrix(run, s, k) || std::ranges::any_of(mine.records, is_of) ||
           std::ranges::any_of(mine.omitted, [&](const omission& o) { return is_of(o) && !o.failed; });
  });
}

spmv_results measure_subject(const bench_options& o, session& bench, const bench_run& run, subject& s) {
  spmv_results mine;
  const auto kernels =
      select_kernels(kernels_of(run.ctx.backend(), s.work.operation()), o.kernels, std::array{s.chosen, s.base});
  const std::string_view precision = s.precision();
  if (!o.sweep.empty()) {
    sweep(run, s, kernels, o.sweep, mine);
    bench.mark_disturbed(mine.records);
    bench.print([&](page& to) {
      to.line().line(fmt::format("{}, {}", s.matrix.name, precision), look::bold);
      add_sweep(to, mine.records, o.sweep);
    });
    return mine;
  }
  const auto takes = [&](const kernel_info& k) { return takes_matrix(run, s, k); };
  bench.bar.divide(run.steps() * static_cast<std::size_t>(std::ranges::count_if(kernels, takes)));
  for (const kernel_info& k : kernels) {
    measure_kernel({run, s, k, {}, {}}, mine);
  }
  const bool all = measured_all(run, s, mine);
  for (spmv_record& r : mine.records) r.all_measured = all;
  add_break_even(mine.records, s.base);
  bench.mark_disturbed(mine.records);
  bench.print([&](page& to) {
    add_subject(to, s, mine);
    if (run.passes) add_passes(to, mine.records);
    if (run.latency) add_latencies(to, mine.records);
  });
  return mine;
}

}  // namespace

int run_spmv_bench(const bench_options& o) {
  const context on = make_context(o.run);
  if (!o.sweep.empty()) check_sweep(o.sweep, on.backend());
  select_kernels(kernels_of(on.backend(), o.work.operation()), o.kernels,
                 {});  // a name that there is not costs no measurement
  session bench(o, on);
  json more = json::object();
  bool wrong = false;
  if (o.errors) {
    const std::vector<rounding> study = study_errors(bench.ctx, o.kernels);
    bench.print([&](page& to) { add_errors(to, study); });
    wrong = std::ranges::any_of(study, [](const rounding& r) { return !(r.error_ratio <= 1); });
    for (const rounding& r : study) more["errors"].push_back(to_json(r));
  }
  const bool diagnose = o.diagnose && o.sweep.empty() && !o.latency;
  const bench_run run{bench.ctx, bench.host, bench.clock, states_of(o), diagnose, o.latency, o.passes, &bench.bar};
  spmv_results all;
  const auto prepare = [&](const case_name& which, const run_options& options) {
    return make_subject(run.ctx, which, options, o.work);
  };
  bench.each_matrix(all.omitted, prepare, [&](subject& s) { all.append(measure_subject(o, bench, run, s)); });
  if (!o.sweep.empty() && all.records.empty() && all.omitted.empty()) {
    throw error(status::invalid_argument, fmt::format("--sweep {}: none of the kernels asked for has it", o.sweep));
  }
  bench.print([&](page& to) { add_summary(to, all.records); });
  const int code = bench.finish(all, more);
  return wrong ? not_converged : code;
}

}  // namespace tulle::cli::bench

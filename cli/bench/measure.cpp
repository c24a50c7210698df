#include "measure.hpp"

#include <algorithm>

#include "common/matrix.hpp"
#include "kernels/backends.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/find_kernel.hpp"

namespace tulle::cli::bench {
namespace {

struct planned {
  std::unique_ptr<spmv_operator> op;
  double microseconds = 0;
};

/// Best of three, or the only one when it takes longer than a second. Never two operators at once: memory is scarce.
planned plan_kernel(const trial& t) {
  constexpr double long_plan = 1e6;
  const matrix_ref& a = reads_untransposed(t.kernel) ? t.s.source : t.s.a;
  planned p;
  for (int i = 0; i < 3; ++i) {
    p.op.reset();
    const double us = t.run.clock.once([&] { p.op = t.kernel.make(t.run.ctx, a, t.s.stats, t.options); });
    p.microseconds = i == 0 ? us : std::min(p.microseconds, us);
    if (us > long_plan) break;
  }
  return p;
}

/// From the fastest runs, which other programs on the machine disturbed least.
verdict diagnose(const trial& t, cache_state state, const spmv_record& r, const spmv_operator& op) {
  evidence e{r.time.min, r.moved_bytes, r.read_bandwidth, t.run.host.launch_us, {}, {}};
  if (t.run.diagnose && !reads_untransposed(t.kernel) && needs_probes(e)) {
    e.gather_time = time_without_gather(t, state, op.matrix_bytes());
    e.balance_time = time_with_even_rows(t, state);
  }
  return name_bottleneck(e);
}

spmv_record describe(const trial& t, const planned& p) {
  const subject& s = t.s;
  spmv_record r;
  r.kernel = t.kernel.name;
  r.matrix = s.name;
  r.matrix_hash = s.hash;
  r.precision = name(s.a.types.value);
  r.variant = t.variant;
  r.parameters = p.op->parameters();
  r.rows = s.a.rows;
  r.cols = s.a.cols;
  r.nnz = s.a.nnz;
  r.vendor = t.kernel.role == kernel_role::vendor;
  r.chosen = t.variant.empty() && t.kernel.name == s.chosen;
  r.work = s.work;
  r.compulsory_bytes = compulsory_bytes(s.stats, size_of(s.a.types.value), false, s.work.rhs);
  r.moved_bytes = static_cast<double>(p.op->matrix_bytes() + s.x.bytes() + s.y.bytes());  // x and y once
  r.read_bandwidth = t.run.host.memory.read;
  if (r.chosen) {  // what the plan cost, which looked at no more than the choice needs
    r.reason = s.reason;
    r.effort = name(s.effort);
    r.plan_us = s.chosen_plan_us;
  } else {  // a kernel that reads the untransposed CSR needs no analysis
    r.effort = name(reads_untransposed(t.kernel) ? spmv_effort::none : spmv_effort::standard);
    r.plan_us = (reads_untransposed(t.kernel) ? 0 : s.analysis_us) + p.microseconds;
  }
  r.workspace_bytes = p.op->workspace_bytes();
  return r;
}

/// y starts as NaN: what is not written is seen.
void measure_planned(const trial& t, spmv_results& out) {
  subject& s = t.s;
  const planned p = plan_kernel(t);
  fill_bytes(t.run.ctx, s.y.data(), s.y.space(), 0xff, s.y.bytes());
  std::vector<spmv_record> records;
  for (const cache_state state : t.run.states) {
    records.push_back(describe(t, p));
    records.back().cache = name(state);
    records.back().time = summarise(t.run.clock.repeat(state, [&] { apply(t.run.ctx, s, *p.op); }));
  }
  t.run.ctx.synchronize();
  double ratio = s.error_ratio(s.y);
  std::optional<latencies> latency;
  if (t.run.latency && ratio <= 1) {
    latency = measure_latency(t.run, s, *p.op);
    ratio = s.error_ratio(s.y);
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].error_ratio = ratio;
    records[i].latency = latency;
    records[i].bottleneck = diagnose(t, t.run.states[i], records[i], *p.op);
    out.records.push_back(std::move(records[i]));
  }
}

}  // namespace

std::string_view base_kernel(backend_kind backend, const workload& work) {
  return work.transpose ? transposing_kernel(backend).name : kernel_without_set_up(backend);
}

std::vector<const spmv_kernel*> select_kernels(const bench_run& run, const subject& s,
                                               std::span<const std::string> names) {
  const backend_kind backend = run.ctx.backend();
  const auto asked = [&](const spmv_kernel& k) {
    return std::ranges::any_of(names, [&](const std::string& n) {
      if (n == "chosen") return k.name == s.chosen || k.name == base_kernel(backend, s.work);
      return n == "all" || n == k.name || (n == "study" && k.role == kernel_role::study);
    });
  };
  const auto transposed = spmv_transposed_kernels(backend);
  const auto reading_a = s.work.transpose ? transposed : transposed.first(0);
  for (const std::string& n : names) {
    if (std::ranges::find(reading_a, n, &spmv_kernel::name) != reading_a.end()) continue;
    if (n != "all" && n != "chosen" && n != "study") find_spmv_kernel(backend, n, s.a.types);
  }
  std::vector<const spmv_kernel*> selected;
  for (const spmv_kernel& k : reading_a) {
    if (asked(k)) selected.push_back(&k);
  }
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (contains(k.types, s.a.types) && asked(k)) selected.push_back(&k);
  }
  return selected;
}

void measure_kernel(const trial& t, spmv_results& out) {
  const matrix_ref& a = t.s.a;
  support able = t.kernel.supports(t.s.stats, a.types, t.run.ctx.info());
  if (t.s.work.rhs > 1 && !t.kernel.has.many) able = {false, "it takes one right-hand side at a time"};
  omission refusal{std::string(t.kernel.name), t.s.name, std::string(name(a.types.value)), able.reason, false};
  if (!able.ok) return out.omitted.push_back(std::move(refusal));
  try_kernel(std::move(refusal), true, out.omitted, [&] { measure_planned(t, out); });
}

void add_break_even(std::span<spmv_record> records, std::string_view base_name) {
  for (spmv_record& r : records) {
    const auto base = std::ranges::find_if(records, [&](const spmv_record& other) {
      return other.kernel == base_name && other.cache == r.cache && other.variant.empty();
    });
    if (base != records.end()) r.break_even = break_even(r.plan_us, r.time.median, base->time.median);
  }
}

}  // namespace tulle::cli::bench

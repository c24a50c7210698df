// `tulle bench spgemm`: every kernel of C = A B on every matrix, the whole call and the numeric phase.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/verify.hpp>

#include "common/backend.hpp"
#include "common/matrix.hpp"
#include "kernels/backends.hpp"
#include "session.hpp"
#include "spgemm_measure.hpp"
#include "spgemm_record.hpp"

namespace tulle::cli::bench {
namespace {

/// A matrix on the host and on the backend, and the first kernel's answer, which the others are compared with.
template <scalar T>
struct spgemm_case {
  spgemm_record matrix;  // what all records have in common
  csr<T> a;
  std::optional<csr<T>> at;  // A^T where that is B
  spgemm_input input;
  std::string chosen;  // the kernel that a plan takes by itself
  std::optional<csr<T>> first;
  spgemm_verdict first_verdict;

  [[nodiscard]] const csr<T>& b() const { return at ? *at : a; }
};

template <scalar T>
spgemm_case<T> make_case(const session& bench, const case_name& which, const run_options& run) {
  spgemm_case<T> c;
  auto [matrix, name, info] = load<T>(which.spec, run);
  c.a = std::move(matrix);
  if (c.a.rows != c.a.cols) c.at = transposed(c.a, run);
  c.matrix.matrix = which.label.empty() ? name : which.label;
  c.matrix.matrix_hash = matrix_hash(c.a.view());
  c.matrix.precision = tulle::name(scalar_type_of<T>);
  c.matrix.rows = c.a.rows;
  c.matrix.cols = c.b().cols;
  c.matrix.nnz = c.a.nnz();
  c.matrix.nnz_b = c.b().nnz();
  c.matrix.transposed_b = c.at.has_value();
  c.matrix.copy_bandwidth = bench.host.memory.copy;
  c.matrix.cache_bandwidth = bench.host.memory.cache;
  c.input.a = c.input.b = place<T>(bench.ctx, c.a.view(), offsets_for(c.a.nnz()));
  if (c.at) c.input.b = place<T>(bench.ctx, c.at->view(), offsets_for(c.a.nnz()));
  c.chosen = any_spgemm_plan(bench.ctx, c.input.a, c.input.b).kernel();
  return c;
}

/// Throws INVALID_ARGUMENT for a name that is not in the table.
void check_names(std::span<const spgemm_kernel> table, const bench_options& o) {
  std::vector<std::string_view> names;
  for (const spgemm_kernel& k : table) names.push_back(k.name);
  for (const std::string& n : o.kernels) {
    if (n == "all" || n == "chosen" || n == "study" || std::ranges::find(names, n) != names.end()) continue;
    throw error(status::invalid_argument, fmt::format("no kernel '{}' for C = A B on backend {}; there are: {}", n,
                                                      name(table.front().backend), fmt::join(names, ", ")));
  }
}

/// What --kernels names; the plan's choice first, so that its answer is the one that the others are compared with.
std::vector<const spgemm_kernel*> selected(std::span<const spgemm_kernel> table, const bench_options& o,
                                           const std::string& chosen) {
  const auto asked = [&](std::string_view name) { return std::ranges::find(o.kernels, name) != o.kernels.end(); };
  std::vector<const spgemm_kernel*> kernels;
  for (const spgemm_kernel& k : table) {
    if (asked("all") || asked(k.name) || (asked("chosen") && k.name == chosen) ||
        (asked("study") && k.role == kernel_role::study)) {
      kernels.push_back(&k);
    }
  }
  std::ranges::stable_partition(kernels, [&](const spgemm_kernel* k) { return k->name == chosen; });
  return kernels;
}

template <class T>
bool same_array(const buffer<T>& x, const buffer<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
}

/// The first answer is held to higher precision; what has the same bits is as right.
template <scalar T>
void check(const session& bench, const context& host, spgemm_case<T>& c, const matrix_ref& result, spgemm_record& r) {
  csr<T> got = to_host<T>(bench.ctx, result);
  const bool same_pattern =
      c.first && same_array(got.rowptr, c.first->rowptr) && same_array(got.colind, c.first->colind);
  r.same_bits = same_pattern && same_array(got.values, c.first->values);
  spgemm_verdict verdict = c.first_verdict;
  if (!r.same_bits) verdict = check_spgemm<T>(host, {.a = c.a.view(), .b = c.b().view()}, got.view());
  r.sorted = validate(host, got.view(), {.sorted = true, .duplicates = true}).ok();
  r.error_ratio = verdict.error_ratio;
  r.checked_rows = verdict.checked_rows;
  r.wrong = verdict.wrong;
  if (c.first) {
    if (r.wrong.empty() && !same_pattern) r.wrong = "the pattern is not that of the first kernel";
    return;
  }
  c.first = std::move(got);
  c.first_verdict = verdict;
}

template <scalar T>
void measure_kernel(session& bench, const context& host, spgemm_case<T>& c, const spgemm_kernel& kernel,
                    spgemm_results& out) {
  spgemm_options options;
  options.kernel = kernel.name;
  spgemm_measurement m = measure_spgemm(bench.ctx, bench.clock, c.input, options);
  spgemm_record whole = c.matrix;
  whole.kernel = m.kernel;
  whole.phase = "whole";
  whole.chosen = m.kernel == c.chosen;
  whole.vendor = kernel.role == kernel_role::vendor;
  whole.products = m.products;
  whole.nnz_c = m.nnz;
  whole.time = summarise(m.whole);
  whole.peak_bytes = m.peak_bytes;
  whole.workspace_bytes = m.workspace_bytes;
  spgemm_record numeric = whole;
  check(bench, host, c, m.c, whole);
  m.c = {};
  out.records.push_back(whole);
  if (!m.renewed) {
    const std::string reason = fmt::format("no numeric phase: {}", m.numeric_missing);
    out.omitted.push_back({m.kernel, whole.matrix, whole.precision, reason, !whole.vendor});
    return;
  }
  numeric.phase = "numeric";
  numeric.time = summarise(m.numeric);
  check(bench, host, c, *m.renewed, numeric);
  out.records.push_back(std::move(numeric));
}

template <scalar T>
spgemm_results measure_case(session& bench, const bench_options& o, spgemm_case<T>& c) {
  const context host = context::cpu(o.run.threads);
  spgemm_results mine;
  for (const spgemm_kernel* kernel : selected(spgemm_kernels(bench.ctx.backend()), o, c.chosen)) {
    bench.show(fmt::format("{} {} {}", c.matrix.matrix, c.matrix.precision, kernel->name));
    const std::size_t before = mine.omitted.size();
    try_kernel({std::string(kernel->name), c.matrix.matrix, c.matrix.precision, {}, false}, false, mine.omitted,
               [&] { measure_kernel(bench, host, c, *kernel, mine); });
    if (kernel->role == kernel_role::vendor && mine.omitted.size() > before) mine.omitted.back().failed = false;
  }
  bench.print(spgemm_table(c.matrix, mine));
  return mine;
}

}  // namespace

int run_spgemm_bench(const bench_options& o) {
  const context ctx = make_context(o.run);
  check_names(spgemm_kernels(ctx.backend()), o);
  session bench(o, ctx);
  spgemm_results all;
  const auto prepare = [&]<class T>(const case_name& which) { return make_case<T>(bench, which, o.run); };
  bench.each_matrix(all.omitted, prepare, [&](auto& c) { all.append(measure_case(bench, o, c)); });
  return bench.finish(all);
}

}  // namespace tulle::cli::bench

// `tulle bench spgemm`: every kernel of C = A B on every matrix, the whole call and the numeric phase.
#include <algorithm>
#include <cstring>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/verify.hpp>

#include "common/matrix.hpp"
#include "session.hpp"
#include "spgemm_measure.hpp"
#include "spgemm_record.hpp"

namespace tulle::cli::bench {
namespace {

/// A matrix on the host and on the backend, and the first kernel's answer, which the others are compared with.
struct spgemm_case {
  spgemm_record matrix;  // what all records have in common
  run_options run;
  matrix_ref a, b;  // on the host; B is A, or A^T where A is not square
  spgemm_input input;
  std::string chosen;               // the kernel that a plan takes by itself
  std::optional<matrix_ref> first;  // on the host
  spgemm_verdict first_verdict;
};

spgemm_case make_spgemm_case(const session& bench, const case_name& which, const run_options& run) {
  const named_matrix loaded = load(which.spec, run);
  spgemm_case c;
  c.run = run;
  c.a = c.b = loaded.matrix;
  c.matrix.transposed_b = c.a.rows != c.a.cols;
  if (c.matrix.transposed_b) c.b = transposed(c.a, run);
  c.matrix.matrix = which.label.empty() ? loaded.name : which.label;
  c.matrix.matrix_hash = matrix_hash(c.a);
  c.matrix.precision = name(c.a.types.value);
  c.matrix.rows = c.a.rows;
  c.matrix.cols = c.b.cols;
  c.matrix.nnz = c.a.nnz;
  c.matrix.nnz_b = c.b.nnz;
  c.matrix.copy_bandwidth = bench.host.copy;
  c.matrix.cache_bandwidth = bench.host.cache;
  c.input.a = c.input.b = place(bench.ctx, c.a, offsets_for(c.a.nnz));
  if (c.matrix.transposed_b) c.input.b = place(bench.ctx, c.b, offsets_for(c.a.nnz));
  c.chosen = any_spgemm_plan(bench.ctx, c.input.a, c.input.b).kernel();
  return c;
}

/// Whether `count` elements of two arrays have the same bits.
bool same_array(const void* x, const void* y, std::int64_t count, std::size_t size) {
  return count == 0 || std::memcmp(x, y, static_cast<std::size_t>(count) * size) == 0;
}

bool same_pattern(const matrix_ref& x, const matrix_ref& y) {
  return x.nnz == y.nnz && same_array(x.rowptr, y.rowptr, std::int64_t{x.rows} + 1, size_of(x.types.offset)) &&
         same_array(x.colind, y.colind, x.nnz, sizeof(index_t));
}

/// The first answer is held to higher precision; what has the same bits is as right.
void check(const context& host, spgemm_case& c, const matrix_ref& result, spgemm_record& r) {
  const matrix_ref got = on_host(result);
  const bool same = c.first && same_pattern(got, *c.first);
  r.same_bits = same && same_array(got.values, c.first->values, got.nnz, size_of(got.types.value));
  spgemm_verdict verdict = c.first_verdict;
  if (is_further(got.types.value)) {
    if (!r.same_bits) verdict = check_further(c.a, c.b, got);
    r.sorted = with_view<double>(
        got, [&](auto view) { return validate(host, view, {.sorted = true, .duplicates = true}).ok(); });
  } else {
    with_precision(c.run, [&]<class T>() {
      with_view<T>(got, [&](auto view) {
        const spgemm_expectation<T> expected{.a = c.a.as<T, std::int64_t>(), .b = c.b.as<T, std::int64_t>()};
        if (!r.same_bits) verdict = check_spgemm(host, expected, view);
        r.sorted = validate(host, view, {.sorted = true, .duplicates = true}).ok();
      });
    });
  }
  r.error_ratio = verdict.error_ratio;
  r.checked_rows = verdict.checked_rows;
  r.wrong = verdict.wrong;
  if (c.first) {
    if (r.wrong.empty() && !same) r.wrong = "the pattern is not that of the first kernel";
    return;
  }
  c.first = got;
  c.first_verdict = verdict;
}

void measure_kernel(session& bench, const context& host, spgemm_case& c, const kernel_info& kernel,
                    spgemm_results& out) {
  spgemm_options options;
  options.kernel = kernel.name;
  spgemm_measurement m = measure_spgemm(bench.ctx, bench.clock, c.input, options, c.matrix);
  spgemm_record& whole = m.whole;
  whole.chosen = whole.kernel == c.chosen;
  whole.vendor = kernel.role == kernel_role::vendor;
  spgemm_record numeric = whole;
  check(host, c, m.c, whole);
  m.c = {};
  out.records.push_back(whole);
  if (!m.renewed) {
    const std::string reason = fmt::format("no numeric phase: {}", m.numeric_missing);
    out.omitted.push_back({whole.kernel, whole.matrix, whole.precision, reason, !whole.vendor});
    return;
  }
  numeric.phase = "numeric";
  numeric.time = m.numeric;
  check(host, c, *m.renewed, numeric);
  out.records.push_back(std::move(numeric));
}

/// The plan's choice first, so that its answer is the one that the others are compared with.
spgemm_results measure_case(session& bench, const bench_options& o, std::span<const kernel_info> all, spgemm_case& c) {
  const context host = context::cpu(o.run.threads);
  std::vector<kernel_info> kernels = select_kernels(all, o.kernels, {&c.chosen, 1});
  std::stable_partition(kernels.begin(), kernels.end(), [&](const kernel_info& k) { return k.name == c.chosen; });
  spgemm_results mine;
  bench.bar.divide(kernels.size());
  for (const kernel_info& kernel : kernels) {
    bench.bar.step(fmt::format("{} {} {}", c.matrix.matrix, c.matrix.precision, kernel.name));
    const std::size_t before = mine.omitted.size();
    try_kernel({std::string(kernel.name), c.matrix.matrix, c.matrix.precision, {}, false}, false, mine.omitted,
               [&] { measure_kernel(bench, host, c, kernel, mine); });
    if (kernel.role == kernel_role::vendor && mine.omitted.size() > before) mine.omitted.back().failed = false;
  }
  bench.mark_disturbed(mine.records);
  bench.print([&](page& to) { add_products(to, c.matrix, mine); });
  return mine;
}

}  // namespace

int run_spgemm_bench(const bench_options& o) {
  return run_kernel_bench<spgemm_results>(
      o, kernel_operation::spgemm, make_spgemm_case,
      [&](session& bench, std::span<const kernel_info> all, spgemm_case& c) { return measure_case(bench, o, all, c); });
}

}  // namespace tulle::cli::bench

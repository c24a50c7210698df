#include "probes.hpp"

#include <cmath>

#include "core/backends.hpp"

namespace tulle::cli::bench {
namespace {

/// Fastest time on `a`, or nothing where the kernel cannot take it.
std::optional<double> time_on(const bench_run& run, subject& s, const csr_ref& a, const csr_stats& stats,
                              const spmv_kernel& kernel, const spmv_options& options, cache_state state,
                              std::optional<std::size_t> matrix_bytes) {
  if (!kernel.supports(stats, a.types, run.ctx.info()).ok) return std::nullopt;
  const auto op = kernel.make_plan(run.ctx, a, stats, options);
  if (matrix_bytes) {
    const auto expected = static_cast<double>(*matrix_bytes);
    if (std::abs(static_cast<double>(op->matrix_bytes()) - expected) > 0.05 * expected) return std::nullopt;
  }
  const double time = summarise(run.clock.repeat(state, [&] { apply(run.ctx, s, *op); })).min;
  run.ctx.synchronize();
  return time;
}

/// rowptr[r] = floor(r nnz / rows).
template <offset O>
std::vector<O> even_offsets(const csr_ref& a) {
  const std::int64_t each = a.nnz / a.rows, rest = a.nnz % a.rows;
  std::vector<O> rowptr(static_cast<std::size_t>(a.rows) + 1);
  for (std::int64_t r = 0; r <= a.rows; ++r) {
    rowptr[static_cast<std::size_t>(r)] = static_cast<O>(r * each + r * rest / a.rows);
  }
  return rowptr;
}

}  // namespace

std::optional<double> time_without_gather(const bench_run& run, subject& s, const spmv_kernel& kernel,
                                          const spmv_options& options, cache_state state,
                                          std::size_t matrix_bytes) try {
  buffer<index_t> zeros(run.ctx, static_cast<std::size_t>(s.a.nnz));
  fill_bytes(run.ctx, zeros.data(), zeros.space(), 0, zeros.bytes());
  csr_ref a = s.a;
  a.colind = zeros.data();
  return time_on(run, s, a, s.stats, kernel, options, state, matrix_bytes);
} catch (const error&) {
  return std::nullopt;
}

std::optional<double> time_with_even_rows(const bench_run& run, subject& s, const spmv_kernel& kernel,
                                          const spmv_options& options, cache_state state) try {
  if (s.stats.skew <= 2 || s.a.rows == 0) return std::nullopt;
  return dispatch<type_set::floating>(s.a.types, [&]<class T, class O>() {
    const buffer<O> rowptr = to_buffer(run.ctx, even_offsets<O>(s.a));
    csr_ref a = s.a;
    a.rowptr = rowptr.data();
    const csr_stats stats = formats_of<T, O>(run.ctx.backend()).statistics(run.ctx, a.as<T, O>());
    return time_on(run, s, a, stats, kernel, options, state, std::nullopt);
  });
} catch (const error&) {
  return std::nullopt;
}

}  // namespace tulle::cli::bench

#include <cmath>

#include "measure.hpp"

namespace tulle::cli::bench {
namespace {

/// Fastest time on `a`, or nothing where the kernel cannot take it.
std::optional<double> time_on(const trial& t, const matrix_ref& a, const csr_stats& stats, cache_state state,
                              std::optional<std::size_t> matrix_bytes) {
  const context& ctx = t.run.ctx;
  if (!t.kernel.supports(stats, a.types, ctx.info()).ok) return std::nullopt;
  const auto op = t.kernel.make(ctx, a, stats, t.options);
  if (matrix_bytes) {
    const auto expected = static_cast<double>(*matrix_bytes);
    if (std::abs(static_cast<double>(op->matrix_bytes()) - expected) > 0.05 * expected) return std::nullopt;
  }
  const double time = summarise(t.run.clock.repeat(state, [&] { apply(ctx, t.s, *op); })).min;
  ctx.synchronize();
  return time;
}

/// rowptr[r] = floor(r nnz / rows).
template <offset O>
std::vector<O> even_offsets(const matrix_ref& a) {
  const std::int64_t each = a.nnz / a.rows, rest = a.nnz % a.rows;
  std::vector<O> rowptr(static_cast<std::size_t>(a.rows) + 1);
  for (std::int64_t r = 0; r <= a.rows; ++r) {
    rowptr[static_cast<std::size_t>(r)] = static_cast<O>(r * each + r * rest / a.rows);
  }
  return rowptr;
}

}  // namespace

std::optional<double> time_without_gather(const trial& t, cache_state state, std::size_t matrix_bytes) try {
  buffer<index_t> zeros(t.run.ctx, static_cast<std::size_t>(t.s.a.nnz));
  fill_bytes(t.run.ctx, zeros.data(), zeros.space(), 0, zeros.bytes());
  matrix_ref a = t.s.a;
  a.colind = zeros.data();
  return time_on(t, a, t.s.stats, state, matrix_bytes);
} catch (const error&) {
  return std::nullopt;
}

std::optional<double> time_with_even_rows(const trial& t, cache_state state) try {
  if (t.s.stats.skew <= 2 || t.s.a.rows == 0) return std::nullopt;
  return dispatch<type_set::floating>(t.s.a.types, [&]<class T, class O>() {
    const buffer<O> rowptr = to_buffer(t.run.ctx, even_offsets<O>(t.s.a));
    matrix_ref a = t.s.a;
    a.rowptr = rowptr.data();
    return time_on(t, a, statistics(t.run.ctx, a.as<T, O>()), state, std::nullopt);
  });
} catch (const error&) {
  return std::nullopt;
}

}  // namespace tulle::cli::bench

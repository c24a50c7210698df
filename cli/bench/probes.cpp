#include <cmath>

#include "measure.hpp"

namespace tulle::cli::bench {
namespace {

/// Fastest time of the kernel on `a`; nothing where it cannot take that, or stores it in another size than
/// `matrix_bytes` (0: any).
std::optional<double> time_on(const trial& t, const matrix_ref& a, cache_state state, std::size_t matrix_bytes) {
  spmv_options options = t.options;
  options.kernel = t.kernel.name;
  const any_spmv_plan plan(t.run.ctx, a, options);
  const auto bytes = static_cast<double>(plan.matrix_bytes()), expected = static_cast<double>(matrix_bytes);
  if (matrix_bytes > 0 && std::abs(bytes - expected) > 0.05 * expected) return std::nullopt;
  const double time = summarise(t.run.clock.repeat(state, [&] { t.s.apply(plan); })).min;
  t.run.ctx.synchronize();
  return time;
}

}  // namespace

std::optional<double> time_without_gather(const trial& t, cache_state state, std::size_t matrix_bytes) try {
  matrix_ref a = t.s.multiplied;
  buffer<index_t> zeros(t.run.ctx, static_cast<std::size_t>(a.nnz));
  fill_bytes(t.run.ctx, zeros.data(), zeros.space(), 0, zeros.bytes());
  a.colind = zeros.data();
  return time_on(t, a, state, matrix_bytes);
} catch (const error&) {
  return std::nullopt;
}

std::optional<double> time_with_even_rows(const trial& t, cache_state state) try {
  matrix_ref a = t.s.multiplied;
  if (t.s.stats.skew <= 2 || a.rows == 0) return std::nullopt;
  const std::int64_t each = a.nnz / a.rows, rest = a.nnz % a.rows;
  std::vector<std::int64_t> even(static_cast<std::size_t>(a.rows) + 1);  // floor(r nnz / rows)
  for (std::int64_t r = 0; r <= a.rows; ++r) even[static_cast<std::size_t>(r)] = r * each + r * rest / a.rows;
  const auto rowptr = to_buffer(t.run.ctx, even);
  a.types.offset = offset_type::i64;
  a.rowptr = rowptr.data();
  return time_on(t, a, state, 0);
} catch (const error&) {
  return std::nullopt;
}

}  // namespace tulle::cli::bench

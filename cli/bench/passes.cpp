// What a plan's fused passes take beside `apply`.
#include "measure.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {

fused_passes measure_passes(const bench_run& run, subject& s, const any_spmv_plan& plan, cache_state state) {
  fused_passes found;
  const scalar_type type = s.a.types.value;
  if (type == scalar_type::i32 || s.work.rhs > 1) return found;
  const auto [rows, cols] = plan.dimensions();
  const double column_bytes = static_cast<double>(rows) * static_cast<double>(size_of(type));
  found.dots_bytes = column_bytes;
  found.jacobi_bytes = 3 * column_bytes;
  const auto zeros = [&](std::int64_t n) {
    buffer<std::byte> v(run.ctx, static_cast<std::size_t>(n) * size_of(type));
    fill_bytes(run.ctx, v.data(), v.space(), 0, v.bytes());
    return v;
  };
  const auto ref = [&](buffer<std::byte>& v, std::int64_t n) { return vector_ref(type, v.data(), n, v.space()); };
  buffer<std::byte> dots = zeros(2), w = zeros(rows == cols ? 0 : rows);
  const vector_ref x = ref(s.x, cols), y = ref(s.y, rows);
  const auto median = [&](const auto& work) { return summarise(run.clock.repeat(state, work)).median; };
  if (plan.can(operation::apply_dots)) {
    const vector_ref left = rows == cols ? x : ref(w, rows);
    found.dots = median([&] { plan.apply_dots(s.alpha, x, s.beta, y, left, ref(dots, 2)); });
  }
  if (rows == cols && plan.can(operation::jacobi)) {
    buffer<std::byte> b = zeros(rows), inverse_diagonal = zeros(rows);
    found.jacobi = median([&] { plan.jacobi(0.5, x, ref(b, rows), ref(inverse_diagonal, rows), y); });
  }
  return found;
}

}  // namespace tulle::cli::bench

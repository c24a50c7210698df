#include "spgemm_measure.hpp"

#include <array>
#include <tulle/core/peak_memory.hpp>

#include "common/matrix.hpp"

namespace tulle::cli::bench {
namespace {

/// The values start as NaN: what is not written is seen.
void time_numeric(const context& ctx, harness& clock, const spgemm_input& in, any_spgemm_plan& plan,
                  spgemm_measurement& m) try {
  const matrix_ref c = plan.multiply(in.alpha, in.beta);
  const std::size_t bytes = static_cast<std::size_t>(c.nnz) * size_of(c.types.value);
  fill_bytes(ctx, const_cast<void*>(c.values), c.space, 0xff, bytes);  // the arrays are the product's own
  const auto numeric = [&] { plan.numeric(c, in.alpha, in.beta); };
  const bool is_long = m.whole.time.min > harness::long_run;
  m.numeric = is_long ? clock.time_on_host(until::done, numeric) : clock.time(cache_state::warm, numeric);
  ctx.synchronize();
  m.renewed = c;
} catch (const error& e) {
  m.numeric_missing = e.what();
}

}  // namespace

spgemm_measurement measure_spgemm(const context& ctx, harness& clock, const spgemm_input& in,
                                  const spgemm_options& options, const spgemm_record& facts) {
  const auto memory = std::make_shared<peak_memory>(ctx);
  const context counted = ctx.with_memory(memory);
  const auto make = [&] { return any_spgemm_plan(counted, in.a, in.b, options, in.terms); };
  spgemm_measurement m;
  m.whole = facts;
  const auto forget = [&] {
    m.c = {};
    memory->restart();
  };
  m.whole.time = clock.time_on_host(
      until::done, [&] { m.c = make().multiply(in.alpha, in.beta); }, forget);
  m.whole.peak_bytes = memory->peak(std::array{m.c.rowptr, static_cast<const void*>(m.c.colind), m.c.values});

  any_spgemm_plan plan = make();
  plan.symbolic();
  time_numeric(ctx, clock, in, plan, m);
  m.reason = plan.explain();
  m.whole.kernel = plan.kernel();
  m.whole.phase = "whole";
  m.whole.products = plan.products();
  m.whole.nnz_c = plan.nnz();
  m.whole.workspace_bytes = plan.workspace_bytes();
  return m;
}

spgemm_verdict check_further(const matrix_ref& a, const matrix_ref& b, const matrix_ref& c, double alpha, double beta,
                             const std::optional<matrix_ref>& d) {
  return with_type(c.types.value, [&]<class T>() -> spgemm_verdict {
    if constexpr (further_scalar<T>) {
      spgemm_expectation<T> expected{.a = a.as<T, std::int64_t>(), .b = b.as<T, std::int64_t>()};
      if (d) expected.d = d->as<T, std::int64_t>();
      expected.alpha = static_cast<T>(alpha);
      expected.beta = static_cast<T>(beta);
      const matrix_ref wide = widened(c);
      return check_spgemm(context::cpu(1), expected, wide.as<T, std::int64_t>());
    } else {
      return {};
    }
  });
}

}  // namespace tulle::cli::bench

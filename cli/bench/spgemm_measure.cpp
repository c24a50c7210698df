#include "spgemm_measure.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "counting_memory.hpp"

namespace tulle::cli::bench {
namespace {

constexpr double long_call = 1e6;     // microseconds
constexpr double long_repeats = 1e7;  // of all repeats of a long call

/// `before` runs ahead of each run, outside the time.
std::vector<double> repeat_whole(const harness& clock, const std::function<void()>& before,
                                 const std::function<void()>& work) {
  const auto once = [&] {
    before();
    return clock.once(work);
  };
  const double first = once();
  int timed = clock.repeats();
  if (first > long_call) {
    timed = std::clamp(static_cast<int>(long_repeats / first), 1, timed);
  } else {
    for (int i = 1; i < clock.warmup(); ++i) once();
  }
  std::vector<double> times;
  for (int i = 0; i < timed; ++i) times.push_back(once());
  return times;
}

template <scalar T>
std::array<const void*, 3> blocks_of(const any_csr<T>& c) {
  return std::visit(
      [](const auto& m) {
        return std::array<const void*, 3>{m.rowptr.data(), m.colind.data(), m.values.data()};
      },
      c);
}

/// The values start as NaN: what is not written is seen.
template <scalar T, offset O>
void time_numeric(const context& ctx, harness& clock, const spgemm_input<T, O>& in, spgemm_plan<T>& plan,
                  spgemm_measurement<T>& m) try {
  any_csr<T> c = plan.multiply(in.alpha, in.beta);
  std::visit([&](auto& made) { fill_bytes(ctx, made.values.data(), made.values.space(), 0xff, made.values.bytes()); },
             c);
  const auto numeric = [&] { plan.numeric(c, in.alpha, in.beta); };
  const bool is_long = m.whole.front() > long_call;
  m.numeric = is_long ? repeat_whole(
                            clock, [] {}, numeric)
                      : clock.repeat(cache_state::warm, numeric);
  ctx.synchronize();
  m.renewed = std::move(c);
} catch (const error& e) {
  m.numeric_missing = e.what();
}

}  // namespace

template <scalar T, offset O>
spgemm_measurement<T> measure_spgemm(const context& ctx, harness& clock, const spgemm_input<T, O>& in,
                                     const spgemm_options& options) {
  const auto memory = std::make_shared<counting_memory>(ctx);
  const context counted = ctx.with_memory(memory);
  const auto make_plan = [&] { return spgemm_plan<T>(counted, in.a, in.b, options, in.terms); };
  spgemm_measurement<T> m;
  m.whole = repeat_whole(
      clock,
      [&] {
        m.c.reset();
        memory->restart();
      },
      [&] { m.c = make_plan().multiply(in.alpha, in.beta); });
  m.peak_bytes = memory->peak(blocks_of(*m.c));

  spgemm_plan<T> plan = make_plan();
  plan.symbolic();
  time_numeric(ctx, clock, in, plan, m);
  m.kernel = plan.kernel();
  m.reason = plan.explain();
  m.products = plan.products();
  m.nnz = plan.nnz();
  m.workspace_bytes = plan.workspace_bytes();
  return m;
}

template <scalar T>
csr<T> to_host(const context& ctx, any_csr<T>&& c) {
  csr<T> wide = widen(ctx, std::move(c));
  if (wide.values.space() == memory_space::host) return wide;
  const context host = context::cpu(1);
  return {wide.rows, wide.cols, to_buffer(host, to_vector(ctx, wide.rowptr)),
          to_buffer(host, to_vector(ctx, wide.colind)), to_buffer(host, to_vector(ctx, wide.values))};
}

#define TULLE_CLI_INSTANTIATE(T, O)                                                                        \
  template spgemm_measurement<T> measure_spgemm<T, O>(const context&, harness&, const spgemm_input<T, O>&, \
                                                      const spgemm_options&);
TULLE_CLI_INSTANTIATE(float, std::int32_t)
TULLE_CLI_INSTANTIATE(float, std::int64_t)
TULLE_CLI_INSTANTIATE(double, std::int32_t)
TULLE_CLI_INSTANTIATE(double, std::int64_t)
template csr<float> to_host<float>(const context&, any_csr<float>&&);
template csr<double> to_host<double>(const context&, any_csr<double>&&);

}  // namespace tulle::cli::bench

#include "plan/autotune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <tulle/core/buffer.hpp>
#include <tulle/core/stream.hpp>

#include "core/memory_status.hpp"
#include "core/split_mix.hpp"
#include "kernels/backends.hpp"

namespace tulle {
namespace {

using clock = std::chrono::steady_clock;

constexpr int warm_up_runs = 3;
constexpr int timed_runs = 10;
/// A kernel this many times slower than the fastest is not timed to the end.
constexpr double hopeless = 4;
/// What planning may take before one was seen, in applications: a conversion sorts or copies the whole matrix.
constexpr double conversion_guess = 50;
constexpr double in_place_guess = 3;

/// x = 0 and a scratch y, and what times an application.
class bench_stand {
 public:
  bench_stand(const context& ctx, shape a, scalar_type vectors)
      : ctx_(ctx),
        x_(ctx, static_cast<std::size_t>(a.cols) * size_of(vectors)),
        y_(ctx, static_cast<std::size_t>(a.rows) * size_of(vectors)),
        begin_(ctx),
        end_(ctx) {
    fill_bytes(ctx, x_.data(), x_.space(), 0, x_.bytes());
  }

  /// Median microseconds of one application, apply(x, y); the last warm-up run where that is beyond hope of passing
  /// `fastest`.
  template <class F>
  double measure(const F& apply, double fastest) {
    double last = 0;
    for (int i = 0; i < warm_up_runs; ++i) last = once(apply);
    if (last > hopeless * fastest) return last;
    std::array<double, timed_runs> times{};
    for (double& t : times) t = once(apply);
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }
  double measure(spmv_operator& op, double fastest) {
    return measure([&](const void* x, void* y) { op.apply(1, x, 0, y, ctx_.stream()); }, fastest);
  }

 private:
  template <class F>
  double once(const F& apply) {
    begin_.record(ctx_.stream());
    apply(x_.data(), y_.data());
    end_.record(ctx_.stream());
    end_.synchronize();
    return end_.microseconds_since(begin_);
  }

  context ctx_;
  buffer<std::byte> x_;
  buffer<std::byte> y_;
  event begin_;
  event end_;
};

}  // namespace

double microseconds_since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

double microseconds_per_application(const linear_operator& a) {
  const context& ctx = a.ctx();
  const shape s = a.dimensions();
  bench_stand stand(ctx, s, a.vector_type());
  return stand.measure(
      [&](const void* x, void* y) {
        a.apply(1, const_vector_ref(a.vector_type(), x, s.cols, ctx.space(), ctx.device()), 0,
                vector_ref(a.vector_type(), y, s.rows, ctx.space(), ctx.device()));
      },
      std::numeric_limits<double>::infinity());
}

tuning fastest_kernel(const context& ctx, const tuning_subject& subject,
                      std::pair<const spmv_kernel*, spmv_operator*> first, double budget) {
  const auto begin = clock::now();
  const operation_types types = types_of(subject.a, subject.options);
  bench_stand stand(ctx, subject.a.dimensions(), types.vector);
  tuning result{first.first, nullptr, stand.measure(*first.second, std::numeric_limits<double>::infinity()), 1};
  double longest_conversion = conversion_guess * result.microseconds;
  for (const spmv_kernel& k : spmv_kernels(ctx.backend())) {
    if (k.role != kernel_role::production || &k == first.first || !contains(k.types, types)) continue;
    if (!k.supports(subject.stats, types.matrix(), ctx.info()).ok) continue;
    const bool converts = k.needs_set_up;
    const double planning = converts ? longest_conversion : in_place_guess * result.microseconds;
    const double measuring = (warm_up_runs + timed_runs) * result.microseconds;
    if (microseconds_since(begin) + planning + measuring > budget * result.microseconds) {
      ++result.skipped;
      result.complete = false;
      continue;
    }
    try {
      const auto planning_began = clock::now();
      auto candidate = k.make(ctx, subject.a, subject.stats, subject.options);
      ctx.synchronize();
      if (converts) longest_conversion = std::max(longest_conversion, microseconds_since(planning_began));
      const double time = stand.measure(*candidate, result.microseconds);
      ++result.measured;
      if (time < result.microseconds) {
        result.kernel = &k;
        result.faster = std::move(candidate);
        result.microseconds = time;
      }
    } catch (const error& e) {
      if (e.code() == status::unsupported) continue;  // what only the set-up could see
      if (!is_out_of_memory(e)) throw;
      result.complete = false;
    }
  }
  return result;
}

std::string statistics_hash(const csr_stats& s) {
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t v) { hash = split_mix(hash ^ v); };
  for (const std::int64_t v :
       std::initializer_list<std::int64_t>{s.rows, s.cols, s.nnz, s.max, s.empty_rows, s.bandwidth, s.column_window}) {
    add(static_cast<std::uint64_t>(v));
  }
  for (const double v : {s.stddev, s.ell_padding, s.sell_padding, s.sell_sorted_padding, s.gather_sectors}) {
    add(std::bit_cast<std::uint64_t>(v));
  }
  for (const double v : s.block_fill) add(std::bit_cast<std::uint64_t>(v));
  return fmt::format("{:016x}", hash);
}

}  // namespace tulle

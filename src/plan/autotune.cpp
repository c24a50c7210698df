#include "plan/autotune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/stream.hpp>
#include <utility>
#include <vector>

#include "core/interruption_point.hpp"
#include "core/memory_status.hpp"
#include "core/split_mix.hpp"
#include "kernels/backends.hpp"

namespace tulle {
namespace {

using clock = std::chrono::steady_clock;

constexpr int warm_up_runs = 3;
/// A launch of a few microseconds takes by itself as long by one kernel as by another: short applications are timed
/// some in a row, until this many microseconds or so have gone by.
constexpr double sample_microseconds = 30;
constexpr int most_in_a_row = 6;
constexpr int samples = 10, samples_of_rows = 5, samples_of_cold = 5, samples_to_confirm = 15;
/// What is not faster than this is as fast: the kernel that was there first stays, so that chance does not choose.
constexpr double clearly = 0.97;
/// A kernel this many times slower than the fastest is not timed to the end.
constexpr double hopeless = 4;
/// One run of so many microseconds is believed at once: it is no first launch that waits for its code to be loaded.
constexpr double long_run = 20'000;
/// What planning may take before one was seen, in applications: a conversion sorts or copies the whole matrix.
constexpr double conversion_guess = 50;
constexpr double in_place_guess = 3;

/// Microseconds of one application: by itself, launch and all, and among some in a row.
struct timing {
  double alone = 0;
  double in_a_row = 0;
};

/// x = 0 and a scratch y, and what times an application to them. `columns`: of X and Y; 0: they are vectors.
class bench_stand {
 public:
  bench_stand(const context& ctx, shape a, scalar_type vectors, index_t columns = 0,
              vector_order order = vector_order::row_major)
      : ctx_(ctx),
        dimensions_(a),
        columns_(columns),
        order_(order),
        x_(ctx, bytes_for(a.cols, vectors)),
        y_(ctx, bytes_for(a.rows, vectors)),
        begin_(ctx),
        end_(ctx) {
    fill_bytes(ctx, x_.data(), x_.space(), 0, x_.bytes());
  }

  auto applying(spmv_operator& op) {
    return [this, &op](const void* x, void* y) {
      if (columns_ == 0) return op.apply(1, x, 0, y, ctx_.stream());
      op.apply_many(1, vectors(const_cast<void*>(x), dimensions_.cols), 0, vectors(y, dimensions_.rows), ctx_.stream());
    };
  }
  /// Medians; only the last warm-up run where that is beyond hope of passing `fastest`.
  timing measure(spmv_operator& op, double fastest = std::numeric_limits<double>::infinity()) {
    const auto apply = applying(op);
    double last = 0;
    for (int i = 0; i < warm_up_runs && last <= std::max(long_run, hopeless * fastest); ++i) last = sample(apply, 1);
    if (last > hopeless * fastest) return {last, last};
    const int count = in_a_row(last);
    std::array<double, samples> times{};
    const auto end = times.begin() + (count > 1 ? samples_of_rows : samples);
    for (auto t = times.begin(); t != end; ++t) *t = sample(apply, count);
    return {last, median(times.begin(), end)};
  }

  /// Medians of a and b, some samples of each by turns: what a device does besides, or its clock, slows both.
  template <class F, class G>
  std::pair<double, double> by_turns(const F& a, const G& b, int least_samples) {
    const int count = in_a_row(std::max(sample(a, 1), sample(b, 1)));
    const int n = std::max(least_samples, count > 1 ? samples_of_rows : samples);
    std::vector<double> of_a, of_b;
    for (int i = 0; i < n; ++i) {
      of_a.push_back(sample(a, count));
      of_b.push_back(sample(b, count));
    }
    return {median(of_a.begin(), of_a.end()), median(of_b.begin(), of_b.end())};
  }
  /// Among some in a row, and not slower in the mean of that and of an application that finds nothing in the last-level
  /// cache: who applies a plan now and then has the one, a solver of a small system the other.
  bool is_faster(spmv_operator& other, spmv_operator& than, int least_samples = 0) {
    const auto [of_other, of_than] = by_turns(applying(other), applying(than), least_samples);
    if (of_other >= clearly * of_than) return false;
    const auto [cold_other, cold_than] = cold_by_turns(applying(other), applying(than));
    return of_other + cold_other < of_than + cold_than;
  }

 private:
  [[nodiscard]] std::size_t bytes_for(index_t elements, scalar_type of) const {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(std::max<index_t>(columns_, 1)) * size_of(of);
  }
  [[nodiscard]] strided_vectors vectors(void* data, index_t elements) const {
    if (order_ == vector_order::row_major) return {data, columns_, columns_, 1};
    return {data, columns_, 1, elements};
  }
  static int in_a_row(double alone) {
    return static_cast<int>(std::clamp(std::ceil(sample_microseconds / alone), 1.0, double{most_in_a_row}));
  }
  template <class Iterator>
  static double median(Iterator begin, Iterator end) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    return *middle;
  }
  /// Medians, the last-level cache of a device overwritten before each; {0, 0} on a CPU, or where there is no memory.
  template <class F, class G>
  std::pair<double, double> cold_by_turns(const F& a, const G& b) {
    if (!sweep_) sweep_ = room_to_sweep();
    if (sweep_->size() == 0) return {0, 0};
    std::array<double, samples_of_cold> of_a{}, of_b{};
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      of_a[i] = cold_sample(a);
      of_b[i] = cold_sample(b);
    }
    return {median(of_a.begin(), of_a.end()), median(of_b.begin(), of_b.end())};
  }
  [[nodiscard]] buffer<std::byte> room_to_sweep() const {
    if (ctx_.backend() != backend_kind::cuda) return {};
    try {
      return {ctx_, 2 * ctx_.info().l2_bytes};
    } catch (const error& e) {
      if (!is_out_of_memory(e)) throw;
      return {};
    }
  }
  template <class F>
  double cold_sample(const F& apply) {
    fill_bytes(ctx_, sweep_->data(), sweep_->space(), 0, sweep_->bytes());
    return sample(apply, 1);
  }
  template <class F>
  double sample(const F& apply, int count) {
    look_for_interruption();
    begin_.record(ctx_.stream());
    for (int i = 0; i < count; ++i) apply(x_.data(), y_.data());
    end_.record(ctx_.stream());
    end_.synchronize();
    return end_.microseconds_since(begin_) / count;
  }

  context ctx_;
  shape dimensions_;
  index_t columns_;
  vector_order order_;
  buffer<std::byte> x_;
  buffer<std::byte> y_;
  event begin_;
  event end_;
  std::optional<buffer<std::byte>> sweep_;
};

}  // namespace

double microseconds_since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

comparison compare(const linear_operator& a, const linear_operator& b) {
  const context& ctx = a.ctx();
  const shape s = a.dimensions();
  bench_stand stand(ctx, s, a.vector_type());
  const auto applying = [&](const linear_operator& op) {
    return [&](const void* x, void* y) {
      op.apply(1, const_vector_ref(op.vector_type(), x, s.cols, ctx.space(), ctx.device()), 0,
               vector_ref(op.vector_type(), y, s.rows, ctx.space(), ctx.device()));
    };
  };
  (void)stand.by_turns(applying(a), applying(b), 0);  // warm
  const auto [first, second] = stand.by_turns(applying(a), applying(b), samples_to_confirm);
  return {first, second, second < clearly * first};
}

std::vector<const spmv_kernel*> production_kernels(backend_kind backend) {
  std::vector<const spmv_kernel*> out;
  for (const spmv_kernel& k : spmv_kernels(backend)) {
    if (k.role == kernel_role::production) out.push_back(&k);
  }
  return out;
}

tuning fastest_kernel(const context& ctx, const tuning_subject& subject,
                      const std::vector<const spmv_kernel*>& candidates,
                      std::pair<const spmv_kernel*, spmv_operator*> first, double budget) {
  const auto begin = clock::now();
  const operation_types types = types_of(subject.a, subject.options);
  bench_stand stand(ctx, subject.a.dimensions(), types.vector, subject.many ? subject.options.columns : 0,
                    subject.options.columns_order);
  const timing of_first = stand.measure(*first.second);
  timing best = of_first;
  tuning result;
  result.kernel = first.first;
  double longest_conversion = conversion_guess * best.alone;
  for (const spmv_kernel* k : candidates) {
    if (k == first.first || !contains(k->types, types)) continue;
    if (!k->supports(subject.stats, types.matrix(), ctx.info()).ok) continue;
    const bool converts = k->needs_set_up;
    const double planning = converts ? longest_conversion : in_place_guess * best.alone;
    const double measuring = (warm_up_runs + 2 * samples) * best.alone;
    if (microseconds_since(begin) + planning + measuring > budget * best.alone) {
      ++result.skipped;
      continue;
    }
    try {
      const auto planning_began = clock::now();
      auto candidate = k->make(ctx, subject.a, subject.stats, subject.options);
      ctx.synchronize();
      if (converts) longest_conversion = std::max(longest_conversion, microseconds_since(planning_began));
      const timing time = stand.measure(*candidate, best.alone);
      ++result.measured;
      spmv_operator& so_far = result.faster != nullptr ? *result.faster : *first.second;
      if (time.in_a_row < clearly * best.in_a_row && stand.is_faster(*candidate, so_far)) {
        result.kernel = k;
        result.faster = std::move(candidate);
        best = time;
      }
    } catch (const error& e) {
      if (e.code() == status::unsupported) continue;  // what only the set-up could see
      if (!is_out_of_memory(e)) throw;
      result.lacked_memory = true;
    }
  }
  // Once more, some time later and by more samples: what slowed the first for a while is over.
  if (result.faster != nullptr && !stand.is_faster(*result.faster, *first.second, samples_to_confirm)) {
    result.kernel = first.first;
    result.faster.reset();
    best = of_first;
  }
  result.microseconds = best.in_a_row;
  return result;
}

std::string reason_of(const tuning& result, double budget) {
  const std::string left_out =
      result.skipped == 0 ? "" : fmt::format(", {} left out to stay below {:.0f} applications", result.skipped, budget);
  return fmt::format("the fastest of {} kernels measured: {:.1f} us{}", result.measured, result.microseconds, left_out);
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

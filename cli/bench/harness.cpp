#include "harness.hpp"

#include <algorithm>
#include <chrono>
#include <tulle/ops/vector.hpp>

#include "common/output.hpp"

namespace tulle::cli::bench {
namespace {

constexpr int most_queued = 1000;  // repetitions

/// Four times a GPU's L2; twice a CPU's last-level cache, which evicts it under any common replacement policy: the cap
/// keeps a cache that a virtual machine shares with its neighbours from costing seconds a run.
std::size_t sweep_bytes(const context& ctx) {
  if (ctx.backend() == backend_kind::cuda) return 4 * ctx.info().l2_bytes;
  constexpr std::size_t least = std::size_t{32} << 20, most = std::size_t{512} << 20;
  return std::clamp(2 * ctx.info().l2_bytes, least, most);
}

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

harness::harness(const context& ctx, int warmup, int repeat) : ctx_(ctx), warmup_(warmup), repeat_(repeat) {
  for (int i = 0; i < 2 * std::min(repeat, most_queued); ++i) events_.emplace_back(ctx);
}

/// A batch of repetitions is queued before its first result is read, so that the host never holds up the device.
std::vector<double> harness::repeat(cache_state state, const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < warmup_; ++i) work();
  const bool tell = is_told(microseconds_since(begin) / std::max(warmup_, 1));
  std::vector<double> times;
  while (times.size() < static_cast<std::size_t>(repeat_)) {
    const std::size_t batch = std::min(events_.size(), 2 * (static_cast<std::size_t>(repeat_) - times.size()));
    for (std::size_t i = 0; i < batch; i += 2) {
      if (state == cache_state::cold) evict();
      events_[i].record(ctx_.stream());
      work();
      events_[i + 1].record(ctx_.stream());
      if (tell) on_share_(static_cast<double>(times.size() + i / 2 + 1) / repeat_);
    }
    for (std::size_t i = 0; i < batch; i += 2) {
      events_[i + 1].synchronize();
      times.push_back(events_[i + 1].microseconds_since(events_[i]));
    }
  }
  return times;
}

std::vector<double> harness::repeat_on_host(until end, const std::function<void()>& work,
                                            const std::function<void()>& before) const {
  constexpr double all_long_runs = 1e7;
  const auto run = [&] {
    before();
    return once(work, end);
  };
  int timed = repeat_;
  for (int i = 0; i < warmup_; ++i) {
    const double time = run();
    if (time <= long_run) continue;
    timed = std::clamp(static_cast<int>(all_long_runs / time), 1, repeat_);
    break;
  }
  std::vector<double> times;
  for (int i = 0; i < timed; ++i) {
    times.push_back(run());
    if (is_told(times.back())) on_share_(static_cast<double>(i + 1) / timed);
  }
  ctx_.synchronize();
  return times;
}

sample_summary harness::time(cache_state state, const std::function<void()>& work) {
  const load_watch load;
  sample_summary s = summarise(repeat(state, work));
  s.others = load.others();
  return s;
}

sample_summary harness::time_on_host(until end, const std::function<void()>& work,
                                     const std::function<void()>& before) const {
  const load_watch load;
  sample_summary s = summarise(repeat_on_host(end, work, before));
  s.others = load.others();
  return s;
}

double harness::once(const std::function<void()>& work, until end) const {
  ctx_.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  work();
  if (end == until::done) ctx_.synchronize();
  return microseconds_since(begin);
}

void harness::evict() {
  if (sweep_.empty()) {
    sweep_ = buffer<double>(ctx_, sweep_bytes(ctx_) / sizeof(double));
    fill_bytes(ctx_, sweep_.data(), sweep_.space(), 0, sweep_.bytes());
  }
  if (ctx_.backend() == backend_kind::cuda) return fill_bytes(ctx_, sweep_.data(), sweep_.space(), 0, sweep_.bytes());
  vector_ops(ctx_).scale(0.5, sweep_);  // on all threads, so that every cache is swept
}

int threads_that_count(const context& ctx) { return ctx.backend() == backend_kind::cuda ? 1 : ctx.threads(); }

void tell_of_load(const load_watch& load, const context& ctx) {
  if (const std::string said = overload(load.others(), threads_that_count(ctx), cores()); !said.empty()) note(said);
}

}  // namespace tulle::cli::bench

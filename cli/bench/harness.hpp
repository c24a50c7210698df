// Times repetitions of a piece of work: by events on a GPU, by the steady clock on a CPU.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/core/stream.hpp>
#include <vector>

#include "load.hpp"
#include "statistics.hpp"

namespace tulle::cli::bench {

/// warm: repetitions back to back, so that what fits a cache stays there. cold: the last-level cache is overwritten
/// before every repetition, outside the timed region.
enum class cache_state { cold, warm };
constexpr std::string_view name(cache_state s) { return s == cache_state::cold ? "cold" : "warm"; }

/// Where a time seen from the host ends: the device is done, or the call has returned.
enum class until { done, queued };

class harness {
 public:
  harness(const context& ctx, int warmup, int repeat);

  /// Microseconds of each of the timed repetitions, after the warm-up ones. `work` queues on the context's stream.
  std::vector<double> repeat(cache_state state, const std::function<void()>& work);

  /// The same seen from the host, as `once`, the cache warm; `before` runs ahead of each run, outside the time. Work
  /// that is long is warmed up by one run and repeated for ten seconds at most.
  std::vector<double> repeat_on_host(
      until end, const std::function<void()>& work, const std::function<void()>& before = [] {}) const;
  static constexpr double long_run = 1e6;  // microseconds

  /// The same, summarised, with what other processes did meanwhile.
  sample_summary time(cache_state state, const std::function<void()>& work);
  sample_summary time_on_host(
      until end, const std::function<void()>& work, const std::function<void()>& before = [] {}) const;

  /// Is told how much of the repetitions is done, between those that are long.
  void on_share(std::function<void(double)> told) { on_share_ = std::move(told); }

  /// Microseconds of one run seen from the host, with nothing queued before it, to the end named.
  double once(const std::function<void()>& work, until end = until::done) const;

 private:
  void evict();
  /// Whether a run of so many microseconds is so long that to tell of it changes nothing.
  [[nodiscard]] bool is_told(double microseconds) const { return on_share_ && microseconds > 5e4; }

  context ctx_;
  int warmup_;
  int repeat_;
  std::function<void(double)> on_share_;
  std::vector<event> events_;  // two for each repetition of a batch
  buffer<double> sweep_;       // what evicts the cache
};

/// Of a context, those that want a core: of a GPU's the one that waits for it.
int threads_that_count(const context& ctx);
/// Says to standard error where other processes were in the way.
void tell_of_load(const load_watch& load, const context& ctx);

}  // namespace tulle::cli::bench

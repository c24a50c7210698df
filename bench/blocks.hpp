// What the two halves of tulle_blocks share.
#pragma once

#include <algorithm>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

namespace tulle::bench {

inline double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Median of 15 runs by the device's clock, or by the host's where there is none.
template <class F>
double microseconds(const context& ctx, const F& f) {
  std::vector<double> times;
  event begin(ctx), end(ctx);
  for (int i = 0; i < 18; ++i) {
    begin.record(ctx.stream());
    f();
    end.record(ctx.stream());
    end.synchronize();
    if (i >= 3) times.push_back(end.microseconds_since(begin));
  }
  return median(times);
}

/// JSON: the members after "context" of a record for tools/bench_table.py. All is so many times smaller.
std::string time_choices(const context& ctx, int smaller);
std::string time_patterns(const context& ctx, int smaller);

}  // namespace tulle::bench

// Turns on several threads beside libraries on GNU OpenMP, whose threads spin for some milliseconds after their last
// region, on cores that those of the next in turn want.
#pragma once

#include <chrono>
#include <thread>

namespace tulle::bench {

/// Until OpenMP's threads have gone to sleep.
inline void wait_for_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

/// Calls for so long, not measured: the threads that they need are awake then.
template <class F>
void keep_awake(std::chrono::microseconds least, const F& apply) {
  for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < least;) apply();
}

}  // namespace tulle::bench

// How work is done for Python: without the GIL, one call at a time for each plan, and so that Ctrl-C ends what takes
// long.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <tulle/core/interruption.hpp>

#include "numpy.hpp"

namespace tulle::python {

/// While it lives the GIL is free, and Python's signals are looked for ten times a second: what their handlers raise
/// ends the work.
class long_work {
 public:
  long_work() : end_early_(&hear_signals) {}

 private:
  static void hear_signals();

  nb::gil_scoped_release released_;
  interruption end_early_;
};

/// The lock of a plan. It is taken without the GIL. A child of fork finds it free, whoever had it; a thread that has it
/// already, in a callback that comes back to the plan, is refused with a ValueError.
class plan_lock {
 public:
  plan_lock();
  ~plan_lock();
  plan_lock(const plan_lock&) = delete;
  plan_lock& operator=(const plan_lock&) = delete;

  void lock();
  void unlock();
  /// In a child of fork: frees it, unless the thread that forked has it.
  void renew();

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

}  // namespace tulle::python

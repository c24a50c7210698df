#include "work.hpp"

#include <pthread.h>

#include <new>
#include <tulle/core/status.hpp>
#include <unordered_set>

namespace tulle::python {
namespace {

/// All locks there are: a child of fork has none of the threads that held them.
struct registry {
  std::mutex mutex;
  std::unordered_set<plan_lock*> locks;
};

registry& all_locks() {
  static registry* const all = [] {
    pthread_atfork([] { all_locks().mutex.lock(); }, [] { all_locks().mutex.unlock(); },
                   [] {
                     for (plan_lock* const l : all_locks().locks) l->renew();
                     all_locks().mutex.unlock();
                   });
    return new registry;  // as long as the process
  }();
  return *all;
}

}  // namespace

void long_work::hear_signals() {
  const nb::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
}

plan_lock::plan_lock() {
  registry& all = all_locks();
  const std::scoped_lock hold(all.mutex);
  all.locks.insert(this);
}

plan_lock::~plan_lock() {
  registry& all = all_locks();
  const std::scoped_lock hold(all.mutex);
  all.locks.erase(this);
}

void plan_lock::lock() {
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    throw error(status::invalid_argument,
                "this plan or solver is at work for this thread: its callback must not use it");
  }
  mutex_.lock();
  owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

void plan_lock::unlock() {
  owner_.store({}, std::memory_order_relaxed);
  mutex_.unlock();
}

void plan_lock::renew() {
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  new (&mutex_) std::mutex;
  owner_.store({}, std::memory_order_relaxed);
}

}  // namespace tulle::python

// Patterns of families, made on all cores ahead of the device that measures them.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spmv_families.hpp"

namespace tulle::bench {

/// One matrix of a family.
struct job {
  const family* from;
  double nonzeros;
  int variant;
};

/// Makes the patterns of jobs in their order, on some threads, a few ahead of who takes them.
template <class Noted = char>
class pattern_factory {
 public:
  struct product {
    pattern made;
    std::string parameters;
    Noted noted{};
  };
  using note = std::function<Noted(const pattern&)>;
  /// `look`: what else is to be said of a pattern.
  explicit pattern_factory(std::vector<job> jobs, note look = {})
      : jobs_(std::move(jobs)), look_(std::move(look)), products_(jobs_.size()) {
    const unsigned cores = std::max(2u, std::thread::hardware_concurrency());
    for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { work(); });
  }
  ~pattern_factory() {
    stop_ = true;
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  pattern_factory(const pattern_factory&) = delete;
  pattern_factory& operator=(const pattern_factory&) = delete;

  /// Job number i; every one is taken once, in order.
  product take(std::size_t i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return products_[i] != nullptr; });
    product out = std::move(*products_[i]);
    products_[i].reset();
    taken_ = i + 1;
    changed_.notify_all();
    return out;
  }

 private:
  void work() {
    constexpr std::size_t ahead = 120;
    for (;;) {
      std::size_t i = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || next_ >= jobs_.size() || next_ < taken_ + ahead; });
        if (stop_ || next_ >= jobs_.size()) return;
        i = next_++;
      }
      auto made = std::make_unique<product>();
      made->made = jobs_[i].from->make(jobs_[i].nonzeros, jobs_[i].variant, made->parameters);
      if (look_) made->noted = look_(made->made);
      const std::lock_guard lock(mutex_);
      products_[i] = std::move(made);
      changed_.notify_all();
    }
  }
  std::vector<job> jobs_;
  note look_;
  std::vector<std::unique_ptr<product>> products_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0, taken_ = 0;
  std::atomic<bool> stop_ = false;
};

}  // namespace tulle::bench

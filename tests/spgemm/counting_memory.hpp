// A context's memory, with a count of what is held, and a chosen allocation that fails.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>
#include <tulle/core/status.hpp>

namespace tulle::test {

class counting_memory final : public memory_resource {
 public:
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  /// Allocation number `failing`, counted from 0, throws as if memory were short.
  explicit counting_memory(const context& ctx, std::size_t failing = never) : ctx_(ctx), failing_(failing) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    if (allocations_ == failing_) {
      const bool host = space() == memory_space::host;
      throw error(host ? status::out_of_memory : status::device_out_of_memory, "this allocation is made to fail");
    }
    void* p = ctx_.memory().allocate(bytes, stream);
    const std::lock_guard lock(mutex_);
    ++allocations_;
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return p;
  }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    ctx_.memory().deallocate(p, bytes, stream);
    const std::lock_guard lock(mutex_);
    now_ -= bytes;
  }
  [[nodiscard]] memory_space space() const noexcept override { return ctx_.space(); }

  [[nodiscard]] std::size_t now() const noexcept { return now_; }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }
  [[nodiscard]] std::size_t allocations() const noexcept { return allocations_; }

 private:
  context ctx_;
  std::size_t failing_;
  std::mutex mutex_;
  std::size_t now_ = 0;
  std::size_t peak_ = 0;
  std::size_t allocations_ = 0;
};

}  // namespace tulle::test

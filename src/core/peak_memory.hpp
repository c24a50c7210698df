// A context's memory, with the most bytes that were ever held of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>

namespace tulle {

class peak_memory : public memory_resource {
 public:
  explicit peak_memory(const context& ctx) : ctx_(ctx) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    void* const p = ctx_.memory().allocate(bytes, stream);
    const std::lock_guard lock(mutex_);
    peak_ = std::max(peak_, held_ += bytes);
    return p;
  }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    ctx_.memory().deallocate(p, bytes, stream);
    const std::lock_guard lock(mutex_);
    held_ -= bytes;
  }
  [[nodiscard]] memory_space space() const noexcept override { return ctx_.space(); }
  [[nodiscard]] int device() const noexcept override { return ctx_.device(); }
  [[nodiscard]] std::size_t now() const noexcept { return held_; }
  [[nodiscard]] std::size_t peak() const noexcept { return peak_; }

 private:
  context ctx_;
  std::mutex mutex_;
  std::size_t held_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace tulle

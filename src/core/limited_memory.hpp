// A context's memory, of which no more than so many bytes are ever held.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>
#include <tulle/core/status.hpp>
#include <utility>

#include "core/memory_status.hpp"

namespace tulle {

/// An allocation beyond the limit, though there may be memory.
class limit_exceeded final : public error {
 public:
  limit_exceeded(status code, std::string message, std::size_t needed)
      : error(code, std::move(message)), needed_(needed) {}
  /// The limit that this allocation would have needed: bytes held then and those asked for.
  [[nodiscard]] std::size_t needed() const noexcept { return needed_; }

 private:
  std::size_t needed_;
};

class limited_memory final : public memory_resource {
 public:
  limited_memory(const context& ctx, std::size_t limit) : ctx_(ctx), limit_(limit) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    // What passes the limit by itself is not added: the sum could pass all numbers.
    const bool alone = bytes > limit_;
    const std::size_t before = alone ? held_.load() : held_.fetch_add(bytes);
    if (alone || before > limit_ || bytes > limit_ - before) {
      if (!alone) held_ -= bytes;
      throw limit_exceeded(out_of(space()),
                           fmt::format("{} bytes more than the {} held pass the limit of {}", bytes, before, limit_),
                           bytes > std::numeric_limits<std::size_t>::max() - before ? bytes : before + bytes);
    }
    try {
      return ctx_.memory().allocate(bytes, stream);
    } catch (...) {
      held_ -= bytes;
      throw;
    }
  }
  void deallocate(void* p, std::size_t bytes, stream_view stream) noexcept override {
    ctx_.memory().deallocate(p, bytes, stream);
    held_ -= bytes;
  }
  [[nodiscard]] memory_space space() const noexcept override { return ctx_.space(); }
  [[nodiscard]] int device() const noexcept override { return ctx_.device(); }

 private:
  context ctx_;
  std::size_t limit_;
  std::atomic<std::size_t> held_ = 0;
};

}  // namespace tulle

// A context's memory, with a count of what is held, and a chosen allocation that fails.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <tulle/core/status.hpp>

#include "core/memory_status.hpp"
#include "core/peak_memory.hpp"

namespace tulle::test {

class counting_memory final : public peak_memory {
 public:
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  /// Allocation number `failing`, counted from 0, throws as if memory were short.
  explicit counting_memory(const context& ctx, std::size_t failing = never) : peak_memory(ctx), failing_(failing) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    if (allocations_ == failing_) throw error(out_of(space()), "this allocation is made to fail");
    void* const p = peak_memory::allocate(bytes, stream);
    ++allocations_;
    return p;
  }
  [[nodiscard]] std::size_t allocations() const noexcept { return allocations_; }

 private:
  std::size_t failing_;
  std::atomic<std::size_t> allocations_ = 0;
};

}  // namespace tulle::test

// A context's memory that counts what is taken from it, with a limit and with a chosen allocation that fails.
#pragma once

#include <limits>
#include <tulle/core/peak_memory.hpp>
#include <tulle/core/status.hpp>

#include "core/memory_status.hpp"

namespace tulle::test {

class counting_memory final : public peak_memory {
 public:
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  /// Allocation number `failing`, counted from 0, throws as if memory were short.
  explicit counting_memory(const context& ctx, std::size_t failing = never) : peak_memory(ctx), failing_(failing) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    if (allocations() == failing_) throw error(out_of(space()), "this allocation is made to fail");
    return peak_memory::allocate(bytes, stream);
  }

 private:
  std::size_t failing_;
};

}  // namespace tulle::test

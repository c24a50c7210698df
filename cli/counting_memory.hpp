// A source of memory that remembers what was taken from it and given back, for peaks.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>
#include <vector>

namespace tulle::cli {

/// Takes from the memory of a context, which it keeps.
class counting_memory final : public memory_resource {
 public:
  explicit counting_memory(const context& ctx) : ctx_(ctx) {}

  void* allocate(std::size_t bytes, stream_view stream) override;
  void deallocate(void* pointer, std::size_t bytes, stream_view stream) noexcept override;
  [[nodiscard]] memory_space space() const noexcept override { return ctx_.space(); }

  /// Forgets the past: what is held now does not count.
  void restart();
  /// The most bytes held at any one time since the restart, less the blocks that `left_out` points to and that are
  /// held still.
  [[nodiscard]] std::size_t peak(std::span<const void* const> left_out = {}) const;

 private:
  struct event {
    const void* pointer;
    std::size_t bytes;
    bool taken;
  };
  void make_room();

  context ctx_;
  mutable std::mutex mutex_;
  std::vector<event> events_;
  std::size_t held_ = 0;  // blocks
};

}  // namespace tulle::cli

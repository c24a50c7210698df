/// @file
/// A context's memory that remembers what was taken from it and given back, for peaks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>
#include <unordered_map>
#include <vector>

namespace tulle {

/// The memory of a context, counted: `ctx.with_memory(std::make_shared<peak_memory>(ctx))` is a context whose use of
/// memory is known. Throws what the context's own memory throws.
class peak_memory : public memory_resource {
 public:
  /// Takes from the memory of `ctx`, of which it keeps a copy.
  explicit peak_memory(const context& ctx) : ctx_(ctx) {}

  void* allocate(std::size_t bytes, stream_view stream) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    make_room();
    void* const pointer = ctx_.memory().allocate(bytes, stream);
    events_.push_back({pointer, bytes, true});
    held_ += bytes;
    ++blocks_;
    ++allocations_;
    return pointer;
  }
  void deallocate(void* pointer, std::size_t bytes, stream_view stream) noexcept override {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back({pointer, bytes, false});
    held_ -= bytes;
    --blocks_;
    ctx_.memory().deallocate(pointer, bytes, stream);
  }
  /// As of the context that it was made with.
  [[nodiscard]] memory_space space() const noexcept override { return ctx_.space(); }
  [[nodiscard]] int device() const noexcept override { return ctx_.device(); }

  /// Bytes that are held.
  [[nodiscard]] std::size_t now() const noexcept { return held_; }
  /// Calls of allocate since it was made.
  [[nodiscard]] std::size_t allocations() const noexcept { return allocations_; }
  /// Forgets the past: what is held now does not count for the peak.
  void restart() {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.clear();
    events_.reserve(2 * blocks_ + 16);
  }
  /// The most bytes held at any one time since the restart, less the blocks that `left_out` points to and that are
  /// still held.
  [[nodiscard]] std::size_t peak(std::span<const void* const> left_out = {}) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unordered_map<const void*, std::size_t> last;  // event of each block
    for (std::size_t i = 0; i < events_.size(); ++i) last[events_[i].pointer] = i;
    std::unordered_map<const void*, std::size_t> counted;
    std::size_t now = 0, most = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const event& e = events_[i];
      if (!e.taken) {
        if (const auto block = counted.extract(e.pointer)) now -= block.mapped();
      } else if (last[e.pointer] != i || std::ranges::find(left_out, e.pointer) == left_out.end()) {
        counted[e.pointer] = e.bytes;
        most = std::max(most, now += e.bytes);
      }
    }
    return most;
  }

 private:
  struct event {
    const void* pointer;
    std::size_t bytes;
    bool taken;
  };
  /// For a block to be taken and for all that are held to be given back, so that giving back cannot fail.
  void make_room() {
    const std::size_t needed = events_.size() + blocks_ + 2;
    if (events_.capacity() < needed) events_.reserve(2 * needed);
  }

  context ctx_;
  mutable std::mutex mutex_;
  std::vector<event> events_;
  std::size_t held_ = 0;
  std::size_t blocks_ = 0;
  std::size_t allocations_ = 0;
};

}  // namespace tulle

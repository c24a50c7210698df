#include "counting_memory.hpp"

#include <algorithm>
#include <unordered_map>

namespace tulle::cli {

/// For a block to be taken and for all that are held to be given back, so that giving back cannot fail.
void counting_memory::make_room() {
  const std::size_t needed = events_.size() + held_ + 2;
  if (events_.capacity() < needed) events_.reserve(2 * needed);
}

void* counting_memory::allocate(std::size_t bytes, stream_view stream) {
  const std::lock_guard lock(mutex_);
  make_room();
  void* const pointer = ctx_.memory().allocate(bytes, stream);
  events_.push_back({pointer, bytes, true});
  ++held_;
  return pointer;
}

void counting_memory::deallocate(void* pointer, std::size_t bytes, stream_view stream) noexcept {
  const std::lock_guard lock(mutex_);
  events_.push_back({pointer, bytes, false});
  --held_;
  ctx_.memory().deallocate(pointer, bytes, stream);
}

void counting_memory::restart() {
  const std::lock_guard lock(mutex_);
  events_.clear();
  events_.reserve(2 * held_ + 16);
}

std::size_t counting_memory::peak(std::span<const void* const> left_out) const {
  const std::lock_guard lock(mutex_);
  std::unordered_map<const void*, std::size_t> last;  // event of each block
  for (std::size_t i = 0; i < events_.size(); ++i) last[events_[i].pointer] = i;
  const auto counts = [&](std::size_t i) {
    return last[events_[i].pointer] != i || std::ranges::find(left_out, events_[i].pointer) == left_out.end();
  };
  std::unordered_map<const void*, std::size_t> held;
  std::size_t now = 0, most = 0;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const event& e = events_[i];
    if (!e.taken) {
      if (const auto block = held.extract(e.pointer)) now -= block.mapped();
    } else if (counts(i)) {
      held[e.pointer] = e.bytes;
      most = std::max(most, now += e.bytes);
    }
  }
  return most;
}

}  // namespace tulle::cli

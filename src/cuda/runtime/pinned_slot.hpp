// A few bytes of pinned host memory that the device writes and the host reads.
#pragma once

#include <cstddef>

namespace tulle::cuda {

/// Taken from a pool that grows as needed and gives its memory back when the process ends. Kernels may write through
/// data(); the host reads what they wrote once the stream was waited for. Whoever holds the slot sees to it that
/// nothing on the way still writes there when the slot goes.
class pinned_slot {
 public:
  static constexpr std::size_t bytes = 4096;

  pinned_slot();
  ~pinned_slot();
  pinned_slot(const pinned_slot&) = delete;
  pinned_slot& operator=(const pinned_slot&) = delete;

  /// Null where there is no pinned memory to have.
  [[nodiscard]] void* data() const noexcept { return memory_; }

 private:
  void* memory_;
};

}  // namespace tulle::cuda

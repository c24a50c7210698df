// A few bytes of pinned host memory that the device writes and the host reads.
#pragma once

#include <cstddef>

namespace tulle::cuda {

/// From a pool that grows as needed and is freed when the process ends. Kernels may write through data(); the host reads
/// it after waiting for the stream. No work in flight may still write to a slot that is destroyed.
class pinned_slot {
 public:
  static constexpr std::size_t bytes = 4096;

  pinned_slot();
  ~pinned_slot();
  pinned_slot(const pinned_slot&) = delete;
  pinned_slot& operator=(const pinned_slot&) = delete;

  /// Null if no pinned memory could be allocated.
  [[nodiscard]] void* data() const noexcept { return memory_; }

 private:
  void* memory_;
};

}  // namespace tulle::cuda

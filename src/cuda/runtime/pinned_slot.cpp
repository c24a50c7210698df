#include "cuda/runtime/pinned_slot.hpp"

#include <cuda_runtime_api.h>

#include <mutex>
#include <vector>

namespace tulle::cuda {
namespace {

class slot_pool {
 public:
  void* take() {
    const std::lock_guard lock(mutex_);
    void* memory = nullptr;
    if (!free_.empty()) {
      memory = free_.back();
      free_.pop_back();
    } else if (cudaHostAlloc(&memory, pinned_slot::bytes, cudaHostAllocPortable) != cudaSuccess) {
      (void)cudaGetLastError();
      memory = nullptr;
    } else {
      free_.reserve(++made_);  // so that giving it back cannot fail
    }
    return memory;
  }
  void give_back(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(memory);
  }
  void release() noexcept {
    const std::lock_guard lock(mutex_);
    for (void* memory : free_) (void)cudaFreeHost(memory);
    made_ -= free_.size();
    free_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
  std::size_t made_ = 0;
};

/// Never destroyed: plans may outlive every other static. What is not in use is freed when the process ends: before the
/// CUDA runtime, which is linked statically and set up before main, is torn down.
slot_pool& pool() {
  static slot_pool* const only = new slot_pool;
  static const struct at_exit {
    ~at_exit() { only->release(); }
  } releases;
  return *only;
}

}  // namespace

pinned_slot::pinned_slot() : memory_(pool().take()) {}
pinned_slot::~pinned_slot() {
  if (memory_ != nullptr) pool().give_back(memory_);
}

}  // namespace tulle::cuda

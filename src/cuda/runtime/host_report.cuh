// A value that a kernel itself writes to pinned host memory, so that no copy has to follow the kernel.
#pragma once

#include <cstring>
#include <optional>

#include "cuda/runtime/pinned_slot.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {

/// What the kernel is given: a copy of a few words.
struct word_copy {
  const unsigned* from = nullptr;
  unsigned* to = nullptr;  // null: nothing to copy
  int words = 0;

  /// All threads of one block call it once the source is complete.
  __device__ void run() const {
    if (to == nullptr) return;
    for (int i = static_cast<int>(threadIdx.x); i < words; i += static_cast<int>(blockDim.x)) to[i] = from[i];
  }
};

template <class T>
class host_report {
 public:
  explicit host_report(const context& ctx) : ctx_(ctx) {}
  ~host_report() {
    if (!pending_) return;
    try {
      ctx_.synchronize();  // the slot has another user next
    } catch (...) {        // the device is gone, and nothing writes there any more
    }
  }
  host_report(const host_report&) = delete;
  host_report& operator=(const host_report&) = delete;

  /// The argument of a kernel that runs once *device is complete. The context's device must be current.
  word_copy of(const T* device) {
    slot_.emplace();
    pending_ = slot_->data() != nullptr;
    return {reinterpret_cast<const unsigned*>(device), static_cast<unsigned*>(slot_->data()), sizeof(T) / 4};
  }
  /// Waits for the stream and returns the value; a copy where there is no pinned memory. Call it once.
  T wait(const T* device) {
    if (!pending_) return read_back(ctx_, device);
    ctx_.synchronize();
    pending_ = false;
    T found;
    std::memcpy(&found, slot_->data(), sizeof(found));
    slot_.reset();
    return found;
  }

 private:
  static_assert(sizeof(T) <= pinned_slot::bytes && sizeof(T) % 4 == 0);
  context ctx_;
  std::optional<pinned_slot> slot_;
  bool pending_ = false;
};

}  // namespace tulle::cuda

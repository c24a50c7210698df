// Numbers that a kernel hands to the host on its way, so that no copy has to come after it.
#pragma once

#include <cstring>
#include <optional>

#include "cuda/formats/launch.cuh"
#include "cuda/runtime/pinned_slot.hpp"
#include "cuda/spgemm/word_copy.cuh"

namespace tulle::cuda {

template <class T>
class early_report {
 public:
  explicit early_report(const context& ctx) : ctx_(ctx) {}
  ~early_report() {
    if (!pending_) return;
    try {
      ctx_.synchronize();  // the slot has another user next
    } catch (...) {        // the device is gone, and nothing writes there any more
    }
  }
  early_report(const early_report&) = delete;
  early_report& operator=(const early_report&) = delete;

  /// To be handed to a kernel that runs when the numbers are there. The context's device must be current.
  word_copy of(const T* device) {
    slot_.emplace();
    pending_ = slot_->data() != nullptr;
    return {reinterpret_cast<const unsigned*>(device), static_cast<unsigned*>(slot_->data()), sizeof(T) / 4};
  }
  /// The numbers, once the stream is through with that kernel; a copy where there is no pinned memory. Once.
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

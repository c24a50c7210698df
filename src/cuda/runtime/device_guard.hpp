// Makes a device current for a scope, or for a call.
#pragma once

#include <tulle/core/context.hpp>
#include <utility>

#include "cuda/runtime/check.hpp"

namespace tulle::cuda {

class device_guard {
 public:
  explicit device_guard(int device) {
    check(cudaGetDevice(&previous_), "cudaGetDevice");
    changed_ = previous_ != device;
    if (changed_) check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~device_guard() {
    if (changed_) (void)cudaSetDevice(previous_);
  }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int previous_ = 0;
  bool changed_ = false;
};

/// A function that makes its context's device current first.
template <auto Function>
struct on_device;
template <class R, class... Args, R (*Function)(const context&, Args...)>
struct on_device<Function> {
  static R call(const context& ctx, Args... args) {
    const device_guard guard(ctx.device());
    return Function(ctx, std::forward<Args>(args)...);
  }
};

}  // namespace tulle::cuda

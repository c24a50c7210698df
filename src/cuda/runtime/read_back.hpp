// Single values in device memory.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>

namespace tulle::cuda {

/// Waits for the stream.
template <class T>
T read_back(const context& ctx, const T* device) {
  T value;
  copy_bytes(ctx, &value, memory_space::host, device, memory_space::device, sizeof(T));
  return value;
}

/// One T on the device with every byte set to `byte`.
template <class T>
buffer<T> device_value(const context& ctx, unsigned char byte = 0) {
  buffer<T> value(ctx, 1);
  fill_bytes(ctx, value.data(), memory_space::device, byte, sizeof(T));
  return value;
}

}  // namespace tulle::cuda

/// @file
/// Where buffers get their bytes from, and the stream that orders their life.
#pragma once

#include <cstddef>
#include <memory>

#include <tulle/core/types.hpp>

namespace tulle {

/// A CUDA stream that somebody else owns (`native` is a cudaStream_t), or the CPU's program order.
struct stream_view {
  void* native = nullptr;  ///< a cudaStream_t; null: the default stream, or the CPU's
};

/// A source of memory in one space. Implementations must be safe to call from several threads.
class memory_resource {
 public:
  virtual ~memory_resource() = default;

  /// `bytes` > 0 bytes, aligned to at least 64. Throws OUT_OF_MEMORY or DEVICE_OUT_OF_MEMORY.
  virtual void* allocate(std::size_t bytes, stream_view stream) = 0;
  /// Gives back what `allocate` returned, once the work queued on `stream` so far is done.
  virtual void deallocate(void* pointer, std::size_t bytes, stream_view stream) noexcept = 0;
  /// The space that all of it is in.
  [[nodiscard]] virtual memory_space space() const noexcept = 0;
  /// The number of the device that it is the memory of, -1: not known, or the host.
  [[nodiscard]] virtual int device() const noexcept { return -1; }
};

/// The default host resource: 64-byte aligned operator new.
std::shared_ptr<memory_resource> host_memory();

/// Host memory that devices copy from and to at full speed; it costs far more to allocate. Where there is no device it is
/// `host_memory()`.
std::shared_ptr<memory_resource> pinned_memory();

}  // namespace tulle

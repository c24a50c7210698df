// Stream-ordered device memory from a pool of tulle's own, which keeps freed memory, and pinned host memory.
#pragma once

#include <memory>
#include <tulle/core/memory_resource.hpp>

namespace tulle::cuda {

/// A pool on `device` that every device with peer access reads and writes; plain cudaMalloc and cudaFree where the device has no pools.
std::shared_ptr<memory_resource> make_device_memory(int device);

/// Page-locked host memory for every device.
std::shared_ptr<memory_resource> make_pinned_memory();

}  // namespace tulle::cuda

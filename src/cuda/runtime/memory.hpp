// Stream-ordered device memory from a pool of tulle's own, which keeps freed memory.
#pragma once

#include <memory>
#include <tulle/core/memory_resource.hpp>

namespace tulle::cuda {

/// A pool on `device`; plain cudaMalloc and cudaFree where the device has no pools.
std::shared_ptr<memory_resource> make_device_memory(int device);

}  // namespace tulle::cuda

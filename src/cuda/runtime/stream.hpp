// What a stream_view holds.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/core/memory_resource.hpp>

namespace tulle::cuda {

inline cudaStream_t native(stream_view stream) { return static_cast<cudaStream_t>(stream.native); }

}  // namespace tulle::cuda

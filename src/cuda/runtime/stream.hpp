// The CUDA stream behind a stream_view or a context.
#pragma once

#include <cuda_runtime_api.h>

#include <tulle/core/context.hpp>

namespace tulle::cuda {

inline cudaStream_t native(stream_view stream) { return static_cast<cudaStream_t>(stream.native); }
inline cudaStream_t native(const context& ctx) { return native(ctx.stream()); }

}  // namespace tulle::cuda

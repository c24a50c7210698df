// CUDA graphs.
#pragma once

#include <functional>
#include <memory>

#include "core/device_runtime.hpp"

namespace tulle::cuda {

/// See device_runtime::capture. The stream must not be the default one, which cannot be captured.
std::unique_ptr<device_graph> capture_graph(int device, stream_view stream, const std::function<void()>& work);

}  // namespace tulle::cuda

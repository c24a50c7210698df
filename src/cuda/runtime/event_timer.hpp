// Time between two points of a stream.
#pragma once

#include <memory>

#include "core/device_runtime.hpp"

namespace tulle::cuda {

std::unique_ptr<device_timer> make_event_timer(int device);

}  // namespace tulle::cuda

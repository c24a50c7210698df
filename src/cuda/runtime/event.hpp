// A point of a stream, and the time between two.
#pragma once

#include <memory>

#include "core/device_runtime.hpp"

namespace tulle::cuda {

std::unique_ptr<device_event> make_event(int device);

}  // namespace tulle::cuda

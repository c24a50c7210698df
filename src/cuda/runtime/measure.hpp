// What this device reaches: memory bandwidth and launch latency.
#pragma once

#include "core/device_runtime.hpp"

namespace tulle::cuda {

/// The best of several passes over arrays of up to 4 GiB (less where memory is short). Uses the current device.
bandwidth measure_bandwidth(int multiprocessors, device_timer& timer, stream_view stream);

/// Median microseconds from the launch of an empty kernel until the host sees its end, on the current device.
double measure_launch_latency(stream_view stream);

}  // namespace tulle::cuda

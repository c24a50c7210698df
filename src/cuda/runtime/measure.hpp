// Measured memory bandwidth and launch latency of a device.
#pragma once

#include "core/device_runtime.hpp"

namespace tulle::cuda {

/// The best of several passes over arrays of up to 4 GiB (less where memory is short). `device` is current.
bandwidth measure_bandwidth(int multiprocessors, int device, stream_view stream);

/// Median microseconds from the launch of an empty kernel until the host sees it complete, on the current device.
double measure_launch_latency(stream_view stream);

}  // namespace tulle::cuda

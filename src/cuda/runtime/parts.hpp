// What runtime.cpp puts together, one file each: events, graphs, memory and measurements.
#pragma once

#include <functional>
#include <memory>

#include "core/device_runtime.hpp"

namespace tulle::cuda {

/// A point of a stream, and the time between two.
std::unique_ptr<device_event> make_event(int device);

/// See device_runtime::capture. The stream must not be the default one, which cannot be captured.
std::unique_ptr<device_graph> capture_graph(int device, stream_view stream, const std::function<void()>& work);

/// Stream-ordered memory from a pool of tulle's own, which keeps freed memory, and which every device with peer access
/// reads and writes; plain cudaMalloc and cudaFree where the device has no pools.
std::shared_ptr<memory_resource> make_device_memory(int device);

/// Page-locked host memory for every device.
std::shared_ptr<memory_resource> make_pinned_memory();

/// The best of several passes over arrays of up to 4 GiB (less where memory is short). `device` is current.
bandwidth measure_bandwidth(int multiprocessors, int device, stream_view stream);

/// Median microseconds from the launch of an empty kernel until the host sees it complete, on the current device.
double measure_launch_latency(stream_view stream);

/// On the current device, which has one multiprocessor or more.
latencies measure_latencies(const device_info& info, int device, stream_view stream);

}  // namespace tulle::cuda

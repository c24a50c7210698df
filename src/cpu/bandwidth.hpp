// What this machine's memory reaches from the CPU.
#pragma once

#include <tulle/core/context.hpp>

#include "core/device_runtime.hpp"

namespace tulle::cpu {

/// Bytes a second with the threads of `ctx`, best of several runs over arrays that caches cannot hold, which the
/// threads that read them touched first. Copy and triad count what the program reads and writes, as STREAM does
/// (McCalpin: Memory bandwidth and machine balance, 1995). Takes about two seconds. Throws OUT_OF_MEMORY.
bandwidth measure_bandwidth(const context& ctx);

/// Of these the first, in about a tenth of a second: over one array, which caches do not hold either.
double measure_read_bandwidth(const context& ctx);

/// The least time from the start of an empty parallel region to its end, in microseconds.
double measure_launch_latency(int threads);

}  // namespace tulle::cpu

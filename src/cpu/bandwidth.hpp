// What this machine's memory reaches from the CPU.
#pragma once

#include "kernels/runtime.hpp"

namespace tulle {

/// Bytes a second with `threads` threads (0: as many as OpenMP would use), best of several runs over arrays that caches
/// cannot hold, which the threads that read them touched first. Copy and triad count what the program reads and writes,
/// as STREAM does (McCalpin: Memory bandwidth and machine balance, 1995). Takes about two seconds. Throws
/// OUT_OF_MEMORY.
bandwidth measure_cpu_bandwidth(int threads);

}  // namespace tulle

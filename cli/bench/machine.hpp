// What the machine can do, measured in the same run as the kernels.
#pragma once

#include <tulle/core/context.hpp>

#include "../common.hpp"
#include "kernels/runtime.hpp"

namespace tulle::cli::bench {

struct machine {
  device_info device;
  int threads = 0;
  bandwidth memory;      // bytes a second
  double launch_us = 0;  // CUDA: an empty kernel seen from the host; CPU: an empty parallel region, the shortest of 100
};

machine measure_machine(const context& ctx);

/// The `context` of the JSON: date, commit, compiler, device, driver, bandwidths.
json describe(const machine& m);

/// "NVIDIA H200, 4.49 TB/s read, 4.29 TB/s copy, ..." for the table.
std::string headline(const machine& m);

}  // namespace tulle::cli::bench

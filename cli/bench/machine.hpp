// What a machine can do, measured in the same run as the kernels.
#pragma once

#include <tulle/core/context.hpp>

#include "common/output.hpp"

namespace tulle::cli::bench {

struct machine {
  device_info device;
  int threads = 0;
  // What memory reaches when nothing else is in the way, in bytes per second; 0 where it was not measured.
  double read = 0;       // sum of a large array
  double copy = 0;       // read + write
  double triad = 0;      // a = b + s c
  double cache = 0;      // CUDA: sum of an array that stays in the L2, past the L1; 0 on the CPU
  double launch_us = 0;  // CUDA: an empty kernel seen from the host; CPU: an empty parallel region, the shortest of 100
};

/// `memory`: its bandwidths, too.
machine measure_machine(const context& ctx, bool memory = true);

/// Bytes a second that the memory of a context's backend reaches, read by its threads: what was measured last on such a
/// machine, else measured now, which takes about a tenth of a second on a CPU; 0 where memory does not suffice.
double read_bandwidth(const context& ctx);

/// What waiting costs on a GPU, in microseconds; cluster_barrier is 0 where there are no clusters.
struct waiting {
  double grid_barrier = 0, cooperative_barrier = 0, cluster_barrier = 0, atomic_hop = 0, graph_node = 0;
};
waiting measure_waiting(const context& cuda);

/// What a GPU holds at once, in bytes and numbers; peaks in operations per second, 0 where they are not known.
struct limits {
  int warps = 0, blocks = 0, threads = 0, registers = 0;  // of a multiprocessor
  int threads_of_block = 0;
  std::size_t line_bytes = 0, sector_bytes = 0, shared_bytes = 0, shared_bytes_of_block = 0, l2_bytes = 0;
  double peak_f32 = 0, peak_f64 = 0;
};
limits limits_of(const context& cuda);

/// Which instructions sum rows of CSR soonest on this processor, as plans found by measuring.
std::string row_sums();

/// A bandwidth or a share of one; null for 0, which stands for what was not measured.
inline json unless_unknown(double v) { return v > 0 ? json(v) : json(nullptr); }

/// The `context` of the JSON: date, commit, compiler, device, driver, bandwidths.
json describe(const machine& m);

/// "NVIDIA H200: read 4.49 TB/s, copy 4.29 TB/s, ..." for the table.
std::string headline(const machine& m);

/// CUDA encodes 13.0 as 13000; "" for 0.
std::string cuda_version(int version);

}  // namespace tulle::cli::bench

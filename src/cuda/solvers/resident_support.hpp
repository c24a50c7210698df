// Which problems suit a resident solver (resident.cuh), and on how many thread blocks.
#pragma once

#include "kernels/cg.hpp"

namespace tulle::cuda {

/// How many thread blocks, and how they start.
struct resident_grid {
  int most_parts;
  int least_rows;  // of a part, where there is room
  bool cluster;    // of 2, 4, 8 or 16: compute-sanitizer takes stores to others for wrong in a cluster of 1
};

inline constexpr int resident_threads = 256;
inline constexpr int resident_rows = 16;  // of blocks, of a part, where there is room
inline constexpr std::size_t resident_static_bytes = 10 * 1024;

/// Of the blocks that a resident solver keeps: those of a BSR; of a CSR those of its block-Jacobi preconditioner.
index_t resident_block(const cg_problem& problem);

/// Whether the matrix will fit with room to spare, as far as its statistics tell.
support supports_resident(const cg_problem& problem, const device_info& device, const resident_grid& grid);

/// The thread blocks for a matrix that is supported.
int resident_parts(const cg_problem& problem, const device_info& device, const resident_grid& grid);

}  // namespace tulle::cuda

// Which problems suit a resident solver (resident.cuh).
#pragma once

#include "kernels/cg.hpp"

namespace tulle::cuda {

/// How many thread blocks, and how they start.
struct resident_grid {
  int most_parts;
  int least_rows;  // of a part
  bool cluster;
};

inline constexpr int resident_threads = 512;  // at most
/// Something else than what is best, to compare: TULLE_CG_RESIDENT="threads=256 least=8 parts=64".
int resident_variant(const char* name, int otherwise);
inline constexpr std::size_t resident_static_bytes = 2048;

/// Of the blocks that a resident solver keeps: those of a BSR; of a CSR those of its block-Jacobi preconditioner.
index_t resident_block(const cg_problem& problem);

/// Of a matrix of so many block rows; clusters are of 1, 2, 4, 8 or 16.
int resident_parts(std::int64_t block_rows, const resident_grid& grid);

/// Whether the matrix will fit with room to spare, as far as its statistics tell.
support supports_resident(const cg_problem& problem, const device_info& device, const resident_grid& grid);

}  // namespace tulle::cuda

// What y = A x costs on CUDA in blocks, in csr5 and in packed, from a matrix's statistics: what `choose_spmv` compares
// where a matrix has blocks.
//
// In megabytes: those that are read of the matrix, and as many as would pass while a kernel does what takes it longer
// than the others however many they are. That was fitted to the families of bench/block_choice.cpp that are there to
// fit rules on, warm, on an NVIDIA H200; bench/results/block_choice.json has the times, docs/notes/0012-fused-passes.md
// what was fitted. It stands here alone. Only differences matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include "kernels/bsr_block.hpp"

namespace tulle {

struct spmv_cost_cuda {
  std::string_view kernel;
  double megabytes = 0;
};

/// Blocks of f64 beside csr5, whose many small blocks of threads begin and end at less cost: so much a nonzero, up to a
/// limit.
inline double start_of_blocks(const csr_stats& s, std::size_t value) {
  constexpr double byte_each = 1.3, most = 15;
  return value == 8 ? std::min(byte_each * static_cast<double>(s.nnz) / 1e6, most) : 0;
}

/// Whether `bsr` is faster than `bin_bsr.compact`, whose lanes hold a block each, in blocks of `b`, of so many bytes in
/// all. Outside L2 where a block leaves a lane room for few others, and a block row pays for what a group of lanes does
/// before and behind it. In L2, where a short wait needs few bytes in flight, a group for every block row is through
/// sooner than a warp for 32 of them; not with blocks of 6, whose 18 pieces leave 14 of 32 lanes idle.
inline bool suits_bsr(const csr_stats& s, index_t b, std::size_t value, double bytes, const device_info& device) {
  constexpr double least_row_bytes = 2800, least_row_bytes_in_l2 = 1500, share_of_l2 = 0.8;
  const double row_bytes = s.mean * b / s.block_fill[static_cast<std::size_t>(b)] * static_cast<double>(value);
  if (bytes <= share_of_l2 * static_cast<double>(device.l2_bytes)) return b != 6 && row_bytes >= least_row_bytes_in_l2;
  return b == 8 && row_bytes >= least_row_bytes;
}

inline spmv_cost_cuda cost_in_blocks(const csr_stats& s, index_t b, std::size_t value, const device_info& device) {
  const double bytes = bsr_bytes_per_nonzero(s, b, value) * static_cast<double>(s.nnz);
  return {suits_bsr(s, b, value, bytes, device) ? "bsr" : "bin_bsr.compact", bytes / 1e6 + start_of_blocks(s, value)};
}

/// A column index of 4 bytes and half a byte of places of rows. Tiles of 1024 entries end where rows end: half a row is
/// left empty.
inline spmv_cost_cuda cost_of_csr5(const csr_stats& s, std::size_t value) {
  return {"csr5", (static_cast<double>(value) + 4.5) * (1 + s.mean / 2048) * static_cast<double>(s.nnz) / 1e6};
}

/// Where blocks are full, rows are of one length and what neighbouring entries read lies side by side, rows are taken
/// for those of a stencil, each the one before moved by a block: packed then stores no columns. Long rows keep it late.
inline spmv_cost_cuda cost_of_packed(const csr_stats& s, index_t b, std::size_t value) {
  constexpr double one_length = 1.08, few_sectors = 8, bases = 0.15;
  if (s.block_fill[static_cast<std::size_t>(b)] < 1 || s.skew >= one_length || s.gather_sectors > few_sectors) {
    return {"packed", std::numeric_limits<double>::infinity()};
  }
  const double late = value == 8 ? 6 + 0.5 * s.mean : s.mean;
  return {"packed",
          (static_cast<double>(value) + bases) * static_cast<double>(s.nnz) / 1e6 + late + start_of_blocks(s, value)};
}

}  // namespace tulle

#include "cuda/solvers/resident_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cuda/solvers/resident_plan.hpp"

namespace tulle::cuda {
namespace {

constexpr double share_of_memory = 0.9;  // of a block: parts differ

struct division {
  int parts;
  double bytes;    // of shared memory for each
  double columns;  // of each
};

/// What a part will take about, were there so many.
division divided(const cg_problem& p, const resident_grid& grid, index_t block, int parts) {
  // A CSR whose blocks are not counted may have one for every entry.
  const double known = p.blocks.block > 0 || block == 1 ? 1 : p.stats.block_fill[static_cast<std::size_t>(block)];
  const double fill = known > 0 ? known : 1.0 / (block * block);
  const double rows = p.csr.rows / block;
  const double all = p.blocks.block > 0 ? static_cast<double>(p.blocks.stored)
                                        : static_cast<double>(p.stats.nnz) / (fill * block * block);
  const double longest = p.stats.max / block;
  const double blocks = all / parts + longest;
  const double columns = rows / parts + std::min(all / parts, rows);
  const double words = 2 * rows / parts + blocks / 2 + (grid.cluster ? 2 * columns : 0);
  const auto up = [](double v) { return static_cast<std::size_t>(v) + 1; };
  const resident_layout layout(block, size_of(p.csr.types.value), up(rows / parts), up(blocks), up(columns),
                               up(words) + 8);
  return {parts, static_cast<double>(layout.bytes), columns};
}

/// As few as rows ask for, as many as memory and registers need.
division divide(const cg_problem& p, const device_info& device, const resident_grid& grid) {
  const index_t block = resident_block(p);
  const index_t wanted = (p.csr.rows / block + grid.least_rows - 1) / grid.least_rows;
  auto parts = static_cast<unsigned>(std::clamp<index_t>(wanted, grid.cluster ? 2 : 1, grid.most_parts));
  if (grid.cluster) parts = std::bit_ceil(parts);
  division found = divided(p, grid, block, static_cast<int>(parts));
  const double room = share_of_memory * static_cast<double>(device.shared_bytes);
  while (found.bytes > room && found.parts < grid.most_parts) {
    found = divided(p, grid, block, std::min(2 * found.parts, grid.most_parts));
  }
  return found;
}

}  // namespace

index_t resident_block(const cg_problem& p) {
  if (p.blocks.block > 0) return p.blocks.block;
  return p.options.preconditioner == preconditioner_kind::block_jacobi ? p.options.block : 1;
}

int resident_parts(const cg_problem& p, const device_info& device, const resident_grid& grid) {
  return divide(p, device, grid).parts;
}

support supports_resident(const cg_problem& p, const device_info& device, const resident_grid& grid) {
  const index_t block = resident_block(p);
  if (p.options.preconditioner == preconditioner_kind::chebyshev) return {false, "it has no chebyshev preconditioner"};
  if (p.csr.rows == 0) return {false, "there is no row"};
  if (block < 1 || block > 8) return {false, fmt::format("blocks of {}: it takes 1 to 8", block)};
  if (p.csr.rows % block != 0) return {false, fmt::format("{} rows are no whole blocks of {}", p.csr.rows, block)};
  if (p.options.preconditioner == preconditioner_kind::block_jacobi && p.options.block != block) {
    return {false, fmt::format("block_jacobi({}) of a matrix in blocks of {}", p.options.block, block)};
  }
  const division found = divide(p, device, grid);
  const double room = share_of_memory * static_cast<double>(device.shared_bytes);
  if (found.bytes > room) {
    return {false,
            fmt::format("{} blocks of threads would need {:.0f} KiB of shared memory each, and {:.0f} is what suits",
                        found.parts, found.bytes / 1024, room / 1024)};
  }
  if (found.columns > resident_most_columns) return {false, "a part of it reads too many rows"};
  return {true, fmt::format("matrix, preconditioner and vectors stay in the shared memory of {} blocks of threads",
                            found.parts)};
}

}  // namespace tulle::cuda

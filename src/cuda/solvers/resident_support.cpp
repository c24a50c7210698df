#include "cuda/solvers/resident_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "cuda/solvers/resident_plan.hpp"

namespace tulle::cuda {

int resident_variant(const char* name, int otherwise) {
  const char* all = std::getenv("TULLE_CG_RESIDENT");
  const char* at = all != nullptr ? std::strstr(all, name) : nullptr;
  return at != nullptr ? std::atoi(at + std::strlen(name)) : otherwise;
}

index_t resident_block(const cg_problem& p) {
  if (p.blocks.block > 0) return p.blocks.block;
  return p.options.preconditioner == preconditioner_kind::block_jacobi ? p.options.block : 1;
}

int resident_parts(std::int64_t block_rows, const resident_grid& grid) {
  const int least = resident_variant("least=", grid.least_rows);
  const auto parts = static_cast<unsigned>(
      std::clamp<std::int64_t>((block_rows + least - 1) / least, 1, std::min(resident_variant("parts=", 1 << 20), grid.most_parts)));
  return static_cast<int>(grid.cluster ? std::bit_ceil(parts) : parts);
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
  // A CSR whose blocks are not counted may have one for every entry.
  const double known = p.blocks.block > 0 || block == 1 ? 1 : p.stats.block_fill[static_cast<std::size_t>(block)];
  const double fill = known > 0 ? known : 1.0 / (block * block);
  const double rows = p.csr.rows / block, slots = 32 / block;
  const double blocks = p.blocks.block > 0 ? static_cast<double>(p.blocks.stored)
                                           : static_cast<double>(p.stats.nnz) / (fill * block * block);
  const double parts = resident_parts(p.csr.rows / block, grid);
  const double longest = p.stats.max / (block * slots);  // chunks
  const double chunks = (blocks / slots + rows / 2) / parts + longest;
  const double columns = rows / parts + std::min(blocks / parts, rows);
  constexpr double share = 0.9;  // of what there is
  const double room = share * static_cast<double>(device.shared_bytes);
  const auto up = [](double v) { return static_cast<std::size_t>(v) + 1; };
  const auto needs = static_cast<double>(
      resident_bytes(block, size_of(p.csr.types.value), up(rows / parts), up(chunks), up(columns)));
  if (needs > room) {
    return {false, fmt::format("{:.0f} blocks of threads would need {:.0f} KiB of shared memory each, and {:.0f} is what suits",
                               parts, needs / 1024, room / 1024)};
  }
  if (columns > resident_most_columns) return {false, "a part of it reads too many rows"};
  return {true, fmt::format("matrix, preconditioner and vectors stay in the shared memory of {:.0f} blocks of threads", parts)};
}

}  // namespace tulle::cuda

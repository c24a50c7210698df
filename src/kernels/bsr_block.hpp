// The block size that suits a matrix best, the same for every kernel that stores blocks and for the choice of one.
#pragma once

#include <algorithm>
#include <cstddef>

#include <tulle/formats/stats.hpp>

#include "kernels/spmv.hpp"

namespace tulle {

/// Bytes per nonzero in blocks of `block`: values, one index and (where blocks are not full) one mask a block.
inline double bsr_bytes_per_nonzero(const csr_stats& s, index_t block, std::size_t value_size) {
  const double fill = std::max(s.block_fill[static_cast<std::size_t>(block)], 1e-9);
  const double area = static_cast<double>(block) * block;
  return (area * static_cast<double>(value_size) + (fill < 1 ? 12 : 4)) / (area * fill);
}

/// The block (2 to 8) with the fewest bytes per nonzero.
inline index_t best_bsr_block(const csr_stats& s, std::size_t value_size) {
  index_t best = 2;
  for (index_t b = 3; b <= 8; ++b) {
    if (bsr_bytes_per_nonzero(s, b, value_size) < bsr_bytes_per_nonzero(s, best, value_size)) best = b;
  }
  return best;
}

/// Bytes of the arrays.
template <class T, class O>
std::size_t bsr_bytes(const bsr_view<T, O>& a) {
  const auto blocks = static_cast<std::size_t>(a.blocks), area = static_cast<std::size_t>(a.block) * a.block;
  return (static_cast<std::size_t>(a.block_rows) + 1) * sizeof(O) + blocks * (sizeof(index_t) + area * sizeof(T)) +
         (a.mask != nullptr ? blocks * sizeof(std::uint64_t) : 0);
}

/// A make that builds Operator<T, O>(ctx, matrix, stats, options) for a CSR or a BSR.
template <template <class, class> class Operator, type_set Set>
std::unique_ptr<spmv_operator> make_block_operator(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                                   const spmv_options& options) {
  return dispatch<Set>(a.types, [&]<class T, class O>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<Operator<T, O>>(ctx, a, stats, options);
  });
}

}  // namespace tulle

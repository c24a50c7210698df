/// @file
/// Orders of the rows and columns of a matrix, and what they are worth.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/ordering.hpp>
#include <tulle/ops/permutation.hpp>

namespace tulle {

/// Throws INVALID_ARGUMENT that lists what there is.
ordering ordering_named(std::string_view name);
/// Those that this build has: amd and METIS's two may be missing.
std::span<const ordering> orderings() noexcept;

/// Everything has a default; each is heard by the ordering that it names.
struct ordering_options {
  index_t part_rows = 0;  ///< partition: unknowns of a part; 0: what fits half of the L2, or of a CPU's cache of a core
  index_t window = 1024;  ///< length: rows of a window
  std::uint64_t seed = 1;  ///< random
};

/// An order of the unknowns of A (of its rows, for `length` and `random`), in the memory of the context. Throws
/// INVALID_DIMENSIONS where A is not square and the ordering needs that, UNSUPPORTED where this build has not the
/// library, OVERFLOW where the pattern is beyond its 32-bit numbers, INVALID_STRUCTURE. Values are not looked at, but
/// must be there. The same for any number of threads; rcm also on every backend.
permutation order(const context& ctx, const matrix_ref& a, ordering how, const ordering_options& options = {});

/// How near the entries are to the diagonal and to each other. Counted on the host; the structure is trusted.
struct order_quality {
  index_t bandwidth = 0;     ///< the greatest |i - j|
  std::int64_t profile = 0;  ///< sum over rows of i - the least j <= i (George, Liu, 1981, section 4.2)
  /// Of x, per nonzero: what a group of lanes touches together, summed over rows and divided by nnz. A line has 128 bytes,
  /// a sector 32. Index 0: a thread per row (32 rows side by side, entry after entry), 1: eight lanes per row, 2: a
  /// warp per row.
  double lines[3] = {};
  double sectors[3] = {};  ///< 32-byte sectors of x, per nonzero
};
/// Of a matrix of any format, wherever it is; reads the pattern alone.
order_quality measure_order(const context& ctx, const matrix_ref& a);

}  // namespace tulle

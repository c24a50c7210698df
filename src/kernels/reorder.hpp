// The contract between permutations, orderings and the backends. Arrays are in the backend's memory.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/vector.hpp>

#include "core/split_mix.hpp"
#include "kernels/matrix.hpp"

namespace tulle {

/// What of A comes where: row i of the new matrix is row rows[i] of A, column j of A becomes inverse_columns[j]. Null:
/// as it is.
struct matrix_order {
  const index_t* rows = nullptr;
  const index_t* inverse_columns = nullptr;
  bool sorted = false;  // the columns of every row in ascending order, stable; else as A had them
};

/// Where vectors of n elements of a type come from, and the stream on which they move.
struct vector_move {
  const context& ctx;
  stream_view stream;
  scalar_type type;
  index_t n;
  const index_t* from;
};

/// Reverse Cuthill-McKee as every backend computes it. "Least" is by (degree, number); a degree does not count the
/// diagonal. A sweep numbers a component level by level from a start: the children of a vertex are those of its
/// neighbours that have no number and of whose neighbours it is the first that has one; children go by parent, then by
/// (degree, number). The first sweep starts at the least vertex, each that follows at the least of the last level of
/// the one before it (George, Liu, ACM TOMS 5, 1979), as long as the levels become more, past 2, and `rcm_sweeps` are
/// not done. The sweep with the least bandwidth counts, the last of equals. Components go by their least vertices. All
/// of that is reversed.
inline constexpr int rcm_sweeps = 4;

/// Tells a pattern from its transpose: with a random number h of each vertex and g, h with its halves swapped, the sum
/// of h_i g_j - g_i h_j over all entries (i, j) is 0 modulo 2^64 where the pattern is symmetric, else by chance alone.
struct vertex_hash {
  std::uint64_t h, g;

  constexpr explicit vertex_hash(index_t i)
      : h(split_mix((std::uint64_t{static_cast<std::uint32_t>(i)} + 1) * 0x9e3779b97f4a7c15ULL)),
        g(h >> 32 | h << 32) {}
  /// Of an entry in this row, or with sums for `column` of a whole row.
  [[nodiscard]] constexpr std::uint64_t asymmetry(std::uint64_t column_h, std::uint64_t column_g) const {
    return h * column_g - g * column_h;
  }
};

struct reorder_kernels {
  /// Takes over `from` as 32-bit numbers into `order` and its inverse into `inverse`, and returns the first i with
  /// from[i] out of range or equal to one before it, n where there is none. Up to there order is set; inverse[j] is the
  /// first i with from[i] = j, wherever there is one. Waits.
  std::int64_t (*take_order)(const context&, const permutation_ref& from, index_t* order, index_t* inverse);
  /// Whether entry (j, i) is there for every entry (i, j): told by sums of a hash of 64 bits, so that no
  /// entry is looked up. A is square, CSR with sound structure and columns that increase strictly; values are not read.
  bool (*symmetric)(const context&, const matrix_ref& a);
  /// order = reverse Cuthill-McKee of such a matrix, which is symmetric: the same on every backend. False where the
  /// levels are so narrow that the CPU is faster: the order is not set then.
  bool (*rcm)(const context&, const matrix_ref& a, index_t* order);
  /// A is CSR with sound structure.
  entry_map (*permute)(const context&, const matrix_ref& a, const matrix_order& order);
  /// y[i] = x[from[i]] + beta y[i] for i < n, of as many vectors as x has; beta = 0 never reads y. Neither allocates nor
  /// waits.
  void (*gather)(const vector_move&, const strided_vectors& x, double beta, const strided_vectors& y);
  /// The same order in two steps: source holds the elements of `from` sorted by their number / span, otherwise in their
  /// order, and place[i] is where that of i comes. Null where one step is no slower.
  void (*split)(const context&, const index_t* from, index_t n, index_t span, index_t* source, index_t* place);
  /// columns[k * most ...] = the first `most` columns of row rows[k], then -1, for k < count. A is CSR.
  void (*row_columns)(const context&, const matrix_ref& a, const index_t* rows, index_t count, index_t most,
                      index_t* columns);
};

}  // namespace tulle

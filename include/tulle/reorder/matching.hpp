/// @file
/// Large entries on the diagonal, for methods that divide by it.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/permutation.hpp>

namespace tulle {

/// The order of rows that makes the product of the absolute values on the diagonal greatest, of all that make it not 0:
/// row order()[j] comes to j (Duff, Koster, SIAM J. Matrix Anal. Appl. 22 (2001) 973-996, by shortest augmenting
/// paths). permute_rows(ctx, a, order) x = order.apply(b) is the same system. On the host, by one thread: fast where
/// most rows can have their largest entry, O(rows nnz log rows) at worst. Throws INVALID_DIMENSIONS where A is not
/// square, INVALID_STRUCTURE where it is structurally singular, naming a row or column without entries or else a row
/// that cannot be matched beside those before it, NOT_FINITE naming the row of an entry that is none.
permutation match_diagonal(const context& ctx, const matrix_ref& a);

}  // namespace tulle

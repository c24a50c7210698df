// Whether the rows of a matrix hide an order in which they read x from fewer places, and that order.
#pragma once

#include <string>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/ops/spmv_options.hpp>

#include "ops/reordering.hpp"

namespace tulle::detail {

/// Of a value.
constexpr double sector_share = 0.25;
/// Blocks this full are blocks of the matrix, and are ordered as a whole.
constexpr double full_block = 0.8;

/// What was seen of some rows: 32-byte sectors of x (of 8-byte values) per nonzero.
struct order_probe {
  double now = 0;   // that 128 rows side by side touch
  double near = 0;  // that as many rows around one another would touch at most, each column alone in its sector

  /// What an order may gain: for a matrix that is not square the most, since rows around one another are not known.
  [[nodiscard]] double gain() const noexcept { return now / (near > 0 ? near : sector_share); }

  [[nodiscard]] std::string describe() const;
};
/// Of a square CSR with sound structure; for others `near` stays 0. Some launches and some thousand rows.
order_probe probe_order(const context& ctx, const matrix_ref& a);

/// The first of the two.
double sectors_per_nonzero(const context& ctx, const matrix_ref& a);

/// Whether an order pays within an iterative solution of so many iterations at most, whose vectors stay in it.
/// `why` says it as part of a sentence, with the iterations after which it does.
bool order_pays(const context& ctx, const matrix_ref& a, int most_iterations, std::string& why);

/// The kernel whose iterations are fastest on a matrix in such an order, which fills blocks by chance: those with holes say
/// nothing of it.
std::string kernel_in_order(const context& ctx, csr_stats stats, type_key types);

/// Throws INVALID_ARGUMENT where an order is set that will not be taken, INVALID_DIMENSIONS where A is of another size
/// or, but for reverse Cuthill-McKee, not square.
void check_order(const matrix_ref& a, const order_choice& how, spmv_reorder when);

/// Of a CSR with sound structure: none is reverse Cuthill-McKee, where A is not square of the graph of rows and
/// columns. By blocks of `block` rows where those are whole and the order is not the caller's own. Throws as `order`.
matrix_orders find_orders(const context& ctx, const matrix_ref& a, const order_choice& how, index_t block);
/// "reverse Cuthill-McKee order", "amd order", "the order that was given".
std::string describe(const order_choice& how);

}  // namespace tulle::detail

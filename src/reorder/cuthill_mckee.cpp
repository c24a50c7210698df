#include "reorder/cuthill_mckee.hpp"

#include <tulle/ops/matrix.hpp>

#include "kernels/backends.hpp"

namespace tulle::detail {

permutation cuthill_mckee(const context& ctx, const matrix_ref& symmetric) {
  const auto n = static_cast<std::size_t>(symmetric.rows);
  buffer<index_t> order(ctx, n);
  if (reorders_of(ctx.backend()).rcm(ctx, symmetric, order.data())) return {ctx, order};
  const context host = context::cpu();
  const matrix_ref copy = clone(host, symmetric);
  buffer<index_t> of_host(host, n);
  reorders_of(host.backend()).rcm(host, copy, of_host.data());
  return {ctx, of_host};
}

}  // namespace tulle::detail

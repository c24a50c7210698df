#include "solvers/cg_options.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tulle::detail {
namespace {

template <class Value>
[[noreturn]] void refuse(std::string_view what, const Value& value, std::string_view right) {
  throw error(status::invalid_argument, fmt::format("{} = {}: must be {}", what, value, right));
}

}  // namespace

index_t given_block(const matrix_ref& a) {
  return a.format == matrix_format::bsr || a.format == matrix_format::bin_bsr ? a.block : 0;
}

cg_options filled_in(cg_options o, const context& ctx, const matrix_ref& a) {
  if (!(o.rtol >= 0) || !std::isfinite(o.rtol)) refuse("rtol", o.rtol, "a number, 0 or above");
  if (!(o.atol >= 0) || !std::isfinite(o.atol)) refuse("atol", o.atol, "a number, 0 or above");
  if (o.max_iterations < 0) refuse("max_iterations", o.max_iterations, "0 or above");
  if (o.check_interval < 0) refuse("check_interval", o.check_interval, "0 or above");
  if (o.replace_interval < -1) refuse("replace_interval", o.replace_interval, "-1 or above");
  if (o.preconditioner > preconditioner_kind::chebyshev) {
    refuse("preconditioner", static_cast<int>(o.preconditioner),
           "none (0), jacobi (1), block_jacobi (2) or chebyshev (3)");
  }
  if (o.precision > solver_precision::mixed) {
    refuse("precision", static_cast<int>(o.precision), "uniform (0) or mixed (1)");
  }
  if (o.block < 0 || o.block > 8) refuse("block", o.block, "0 to 8");
  if (o.degree < 1 || o.degree > 100) refuse("degree", o.degree, "1 to 100");
  if (o.rhs < 1 || o.rhs > 4096) refuse("rhs", o.rhs, "1 to 4096");
  if (o.check_interval == 0) o.check_interval = ctx.backend() == backend_kind::cpu ? 1 : 16;
  // Periodic replacement costs iterations, and all accuracy once rounding is what is left: docs/notes/0010. What has
  // arrived by the recursive residual alone goes on from the true one in any case, where the host looks.
  if (o.replace_interval == 0) o.replace_interval = -1;
  if (o.block == 0) o.block = given_block(a);
  if (o.block == 0) o.block = a.rows % 6 == 0 ? 6 : a.rows % 3 == 0 ? 3 : 4;
  return o;
}

}  // namespace tulle::detail

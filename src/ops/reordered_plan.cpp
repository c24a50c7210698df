// Plans in another order than A's.
#include <fmt/format.h>

#include <cmath>
#include <tulle/ops/matrix.hpp>

#include "core/memory_status.hpp"
#include "core/quantity.hpp"
#include "kernels/bsr_block.hpp"
#include "ops/hidden_order.hpp"
#include "ops/spmv_impl.hpp"
#include "plan/autotune.hpp"

namespace tulle {
namespace {

/// From this gain in sectors on an order is worth a plan that is then timed.
constexpr double least_gain = 1.25;

/// Of the matrix's own blocks, or of those that its entries fill.
index_t block_of(const detail::operand& a) {
  if (a.given().format == matrix_format::bsr || a.given().format == matrix_format::bin_bsr) return a.given().block;
  const csr_stats s = a.statistics();
  const index_t b = best_bsr_block(s, size_of(a.ref().types.value));
  return s.block_fill[static_cast<std::size_t>(b)] >= detail::full_block ? b : 1;
}

}  // namespace

/// `transposes`: the plan multiplies by the transpose of the CSR that the source now is.
void any_spmv_plan::impl::reorder(bool transposes) {
  const auto begin = std::chrono::steady_clock::now();
  const double before = detail::sectors_per_nonzero(ctx, source.ref());
  const order_choice how = std::exchange(options.reorder_method, {});
  detail::matrix_orders orders = detail::find_orders(ctx, source.ref(), how, block_of(source));
  source.permute(orders.rows, orders.columns());
  source.refresh();
  order_reason =
      fmt::format("in {}: {:.2f} sectors of x per nonzero in rows side by side, {:.2f} before; {} to find it",
                  detail::describe(how), detail::sectors_per_nonzero(ctx, source.ref()), before,
                  detail::as_time{microseconds_since(begin)});
  if (transposes && orders.own_columns) std::swap(orders.rows, *orders.own_columns);
  order.emplace(ctx, std::move(orders), *options.vector_type, ctx.info().l2_bytes);
  own_order = make_part_operator(false, true);
}

/// Times the plan in another order beside this one, where there seems to be one that pays, and keeps the faster.
void any_spmv_plan::reorder_if_faster(const matrix_ref& a) {
  impl& plain = *impl_;
  spmv_options options = plain.options;
  plain.options.reorder_method = {};
  if (effort() != spmv_effort::max) {
    plain.order_reason = "in A's order: reorder auto acts at effort max";
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  plain.order_reason = "in A's order";
  options.reorder = spmv_reorder::always;
  try {
    const matrix_ref& source = plain.source.ref();
    const detail::order_probe seen =
        detail::probe_order(plain.ctx, plain.stays_blocks() ? to_csr(plain.ctx, source) : source);
    plain.order_reason += fmt::format(": {}", seen.describe());
    if (seen.gain() < least_gain) return;
    const std::string order = detail::describe(options.reorder_method);
    any_spmv_plan other(plain.ctx, a, options);
    const comparison times = compare(*this, other);
    const double cost = microseconds_since(begin);
    if (times.second_is_faster) {
      other.impl_->plan_microseconds += plain.plan_microseconds;
      other.impl_->order_reason += fmt::format(
          ": {}, {} in A's order, which pays after {}", detail::as_time{times.second}, detail::as_time{times.first},
          detail::as_counted{std::llround(std::ceil(cost / (times.first - times.second))), "application"});
      impl_ = std::move(other.impl_);
    } else {
      plain.order_reason +=
          fmt::format(": {}, {} in {}", detail::as_time{times.first}, detail::as_time{times.second}, order);
    }
  } catch (const error& e) {
    if (!is_out_of_memory(e) && e.code() != status::unsupported) throw;
    plain.order_reason += fmt::format("; another order: {}", e.what());
  }
  impl_->plan_microseconds += microseconds_since(begin);
}

}  // namespace tulle

/// @file
/// Orders of rows, columns and unknowns.
#pragma once

#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/ops/vector.hpp>
#include <vector>

namespace tulle {

/// A new order of n things: order()[i] = j says that what was at j comes to i, as in SciPy's A[p] and MATLAB's A(p, :).
/// Every number from 0 to n - 1 is there once. Immutable, in the memory of its context.
class permutation {
 public:
  /// Of nothing.
  explicit permutation(const context& ctx) : ctx_(ctx) {}
  /// Copies the order, wherever it is. Throws INVALID_ARGUMENT that names the first number which is out of range or was
  /// there before, INVALID_DIMENSIONS for more than index_t counts.
  permutation(const context& ctx, const permutation_ref& order);
  /// 0, 1, ..., n - 1. Throws INVALID_ARGUMENT below 0.
  static permutation identity(const context& ctx, index_t n);

  /// Whose memory it is in.
  [[nodiscard]] const context& ctx() const noexcept { return ctx_; }
  /// How many things it orders.
  [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(order_.size()); }
  /// In the context's memory.
  [[nodiscard]] const buffer<index_t>& order() const noexcept { return order_; }
  /// What is at j goes to inverse_order()[j].
  [[nodiscard]] const buffer<index_t>& inverse_order() const noexcept { return inverse_; }
  /// The order, copied to the host; waits.
  [[nodiscard]] std::vector<index_t> to_vector() const { return tulle::to_vector(ctx_, order_); }

  /// What is at order()[i] comes back to i.
  [[nodiscard]] permutation inverse() const;
  /// This order, and `next` of what it gives: result.order()[i] = order()[next.order()[i]]. Throws INVALID_DIMENSIONS.
  [[nodiscard]] permutation then(const permutation& next) const;
  /// A copy in the memory of another context.
  [[nodiscard]] permutation on(const context& ctx) const;
  /// Whether everything stays where it is; waits.
  [[nodiscard]] bool is_identity() const;

  /// y[i] = x[order()[i]]: x in the new order. Neither allocates nor waits. Throws as vector_ops::gather.
  void apply(const const_vector_ref& x, const vector_ref& y, std::optional<stream_view> stream = {}) const;
  /// y[order()[i]] = x[i]: back in the old order.
  void apply_inverse(const const_vector_ref& x, const vector_ref& y, std::optional<stream_view> stream = {}) const;
  /// The same for every vector of a column-major X. Throws UNSUPPORTED for row-major ones.
  void apply(const const_multivector_ref& x, const multivector_ref& y, std::optional<stream_view> stream = {}) const;
  /// Back in the old order, for every vector of a column-major X.
  void apply_inverse(const const_multivector_ref& x, const multivector_ref& y,
                     std::optional<stream_view> stream = {}) const;

 private:
  permutation(const context& ctx, buffer<index_t> order, buffer<index_t> inverse)
      : ctx_(ctx), order_(std::move(order)), inverse_(std::move(inverse)) {}

  context ctx_;
  buffer<index_t> order_, inverse_;
};

}  // namespace tulle

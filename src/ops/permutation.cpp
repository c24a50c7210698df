#include <fmt/format.h>

#include <limits>
#include <tulle/ops/permutation.hpp>

#include "kernels/backends.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

std::size_t count(std::int64_t n) {
  if (n < 0 || n > std::numeric_limits<index_t>::max()) {
    throw error(status::invalid_dimensions, fmt::format("order has {} elements: must be 0 to 2147483647", n));
  }
  return static_cast<std::size_t>(n);
}

std::int64_t element(const context& ctx, const permutation_ref& order, std::int64_t i) {
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  const std::size_t size = size_of(order.type);
  copy_bytes(ctx, order.type == offset_type::i64 ? static_cast<void*>(&wide) : &narrow, memory_space::host,
             static_cast<const std::byte*>(order.data) + static_cast<std::size_t>(i) * size, ctx.space(), size);
  return order.type == offset_type::i64 ? wide : narrow;
}

[[noreturn]] void refuse(const context& ctx, const permutation_ref& order, const buffer<index_t>& inverse,
                         std::int64_t at) {
  const std::int64_t value = element(ctx, order, at);
  if (value < 0 || value >= order.size) {
    throw error(status::invalid_argument,
                fmt::format("order[{}] = {}: must be 0 to {}", at, value, order.size - 1));
  }
  index_t before = 0;
  copy_bytes(ctx, &before, memory_space::host, inverse.data() + value, ctx.space(), sizeof before);
  throw error(status::invalid_argument,
              fmt::format("order[{}] = {}, as order[{}] is: every number from 0 to {} must be there once", at, value,
                          before, order.size - 1));
}

void move(const context& ctx, const buffer<index_t>& order, const const_vector_ref& x, const vector_ref& y,
          std::optional<stream_view> stream, bool back) {
  const auto n = static_cast<std::int64_t>(order.size());
  const detail::vector_rules rules{ctx.space(), ctx.device(), y.type};
  rules.check_size("x", x, n);
  rules.check_size("y", y, n);
  detail::require_no_stride("a permutation", {{"x", x}, {"y", y}});
  detail::check_apart("y", y, {{"x", x}});
  const vector_kernels& kernels = vectors_of(ctx.backend());
  const vector_work work{ctx, stream.value_or(ctx.stream()), y.type, n, nullptr};
  (back ? kernels.scatter : kernels.gather)(work, offset_type::i32, order.data(), x.data, y.data);
}

void move(const context& ctx, const buffer<index_t>& order, const const_multivector_ref& x, const multivector_ref& y,
          std::optional<stream_view> stream, bool back) {
  if (x.order != vector_order::column_major || y.order != vector_order::column_major) {
    throw error(status::unsupported, "a permutation takes column-major multivectors");
  }
  if (x.count != y.count) {
    throw error(status::invalid_dimensions, fmt::format("X has {} vectors, Y has {}", x.count, y.count));
  }
  const auto column = [](const auto& v, index_t j) {
    auto* first = v.data;
    using bytes = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(first)>>, const std::byte, std::byte>;
    first = first == nullptr ? first : static_cast<bytes*>(first) + v.ld * j * static_cast<std::int64_t>(size_of(v.type));
    return basic_vector_ref<std::remove_pointer_t<decltype(first)>>(v.type, first, v.rows, v.space, v.device);
  };
  for (index_t j = 0; j < x.count; ++j) move(ctx, order, column(x, j), column(y, j), stream, back);
}

}  // namespace

permutation::permutation(const context& ctx, const permutation_ref& order)
    : ctx_(ctx), order_(ctx, count(order.size)), inverse_(ctx, order_.size()) {
  if (order.size == 0) return;
  if (order.data == nullptr) throw error(status::null_pointer, "order is null");
  buffer<std::byte> copy;
  permutation_ref here = order;
  if (order.space != ctx.space() || (order.device >= 0 && order.device != ctx.device())) {
    copy = buffer<std::byte>(ctx, order_.size() * size_of(order.type));
    copy_bytes(ctx, copy.data(), ctx.space(), order.data, order.space, copy.bytes());
    here = {order.type, copy.data(), order.size, ctx.space(), ctx.device()};
  }
  const std::int64_t defect = reorders_of(ctx.backend()).take_order(ctx, here, order_.data(), inverse_.data());
  if (defect < order.size) refuse(ctx, here, inverse_, defect);
}

permutation permutation::identity(const context& ctx, index_t n) {
  std::vector<index_t> order(count(n));
  for (index_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  return {ctx, order};
}

permutation permutation::inverse() const { return {ctx_, clone(ctx_, inverse_), clone(ctx_, order_)}; }

permutation permutation::then(const permutation& next) const {
  if (next.size() != size()) {
    throw error(status::invalid_dimensions, fmt::format("an order of {} after one of {}", next.size(), size()));
  }
  const permutation here = next.on(ctx_);
  permutation out(ctx_, buffer<index_t>(ctx_, order_.size()), buffer<index_t>(ctx_, order_.size()));
  const vector_kernels& kernels = vectors_of(ctx_.backend());
  const vector_work work{ctx_, ctx_.stream(), scalar_type::i32, size(), nullptr};
  kernels.gather(work, offset_type::i32, here.order_.data(), order_.data(), out.order_.data());
  kernels.gather(work, offset_type::i32, inverse_.data(), here.inverse_.data(), out.inverse_.data());
  return out;
}

permutation permutation::on(const context& ctx) const { return {ctx, clone(ctx, order_), clone(ctx, inverse_)}; }

bool permutation::is_identity() const {
  const std::vector<index_t> order = to_vector();
  for (index_t i = 0; i < size(); ++i) {
    if (order[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

void permutation::apply(const const_vector_ref& x, const vector_ref& y, std::optional<stream_view> stream) const {
  move(ctx_, order_, x, y, stream, false);
}
void permutation::apply_inverse(const const_vector_ref& x, const vector_ref& y,
                                std::optional<stream_view> stream) const {
  move(ctx_, order_, x, y, stream, true);
}
void permutation::apply(const const_multivector_ref& x, const multivector_ref& y,
                        std::optional<stream_view> stream) const {
  move(ctx_, order_, x, y, stream, false);
}
void permutation::apply_inverse(const const_multivector_ref& x, const multivector_ref& y,
                                std::optional<stream_view> stream) const {
  move(ctx_, order_, x, y, stream, true);
}

}  // namespace tulle

// Right-hand sides and solutions in the order that a solver keeps its unknowns in: gathered once before a solve, put
// back once after it.
#pragma once

#include <bit>
#include <cstddef>
#include <tulle/core/buffer.hpp>
#include <tulle/ops/permutation.hpp>

#include "kernels/backends.hpp"
#include "kernels/cg.hpp"

namespace tulle::detail {

class reordered_systems {
 public:
  /// For so many right-hand sides of a type.
  reordered_systems(const context& ctx, permutation order, scalar_type type, index_t most)
      : ctx_(ctx),
        order_(std::move(order)),
        type_(type),
        b_(ctx, order_.order().size() * static_cast<std::size_t>(most) * size_of(type)),
        x_(ctx, b_.size()),
        rows_(ctx, static_cast<std::size_t>(order_.size()) + 1) {
    fill_bytes(ctx, rows_.data(), ctx.space(), 0xff, sizeof(index_t));
    copy_bytes(ctx, rows_.data() + 1, ctx.space(), order_.order().data(), ctx.space(), order_.order().bytes());
  }

  /// The same systems in the solver's order. x is left where it need not be set. Neither allocates nor waits.
  [[nodiscard]] cg_systems gather(const cg_systems& given, bool zero_guess, stream_view stream) {
    cg_systems own = given;
    own.b = b_.data();
    own.x = x_.data();
    own.ld_b = own.ld_x = order_.size();
    move(order_.order(), vectors(given.b, given.ld_b, given.count), vectors(own.b, own.ld_b, own.count), stream);
    if (zero_guess) return own;
    move(order_.order(), vectors(given.x, given.ld_x, given.count), vectors(own.x, own.ld_x, own.count), stream);
    return own;
  }
  void put_back(const cg_systems& given, stream_view stream) const {
    move(order_.inverse_order(), vectors(x_.data(), order_.size(), given.count),
         vectors(given.x, given.ld_x, given.count), stream);
    for (index_t j = 0; j < given.count; ++j) name_row(given.record[j], stream);
  }
  [[nodiscard]] const permutation& order() const noexcept { return order_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return b_.bytes() + x_.bytes() + 2 * order_.order().bytes() + rows_.bytes();
  }

 private:
  static strided_vectors vectors(const void* data, std::int64_t ld, index_t count) {
    return {const_cast<void*>(data), count, 1, ld};
  }
  void move(const buffer<index_t>& from, const strided_vectors& x, const strided_vectors& y, stream_view stream) const {
    reorders_of(ctx_.backend()).gather({ctx_, stream, type_, order_.size(), from.data()}, x, 0, y);
  }

  /// A row that a solve found wrong, by its number in A. -1 stays, and so do the upper bits, 0 or those of -1.
  void name_row(cg_record& record, stream_view stream) const {
    static_assert(std::endian::native == std::endian::little);
    auto* const row = reinterpret_cast<index_t*>(&record.row);
    reorders_of(ctx_.backend())
        .gather({ctx_, stream, scalar_type::i32, 1, row}, {const_cast<index_t*>(rows_.data()) + 1, 1, 1, 1}, 0,
                {row, 1, 1, 1});
  }

  context ctx_;
  permutation order_;
  scalar_type type_;
  buffer<std::byte> b_;
  buffer<std::byte> x_;
  buffer<index_t> rows_;  // A's number of each of the solver's rows; -1 before the first
};

}  // namespace tulle::detail

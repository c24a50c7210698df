#include "ops/spgemm_join.hpp"

#include <fmt/format.h>

#include <limits>
#include <tulle/core/status.hpp>

#include "core/backends.hpp"

namespace tulle::detail {
namespace {

any_buffer bytes_for(const context& ctx, std::int64_t count, std::size_t size) {
  return any_buffer(buffer<std::byte>(ctx, static_cast<std::size_t>(count) * size));
}

/// A matrix without columns.
csr_ref without_columns(const context& ctx, index_t rows, type_key types, any_buffer& offsets) {
  offsets = bytes_for(ctx, std::int64_t{rows} + 1, size_of(types.offset));
  fill_bytes(ctx, offsets.data(), ctx.space(), 0, offsets.bytes());
  csr_ref a;
  a.types = types;
  a.rows = rows;
  a.rowptr = offsets.data();
  a.space = ctx.space();
  return a;
}

beside_identity identity(const context& ctx, index_t n, type_key types) {
  any_buffer zeros;
  beside_identity one(ctx, without_columns(ctx, n, types, zeros));
  one.set_values(nullptr, 1);
  return one;
}

}  // namespace

index_t joined_dimension(index_t a, index_t b) {
  const std::int64_t sum = std::int64_t{a} + b;
  if (sum > std::numeric_limits<index_t>::max()) {
    throw error(status::overflow,
                fmt::format("+ beta D joins dimensions {} and {}, whose sum does not fit 31 bits", a, b));
  }
  return static_cast<index_t>(sum);
}

offset_type fitting_offsets(std::int64_t nnz) {
  return nnz <= std::numeric_limits<std::int32_t>::max() - (1 << 16) ? offset_type::i32 : offset_type::i64;
}

beside_identity::beside_identity(const context& ctx, const csr_ref& a) : ctx_(ctx), a_(a), ref_(a) {
  ref_.cols = joined_dimension(a.cols, a.rows);
  ref_.nnz = a.nnz + a.rows;
  offsets_ = bytes_for(ctx, std::int64_t{a.rows} + 1, size_of(a.types.offset));
  columns_ = bytes_for(ctx, ref_.nnz, sizeof(index_t));
  values_ = bytes_for(ctx, ref_.nnz, size_of(a.types.value));
  auto* colind = static_cast<index_t*>(columns_.data());
  operand_kernels_of(ctx.backend()).append_identity(ctx, a, offsets_.data(), colind);
  ref_.rowptr = offsets_.data();
  ref_.colind = colind;
  ref_.values = values_.data();
}

void beside_identity::set_values(const void* a_values, double alpha) {
  a_.values = a_values;
  operand_kernels_of(ctx_.backend()).fill_beside_identity(ctx_, a_, alpha, values_.data());
}

std::size_t beside_identity::bytes() const noexcept { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }

above::above(const context& ctx, index_t rows, std::int64_t nnz, const csr_ref& d)
    : ctx_(ctx), d_(d), nnz_above_(nnz), rows_above_(rows), ref_(d) {
  ref_.rows = joined_dimension(rows, d.rows);
  ref_.nnz = nnz + d.nnz;
  offsets_ = bytes_for(ctx, std::int64_t{ref_.rows} + 1, size_of(d.types.offset));
  columns_ = bytes_for(ctx, ref_.nnz, sizeof(index_t));
  values_ = bytes_for(ctx, ref_.nnz, size_of(d.types.value));
  ref_.rowptr = offsets_.data();
  ref_.colind = colind();
  ref_.values = values_.data();
}

void above::copy_pattern(const csr_ref& x) {
  const auto space = ctx_.space();
  copy_bytes(ctx_, rowptr(), space, x.rowptr, space, (static_cast<std::size_t>(x.rows) + 1) * size_of(x.types.offset));
  copy_bytes(ctx_, colind(), space, x.colind, space, static_cast<std::size_t>(x.nnz) * sizeof(index_t));
}

void above::copy_values(const void* x_values) {
  operand_kernels_of(ctx_.backend())
      .gather(ctx_, {.type = ref_.types.value, .count = nnz_above_, .from = x_values, .to = values_.data()});
}

void above::place_d() {
  auto* offsets =
      static_cast<char*>(offsets_.data()) + static_cast<std::size_t>(rows_above_) * size_of(d_.types.offset);
  operand_kernels_of(ctx_.backend()).append_offsets(ctx_, d_, nnz_above_, offsets);
  copy_bytes(ctx_, colind() + nnz_above_, ctx_.space(), d_.colind, ctx_.space(),
             static_cast<std::size_t>(d_.nnz) * sizeof(index_t));
}

void above::set_d(const void* d_values, double beta) {
  auto* to = static_cast<char*>(values_.data()) + static_cast<std::size_t>(nnz_above_) * size_of(d_.types.value);
  operand_kernels_of(ctx_.backend())
      .gather(ctx_, {.type = d_.types.value, .count = d_.nnz, .from = d_values, .scale = beta, .to = to});
}

std::size_t above::bytes() const noexcept { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }

two_identities::two_identities(const context& ctx, index_t n, type_key types)
    : one_(identity(ctx, n, types)), both_(ctx, one_.ref()) {
  both_.set_values(one_.ref().values, 1);
}

}  // namespace tulle::detail

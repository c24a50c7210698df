#include "ops/spgemm_operand.hpp"

#include <limits>
#include <utility>

#include "core/backends.hpp"
#include "ops/csr_bytes.hpp"

namespace tulle::detail {

spgemm_operand::spgemm_operand(const context& ctx, std::string name, const csr_ref& a, reads what)
    : ctx_(ctx), name_(std::move(name)), has_values_(what == reads::values), given_(a) {
  if (a.rows < 0 || a.cols < 0 || a.nnz < 0)
    throw error(status::invalid_dimensions, name_ + " has a negative dimension or nnz");
  if (a.rowptr == nullptr || (a.nnz > 0 && (a.colind == nullptr || (has_values_ && a.values == nullptr)))) {
    throw error(status::null_pointer, name_ + " has a null array");
  }
  if (a.space == memory_space::device && ctx.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument,
                name_ + " is in device memory and the context is a CPU one: clone it to the host first");
  }
  source_ = a;
  if (a.space != ctx.space()) {
    copied_offsets_ = copy_to(ctx, a.rowptr, a.space, offset_bytes(a));
    copied_columns_ = copy_to(ctx, a.colind, a.space, column_bytes(a));
    if (has_values_) copied_values_ = copy_to(ctx, a.values, a.space, value_bytes(a));
    source_.rowptr = copied_offsets_.data();
    source_.colind = static_cast<const index_t*>(copied_columns_.data());
    source_.values = copied_values_.data();
    source_.space = ctx.space();
  }
  ref_ = source_;
}

void spgemm_operand::require(const pattern_counts& found) const {
  if (found.sound()) return;
  dispatch<type_set::all>(source_.types, [&]<class T, class O>() {
    const validation v = formats_of<T, O>(ctx_.backend()).validate(ctx_, source_.as<T, O>(), {});
    throw error(status::invalid_structure, name_ + ": " + v.message());
  });
}

void spgemm_operand::turn() {
  position_type_ = ref_.nnz <= std::numeric_limits<std::int32_t>::max() ? scalar_type::i32 : scalar_type::f64;
  if (positions_.empty()) {
    buffer<std::byte> numbers(ctx_, static_cast<std::size_t>(ref_.nnz) * size_of(position_type_));
    operand_kernels_of(ctx_.backend()).number(ctx_, position_type_, ref_.nnz, numbers.data());
    positions_ = any_buffer(std::move(numbers));
  }
  csr_ref numbered = ref_;
  numbered.types.value = position_type_;  // positions travel as values
  numbered.values = positions_.data();
  dispatch<type_set::all>(numbered.types, [&]<class T, class O>() {
    auto turned = formats_of<T, O>(ctx_.backend()).csr_to_csc(ctx_, numbered.as<T, O>());
    offsets_ = any_buffer(std::move(turned.colptr));
    columns_ = any_buffer(std::move(turned.rowind));
    positions_ = any_buffer(std::move(turned.values));
  });
  std::swap(ref_.rows, ref_.cols);
  ref_.rowptr = offsets_.data();
  ref_.colind = static_cast<const index_t*>(columns_.data());
}

void spgemm_operand::transpose() {
  turn();
  if (!has_values_) return;
  values_ = any_buffer(buffer<std::byte>(ctx_, value_bytes(ref_)));
  ref_.values = values_.data();
}

void spgemm_operand::sort() {
  turn();
  turn();
  fold();
}

void spgemm_operand::fold() {
  folded_pattern folded = operand_kernels_of(ctx_.backend()).fold(ctx_, ref_);
  offsets_ = any_buffer(std::move(folded.rowptr));
  columns_ = any_buffer(std::move(folded.colind));
  segments_ = any_buffer(std::move(folded.segments));
  ref_.nnz = static_cast<std::int64_t>(columns_.bytes() / sizeof(index_t));
  ref_.rowptr = offsets_.data();
  ref_.colind = static_cast<const index_t*>(columns_.data());
  if (!has_values_) {
    positions_ = {};
    segments_ = {};
    return;
  }
  values_ = any_buffer(buffer<std::byte>(ctx_, value_bytes(ref_)));
  ref_.values = values_.data();
}

void spgemm_operand::fit_offsets(offset_type type) {
  if (ref_.types.offset == type) return;
  const auto count = static_cast<std::size_t>(ref_.rows) + 1;
  dispatch<type_set::all>(ref_.types, [&]<class T, class O>() {
    const auto& backend = formats_of<T, O>(ctx_.backend());
    const O* rowptr = static_cast<const O*>(ref_.rowptr);
    offsets_ = type == offset_type::i32 ? any_buffer(backend.narrow_offsets(ctx_, rowptr, count))
                                        : any_buffer(backend.widen_offsets(ctx_, rowptr, count));
  });
  ref_.rowptr = offsets_.data();
  ref_.types.offset = type;
}

void spgemm_operand::borrow_offsets(const csr_ref& same) noexcept {
  ref_.rowptr = same.rowptr;
  ref_.types.offset = same.types.offset;
}

void spgemm_operand::set_values(const void* values) noexcept {
  source_.values = values;
  if (positions_.empty()) ref_.values = values;
}

void spgemm_operand::refresh() {
  if (!has_values_ || positions_.empty()) return;
  operand_kernels_of(ctx_.backend())
      .gather(ctx_, {.type = ref_.types.value,
                     .count = ref_.nnz,
                     .segments = static_cast<const std::int64_t*>(segments_.data()),
                     .positions = positions_.data(),
                     .position_type = position_type_,
                     .from = source_.values,
                     .to = values_.data()});
}

std::size_t spgemm_operand::bytes() const noexcept {
  std::size_t sum = 0;
  for (const any_buffer* b :
       {&copied_offsets_, &copied_columns_, &copied_values_, &offsets_, &columns_, &values_, &positions_, &segments_}) {
    sum += b->bytes();
  }
  return sum;
}

}  // namespace tulle::detail

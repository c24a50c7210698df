#include "ops/spmv_operand.hpp"

#include <limits>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/validate.hpp>
#include <utility>

#include "core/backends.hpp"
#include "ops/csr_bytes.hpp"

namespace tulle::detail {
namespace {

/// Calls f(view, kernels) with the types of `a`.
template <class F>
decltype(auto) with_formats(const context& ctx, const csr_ref& a, F&& f) {
  return dispatch<type_set::all>(
      a.types, [&]<class T, class O>() -> decltype(auto) { return f(a.as<T, O>(), formats_of<T, O>(ctx.backend())); });
}

}  // namespace

spmv_operand::spmv_operand(const context& ctx, const csr_ref& a) : ctx_(ctx), source_(a), a_(a) {
  if (a.rows < 0 || a.cols < 0 || a.nnz < 0)
    throw error(status::invalid_dimensions, "A has a negative dimension or nnz");
  if (a.rowptr == nullptr || (a.nnz > 0 && (a.colind == nullptr || a.values == nullptr))) {
    throw error(status::null_pointer, "A has a null array");
  }
  if (a.space == memory_space::device && ctx.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument,
                "A is in device memory and the context is a CPU one: clone A to the host first");
  }
  if (a.space == ctx.space()) return;
  offsets_ = copy_to(ctx, a.rowptr, a.space, offset_bytes(a));
  columns_ = copy_to(ctx, a.colind, a.space, column_bytes(a));
  values_ = copy_to(ctx, a.values, a.space, value_bytes(a));
  a_.rowptr = offsets_.data();
  a_.colind = static_cast<const index_t*>(columns_.data());
  a_.values = values_.data();
  a_.space = ctx.space();
}

void spmv_operand::validate() const {
  with_formats(ctx_, a_, [&](auto view, const auto& backend) {
    const validation found = backend.validate(ctx_, view, {});
    if (!found.ok()) throw error(status::invalid_structure, "A: " + found.message());
  });
}

csr_stats spmv_operand::inspect() const {
  return with_formats(ctx_, a_, [&](auto view, const auto& backend) {
    const inspection seen = backend.inspect(ctx_, view);
    if (!seen.found.ok()) throw error(status::invalid_structure, "A: " + seen.found.message());
    return seen.stats;
  });
}

csr_stats spmv_operand::statistics() const {
  return with_formats(ctx_, a_, [&](auto view, const auto& backend) { return backend.statistics(ctx_, view); });
}

void spmv_operand::transpose() {
  with_formats(ctx_, a_, [&](auto view, const auto& backend) {
    auto turned = backend.csr_to_csc(ctx_, view);
    offsets_ = any_buffer(std::move(turned.colptr));
    columns_ = any_buffer(std::move(turned.rowind));
    values_ = any_buffer(std::move(turned.values));
  });
  std::swap(a_.rows, a_.cols);
  a_.rowptr = offsets_.data();
  a_.colind = static_cast<const index_t*>(columns_.data());
  a_.values = values_.data();
  transposed_ = true;
}

void spmv_operand::fit_offsets(bool narrow) {
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() - (1 << 16);
  const auto fitting = a_.nnz <= limit ? offset_type::i32 : offset_type::i64;
  if (a_.types.offset == fitting || (fitting == offset_type::i32 && !narrow)) return;
  const auto count = static_cast<std::size_t>(a_.rows) + 1;
  with_formats(ctx_, a_, [&](auto view, const auto& backend) {
    offsets_ = fitting == offset_type::i32 ? any_buffer(backend.narrow_offsets(ctx_, view.rowptr, count))
                                           : any_buffer(backend.widen_offsets(ctx_, view.rowptr, count));
  });
  a_.rowptr = offsets_.data();
  a_.types.offset = fitting;
}

void spmv_operand::update_values(const void* values, memory_space space) {
  if (transposed_) return transpose_values(values, space);
  if (space == ctx_.space() && values_.empty()) {
    a_.values = values;
  } else if (values_.empty()) {
    values_ = copy_to(ctx_, values, space, value_bytes(a_));
    a_.values = values_.data();
  } else {
    copy_bytes(ctx_, values_.data(), ctx_.space(), values, space, values_.bytes());
  }
}

void spmv_operand::transpose_values(const void* values, memory_space space) {
  spmv_operand pattern(ctx_, source_);
  pattern.update_values(values, space);
  pattern.transpose();
  copy_bytes(ctx_, values_.data(), ctx_.space(), pattern.a_.values, ctx_.space(), values_.bytes());
}

}  // namespace tulle::detail

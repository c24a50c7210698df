#include "ops/operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tulle/formats/validate.hpp>
#include <tulle/ops/matrix.hpp>
#include <utility>

#include "formats/matrix_arrays.hpp"
#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "ops/vector_checks.hpp"

namespace tulle::detail {
namespace {

/// Calls f(view, kernels) with the types of a CSR.
template <class F>
decltype(auto) with_formats(const context& ctx, const matrix_ref& a, F&& f) {
  return dispatch<type_set::all>(
      pattern_types(a.types), [&]<class T, class O>() -> decltype(auto) { return f(a.as<T, O>(), formats_of<T, O>(ctx.backend())); });
}

bool in_blocks(matrix_format f) { return f == matrix_format::bsr || f == matrix_format::bin_bsr; }

/// What `validate` can look at: of a BSR the pattern of its blocks.
matrix_ref pattern_to_validate(const matrix_ref& a) {
  if (a.format != matrix_format::bsr) return a;
  matrix_ref blocks = a;
  blocks.format = matrix_format::csr;
  blocks.rows = static_cast<index_t>((std::int64_t{a.rows} + a.block - 1) / a.block);
  blocks.cols = static_cast<index_t>((std::int64_t{a.cols} + a.block - 1) / a.block);
  blocks.nnz = a.stored;
  return blocks;
}

/// Row indices are columns of the transpose, and so may be looked at as those of one row.
void check_row_indices(const context& ctx, const std::string& name, const matrix_ref& a) {
  const std::int64_t ends[] = {0, a.nnz};
  const buffer<std::int64_t> rowptr = to_buffer(ctx, ends);
  dispatch<type_set::all>(pattern_types(a.types), [&]<class T, class>() {
    const csr_view<T, std::int64_t> row{
        1, a.rows, a.nnz, rowptr.data(), a.rowind, static_cast<const T*>(a.values), ctx.space()};
    const validation found = tulle::validate(ctx, row);
    if (!found.ok()) {
      throw error(status::invalid_structure, fmt::format("{}: entry {}: row index out of range", name, found.entry));
    }
  });
}

/// Of the arrays, but for those that only some formats have.
std::size_t bytes_of(const matrix_ref& a, std::int64_t values) noexcept {
  return csr_bytes(a.format == matrix_format::csc ? a.cols : a.rows, values, a.types);
}

}  // namespace

operand::operand(const context& ctx, std::string name, const matrix_ref& a, reads what)
    : ctx_(ctx), name_(std::move(name)), has_values_(what == reads::values), given_(a), lent_(a) {
  check_matrix(ctx, name_, a, has_values_);
  value_count_ = arrays_of(ctx, a).values;
  placed_ = placed(ctx, a);
  if (a.space != ctx.space()) own_values_ = const_cast<void*>(placed_.values);
  if (a.format == matrix_format::coo) check_row_indices(ctx, name_, placed_);
  source_ = as_source(placed_);
  ref_ = source_;
}

/// A CSR of whatever was given; a CSC is one under another name, a BSR may be what the kernel wants.
matrix_ref operand::as_source(const matrix_ref& a) const {
  if (a.format == matrix_format::csc) return transposed(a);
  if (a.format == matrix_format::csr || in_blocks(a.format)) return a;
  return tulle::to_csr(ctx_, a);
}

void operand::to_csr() {
  if (!in_blocks(source_.format)) return;
  ref_ = source_ = tulle::to_csr(ctx_, source_);
  converts_blocks_ = true;
}

void operand::validate() const {
  if (source_.format == matrix_format::bin_bsr) return validate_bins();
  const matrix_ref pattern = pattern_to_validate(source_);
  with_formats(ctx_, pattern, [&](auto view, const auto& backend) {
    const validation found = backend.validate(ctx_, view, {});
    if (!found.ok()) throw error(status::invalid_structure, name_ + ": " + found.message());
  });
}

void operand::validate_bins() const {
  dispatch<type_set::all>(pattern_types(source_.types), [&]<class T, class>() {
    const validation found = tulle::validate(ctx_, source_.as_bin_bsr<T>());
    if (found.ok()) return;
    const char* const what = found.what == data_status::invalid_offsets
                                 ? "row offsets do not ascend by 1 in their bin, or a bin does not end with whole slots"
                                 : "a column is out of range, after padding, or not that of the block row";
    throw error(status::invalid_structure, fmt::format("{}: row {}: {}", name_, found.row, what));
  });
}

void operand::require(const pattern_counts& found) const {
  if (!found.sound()) validate();
}

csr_stats operand::inspect() const {
  return with_formats(ctx_, ref_, [&](auto view, const auto& backend) {
    const inspection seen = backend.inspect(ctx_, view);
    if (!seen.found.ok()) throw error(status::invalid_structure, name_ + ": " + seen.found.message());
    return seen.stats;
  });
}

csr_stats operand::statistics() const {
  return with_formats(ctx_, ref_, [&](auto view, const auto& backend) { return backend.statistics(ctx_, view); });
}

/// Another pattern of entries that are in the source.
void operand::take(offsets_buffer rowptr, buffer<index_t> colind) {
  offsets_ = std::move(rowptr);
  columns_ = std::move(colind);
  ref_.nnz = ref_.stored = static_cast<std::int64_t>(columns_.size());
  ref_.rowptr = data_of(offsets_);
  ref_.colind = columns_.data();
}

void operand::make_room_for_values() {
  if (!has_values_) return;
  values_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(ref_.nnz) * size_of(ref_.types.value));
  ref_.values = values_.data();
}

std::vector<index_t> operand::columns() const {
  std::vector<index_t> all(static_cast<std::size_t>(ref_.nnz));
  copy_bytes(ctx_, all.data(), memory_space::host, ref_.colind, ctx_.space(), all.size() * sizeof(index_t));
  return all;
}

void operand::renumber_columns(std::span<const index_t> kept) {
  std::vector<index_t> all = columns();
  for (index_t& column : all) {
    const auto at = std::ranges::lower_bound(kept, column);
    column = static_cast<index_t>((at != kept.end() && *at == column ? at : kept.end()) - kept.begin());
  }
  columns_ = to_buffer(ctx_, all);
  ref_.colind = columns_.data();
  ref_.cols = static_cast<index_t>(kept.size()) + 1;
}

/// The transpose of the pattern, positions carried along.
void operand::transpose_pattern() {
  with_formats(ctx_, ref_, [&](auto view, const auto& backend) {
    auto made = backend.transpose_pattern(ctx_, view, positions_.data());
    positions_ = std::move(made.positions);
    std::swap(ref_.rows, ref_.cols);
    take(std::move(made.rowptr), std::move(made.colind));
  });
}

void operand::transpose() {
  transpose_pattern();
  make_room_for_values();
}

void operand::permute(const permutation& rows, const permutation& columns) {
  const matrix_order order{rows.order().data(), columns.inverse_order().data(), true};
  entry_map map = reorders_of(ctx_.backend()).permute(ctx_, ref_, order);
  if (!positions_.empty()) {
    buffer<std::int64_t> composed(ctx_, positions_.size());
    const vector_work work{ctx_, ctx_.stream(), scalar_type::f64, static_cast<std::int64_t>(composed.size()), nullptr};
    vectors_of(ctx_.backend()).gather(work, offset_type::i64, map.positions.data(), positions_.data(), composed.data());
    map.positions = std::move(composed);
  }
  positions_ = std::move(map.positions);
  take(std::move(map.rowptr), std::move(map.colind));
  make_room_for_values();
}

void operand::sort() {
  transpose_pattern();
  transpose_pattern();
  fold();
}

void operand::fold() {
  entry_selection all{0, ref_.rows, 0, ref_.cols};
  all.distinct = true;
  entry_map map = matrices_of(ctx_.backend()).select(ctx_, ref_, all);
  segments_ = std::move(map.positions);
  take(std::move(map.rowptr), std::move(map.colind));
  make_room_for_values();
}

void operand::fit_offsets(offset_type type) {
  if (ref_.types.offset == type) return;
  offsets_ = other_offsets(ctx_, ref_);
  ref_.rowptr = data_of(offsets_);
  ref_.types.offset = type;
}

void operand::borrow_offsets(const matrix_ref& same) noexcept {
  ref_.rowptr = same.rowptr;
  ref_.types.offset = same.types.offset;
}

void operand::check_values(const const_vector_ref& values) const {
  if (values.size > 0 && values.space == memory_space::device && ctx_.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, fmt::format("values is in device memory, {} is used on cpu", name_));
  }
  vector_rules{values.space, ctx_.device(), given_.types.value}.check_size("values", values, value_count_);
  require_no_stride("update_values", {{"values", values}});
}

void operand::lend(const void* values, memory_space space) {
  lent_.values = values;
  lent_.space = space;
  if (space != ctx_.space()) {
    const std::size_t size = size_of(given_.types.value);
    if (own_values_ == nullptr) {
      new_values_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(value_count_) * size);
      own_values_ = new_values_.data();
    }
    copy_bytes(ctx_, own_values_, ctx_.space(), values, space, static_cast<std::size_t>(value_count_) * size);
    values = own_values_;
  }
  placed_.values = values;
}

void operand::update_values(const void* values, memory_space space) {
  lend(values, space);
  const bool in_order = in_blocks(source_.format) || is_transpose() || given_.format == matrix_format::csr;
  if (in_order && !converts_blocks_) {
    source_.values = placed_.values;
  } else {
    source_ = converts_blocks_ ? tulle::to_csr(ctx_, placed_) : as_source(placed_);
  }
  if (values_.empty()) ref_.values = source_.values;
}

void operand::refresh() {
  if (!has_values_ || values_.empty()) return;
  matrices_of(ctx_.backend())
      .gather(ctx_, {.type = ref_.types.value,
                     .count = ref_.nnz,
                     .segments = segments_.data(),
                     .positions = positions_.data(),
                     .from = source_.values,
                     .to = values_.data()});
}

std::size_t operand::bytes() const noexcept {
  std::size_t sum = 0;
  if (placed_.owner != given_.owner) sum += bytes_of(placed_, value_count_);
  if (source_.owner != placed_.owner) sum += bytes_of(source_, source_.nnz);
  sum += std::visit([](const auto& offsets) { return offsets.bytes(); }, offsets_);
  return sum + new_values_.bytes() + columns_.bytes() + values_.bytes() + positions_.bytes() + segments_.bytes();
}

}  // namespace tulle::detail

#include "ops/spgemm_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "kernels/backends.hpp"

namespace tulle::detail {
namespace {

bool same_pattern(const matrix_ref& a, const matrix_ref& b) {
  return a.format == matrix_format::csr && b.format == a.format && a.rowptr == b.rowptr && a.colind == b.colind &&
         a.rows == b.rows && a.cols == b.cols && a.nnz == b.nnz && a.types == b.types && a.space == b.space;
}

void check_same_shape(const char* name, const matrix_ref& a, shape c) {
  if (a.rows == c.rows && a.cols == c.cols) return;
  throw error(status::invalid_dimensions,
              fmt::format("{} is {} x {}, A B is {} x {}", name, a.rows, a.cols, c.rows, c.cols));
}

void check_type(const char* name, const matrix_ref& m, const spgemm_inputs& in) {
  if (m.types.value == in.a.types.value) return;
  throw error(status::invalid_argument, fmt::format("{} holds {} values, {} holds {}", name, tulle::name(m.types.value),
                                                    in.name_a, tulle::name(in.a.types.value)));
}

shape checked_shape(const spgemm_inputs& in, const spgemm_options& options) {
  if (options.tile_size < 0) {
    throw error(status::invalid_argument, fmt::format("tile_size = {}: must be positive, or 0", options.tile_size));
  }
  const matrix_ref &a = in.a, &b = in.b;
  const auto [rows, inner] = options.transpose_a ? shape{a.cols, a.rows} : shape{a.rows, a.cols};
  const auto [b_rows, cols] = options.transpose_b ? shape{b.cols, b.rows} : shape{b.rows, b.cols};
  if (inner != b_rows) {
    throw error(status::invalid_dimensions,
                fmt::format("{}{} is {} x {} and {}{} is {} x {}: the inner dimensions differ", in.name_a,
                            options.transpose_a ? "^T" : "", rows, inner, in.name_b, options.transpose_b ? "^T" : "",
                            b_rows, cols));
  }
  const shape c{rows, cols};
  check_type(in.name_b, b, in);
  if (in.mask) check_type("the mask", *in.mask, in);
  if (in.d) check_type("D", *in.d, in);
  if (in.mask) check_same_shape("the mask", *in.mask, c);
  if (in.d) check_same_shape("D", *in.d, c);
  return c;
}

/// The operand as a CSR, on the backend where another one that has the same arrays was copied there already.
operand make_operand(const context& ctx, const char* name, const matrix_ref& given,
                     std::initializer_list<const operand*> others = {}, operand::reads what = operand::reads::values) {
  const bool pattern = what == operand::reads::pattern;
  for (const operand* other : others) {
    if (same_pattern(given, other->given()) && (pattern || given.values == other->given().values)) {
      return operand(ctx, name, other->source(), what);
    }
  }
  operand made(ctx, name, given, what);
  if (made.source().format == matrix_format::bsr || made.source().format == matrix_format::bin_bsr) {
    made.validate();
    made.to_csr();
  }
  return made;
}

}  // namespace

spgemm_factors::spgemm_factors(const context& ctx, const spgemm_inputs& in, const spgemm_options& options)
    : ctx_(ctx),
      shape_(checked_shape(in, options)),
      tile_size_(options.tile_size),
      a_(make_operand(ctx, in.name_a, in.a)),
      b_(make_operand(ctx, in.name_b, in.b, {&a_})),
      transpose_a_(options.transpose_a != a_.is_transpose()),
      transpose_b_(options.transpose_b != b_.is_transpose()) {
  if (in.mask) mask_.emplace(make_operand(ctx, "the mask", *in.mask, {&a_, &b_}, operand::reads::pattern));
  if (in.d) d_.emplace(make_operand(ctx, "D", *in.d, {&a_, &b_}));
  look();
}

std::array<operand*, 4> spgemm_factors::operands() {
  return {&a_, &b_, mask_ ? &*mask_ : nullptr, d_ ? &*d_ : nullptr};
}

/// One look for all the operands, each pattern once.
void spgemm_factors::look() {
  const auto all = operands();
  std::vector<matrix_ref> patterns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) continue;
    const matrix_ref& mine = all[i]->source();
    const auto known = std::ranges::find_if(patterns, [&](const matrix_ref& r) { return same_pattern(r, mine); });
    place_[i] = static_cast<std::size_t>(known - patterns.begin());
    if (known == patterns.end()) patterns.push_back(mine);
  }
  counts_ = matrices_of(ctx_.backend()).inspect(ctx_, patterns);
}

std::optional<spgemm_problem> spgemm_factors::expected_problem() const {
  const offset_type offsets = common_offsets();
  const bool as_given = !transpose_a_ && !transpose_b_ && !mask_ && !d_ && a_.ref().types.offset == offsets &&
                        b_.ref().types.offset == offsets;
  return as_given ? std::optional(problem()) : std::nullopt;
}

operand_check spgemm_factors::check() const noexcept {
  return {counts_.data(), static_cast<int>(counts_.size()), static_cast<int>(place_[1])};
}

bool spgemm_factors::wait() {
  found_ = to_vector(ctx_, counts_);
  counts_ = {};
  const auto all = operands();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != nullptr) all[i]->require(found_[place_[i]]);
  }
  return expected_problem().has_value() && found_[place_[1]].increasing();
}

/// Neither A nor B has offsets for the rows of B^T. Where those are many more than the entries, all that B does not
/// have become one, so that B^T takes no more memory than B.
void spgemm_factors::drop_empty_inner() {
  constexpr index_t least = index_t{1} << 24;
  constexpr index_t rows_per_entry = 8;
  const index_t inner = b_.source().cols;
  if (transpose_a_ || !transpose_b_ || inner < least || inner / rows_per_entry < a_.ref().nnz + b_.ref().nnz) return;
  std::vector<index_t> kept = b_.columns();
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  a_.renumber_columns(kept);
  b_.renumber_columns(kept);
}

/// B, the mask and D need strictly increasing rows; all offsets of the product have one width.
void spgemm_factors::finish() {
  const auto all = operands();
  const std::array transposes{transpose_a_, transpose_b_, mask_ && mask_->is_transpose(), d_ && d_->is_transpose()};
  drop_empty_inner();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) continue;
    if (transposes[i]) all[i]->transpose();
    if (i == 0 || found_[place_[i]].increasing()) continue;
    transposes[i] ? all[i]->fold() : all[i]->sort();
  }
  const offset_type offsets = common_offsets();
  const bool one_matrix = !transpose_a_ && !transpose_b_ && same_pattern(a_.ref(), b_.ref());
  a_.fit_offsets(offsets);
  one_matrix ? b_.borrow_offsets(a_.ref()) : b_.fit_offsets(offsets);
  if (mask_) mask_->fit_offsets(offsets);
}

offset_type spgemm_factors::common_offsets() const {
  return offsets_for(std::max({a_.ref().nnz, b_.ref().nnz, mask_ ? mask_->ref().nnz : 0}));
}

spgemm_problem spgemm_factors::problem() const {
  spgemm_problem p;
  p.a = a_.ref();
  p.b = b_.ref();
  if (mask_) p.mask = mask_->ref();
  p.tile_size = tile_size_;
  return p;
}

void spgemm_factors::refresh() {
  a_.refresh();
  b_.refresh();
  if (d_) d_->refresh();
}

std::size_t spgemm_factors::bytes() const noexcept {
  return a_.bytes() + b_.bytes() + (mask_ ? mask_->bytes() : 0) + (d_ ? d_->bytes() : 0);
}

}  // namespace tulle::detail

#include "ops/spgemm_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/backends.hpp"
#include "ops/spgemm_join.hpp"

namespace tulle::detail {
namespace {

bool same_pattern(const csr_ref& a, const csr_ref& b) {
  return a.rowptr == b.rowptr && a.colind == b.colind && a.rows == b.rows && a.cols == b.cols && a.nnz == b.nnz &&
         a.types == b.types && a.space == b.space;
}
bool same_arrays(const csr_ref& a, const csr_ref& b) { return same_pattern(a, b) && a.values == b.values; }

void check_same_shape(const char* name, const csr_ref& a, shape c) {
  if (a.rows == c.rows && a.cols == c.cols) return;
  throw error(status::invalid_dimensions,
              fmt::format("{} is {} x {}, A B is {} x {}", name, a.rows, a.cols, c.rows, c.cols));
}

shape checked_shape(const spgemm_inputs& in, const spgemm_options& options) {
  if (in.a.types.value == scalar_type::i32) throw error(status::unsupported, "C = A B: values are f32 or f64, not i32");
  if (options.tile_size < 0) {
    throw error(status::invalid_argument, fmt::format("tile_size = {}: must be positive, or 0", options.tile_size));
  }
  const csr_ref &a = in.a, &b = in.b;
  const auto [rows, inner] = options.transpose_a ? shape{a.cols, a.rows} : shape{a.rows, a.cols};
  const auto [b_rows, cols] = options.transpose_b ? shape{b.cols, b.rows} : shape{b.rows, b.cols};
  if (inner != b_rows) {
    throw error(status::invalid_dimensions,
                fmt::format("{}{} is {} x {} and {}{} is {} x {}: the inner dimensions differ", in.name_a,
                            options.transpose_a ? "^T" : "", rows, inner, in.name_b, options.transpose_b ? "^T" : "",
                            b_rows, cols));
  }
  const shape c{rows, cols};
  if (in.mask) check_same_shape("the mask", *in.mask, c);
  if (in.d) check_same_shape("D", *in.d, c);
  if (in.d) (void)joined_dimension(in.mask ? rows : inner, rows);
  return c;
}

/// The operand, on the backend where another one that has the same arrays was copied there already.
spgemm_operand operand(const context& ctx, const char* name, const csr_ref& given,
                       std::initializer_list<const spgemm_operand*> others,
                       spgemm_operand::reads what = spgemm_operand::reads::values) {
  const bool pattern = what == spgemm_operand::reads::pattern;
  for (const spgemm_operand* other : others) {
    if (other == nullptr) continue;
    if (pattern ? same_pattern(given, other->given()) : same_arrays(given, other->given())) {
      return spgemm_operand(ctx, name, other->source(), what);
    }
  }
  return spgemm_operand(ctx, name, given, what);
}

}  // namespace

spgemm_factors::spgemm_factors(const context& ctx, const spgemm_inputs& in, const spgemm_options& options)
    : ctx_(ctx),
      shape_(checked_shape(in, options)),
      tile_size_(options.tile_size),
      a_(ctx, in.name_a, in.a),
      b_(operand(ctx, in.name_b, in.b, {&a_})) {
  if (in.mask) mask_.emplace(operand(ctx, "the mask", *in.mask, {&a_, &b_}, spgemm_operand::reads::pattern));
  if (in.d) d_.emplace(operand(ctx, "D", *in.d, {&a_, &b_}));
  check_patterns(options.transpose_a, options.transpose_b);

  const std::int64_t more = d_ && !mask_ ? shape_.rows : 0;  // [A | I] and [B ; D]
  const std::int64_t most =
      std::max({a_.ref().nnz + more, b_.ref().nnz + (more > 0 ? d_->ref().nnz : 0), mask_ ? mask_->ref().nnz : 0});
  const bool one_matrix = !options.transpose_a && !options.transpose_b && same_pattern(a_.ref(), b_.ref());
  a_.fit_offsets(fitting_offsets(most));
  if (one_matrix) {
    b_.borrow_offsets(a_.ref());
  } else {
    b_.fit_offsets(fitting_offsets(most));
  }
  if (mask_) mask_->fit_offsets(fitting_offsets(most));
  if (d_ && !mask_) d_->fit_offsets(fitting_offsets(most));
}

/// One wait for all the operands. B, the mask and D need strictly increasing rows.
void spgemm_factors::check_patterns(bool transpose_a, bool transpose_b) {
  std::array<spgemm_operand*, 4> operands{&a_, &b_, mask_ ? &*mask_ : nullptr, d_ ? &*d_ : nullptr};
  std::vector<csr_ref> looked_at;
  std::array<std::size_t, 4> place{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    const csr_ref& mine = operands[i]->source();
    const auto known = std::ranges::find_if(looked_at, [&](const csr_ref& r) { return same_pattern(r, mine); });
    place[i] = static_cast<std::size_t>(known - looked_at.begin());
    if (known == looked_at.end()) looked_at.push_back(mine);
  }
  const auto found = spgemm_operands_of(ctx_.backend()).inspect(ctx_, looked_at);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != nullptr) operands[i]->require(found[place[i]]);
  }
  if (transpose_a) a_.transpose();
  if (transpose_b) b_.transpose();
  const auto arrange = [&](std::size_t i, bool transposed) {
    if (operands[i] == nullptr || found[place[i]].increasing) return;
    transposed ? operands[i]->fold() : operands[i]->sort();
  };
  arrange(1, transpose_b);
  arrange(2, false);
  arrange(3, false);
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

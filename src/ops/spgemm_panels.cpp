#include "ops/spgemm_panels.hpp"

#include <utility>

#include "core/limited_memory.hpp"
#include "formats/matrix_arrays.hpp"
#include "ops/halving.hpp"

namespace tulle::detail {
namespace {

matrix_ref rows_of(const context& ctx, const matrix_ref& a, row_panel p) {
  matrix_ref rows = a;
  rows.rows = p.rows();
  rows.nnz = offset_at(ctx, a, p.end) - offset_at(ctx, a, p.begin);
  rows.rowptr = static_cast<const char*>(a.rowptr) + static_cast<std::size_t>(p.begin) * size_of(a.types.offset);
  return rows;
}

}  // namespace

spgemm_problem panel_of(const context& ctx, const spgemm_problem& problem, row_panel p) {
  spgemm_problem rows = problem;
  rows.a = rows_of(ctx, problem.a, p);
  if (problem.mask) rows.mask = rows_of(ctx, *problem.mask, p);
  return rows;
}

csr_sink part_of(const csr_sink& c, index_t begin, std::int64_t first) {
  csr_sink rows = c;
  rows.first = first;
  rows.rowptr = static_cast<char*>(c.rowptr) + static_cast<std::size_t>(begin) * size_of(c.offset);
  return rows;
}

panelled_product::panelled_product(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                                   std::size_t limit)
    : ctx_(ctx),
      limited_(limit == 0 ? ctx : ctx.with_memory(std::make_shared<limited_memory>(ctx, limit))),
      limit_(limit),
      kernel_(&kernel),
      problem_(problem),
      panels_{{0, problem.a.rows}} {
  if (limit == 0) operator_ = kernel.make(ctx, problem);
}

std::unique_ptr<spgemm_operator> panelled_product::make(row_panel p) const {
  return kernel_->make(limited_, panel_of(ctx_, problem_, p));
}

/// Under a limit: entries of C by the operator of the whole, which is there then.
std::int64_t panelled_product::count_whole() {
  if (operator_ == nullptr) {
    auto op = kernel_->make(limited_, problem_);
    nnz_ = op->symbolic();
    operator_ = std::move(op);
  }
  return *nnz_;
}

std::int64_t panelled_product::symbolic() {
  if (nnz_) return *nnz_;
  std::int64_t sum = 0;
  if (limit_ == 0) {
    auto op = operator_ ? std::move(operator_) : kernel_->make(ctx_, problem_);  // lost where it fails
    sum = op->symbolic();
    operator_ = std::move(op);
  } else {
    panels_ = halving(ctx_, problem_, limit_).run(panels_, [&](row_panel p, std::size_t&) {
      sum += is_whole(p) ? count_whole() : make(p)->symbolic();
    });
  }
  nnz_ = sum;
  return sum;
}

/// What could be counted under the limit may pass it still when it is filled.
void panelled_product::fill(const spgemm_values& values, const csr_sink& c) {
  symbolic();
  if (limit_ == 0) return operator_->fill(values, c);
  std::int64_t first = c.first;
  panels_ = halving(ctx_, problem_, limit_).run(panels_, [&](row_panel p, std::size_t&) {
    if (is_whole(p)) {
      count_whole();
      auto op = std::move(operator_);  // lost where it fails
      op->fill(values, c);
      operator_ = std::move(op);
      return;
    }
    const auto rows = make(p);
    const std::int64_t nnz = rows->symbolic();
    rows->fill(values, part_of(c, p.begin, first));
    first += nnz;
  });
}

void panelled_product::numeric(const spgemm_values& values, const csr_sink& c) {
  nnz_&& operator_ ? operator_->numeric(values, c) : fill(values, c);
}

void panelled_product::release() noexcept {
  if (limit_ > 0) operator_.reset();
}

std::size_t panelled_product::workspace_bytes() const noexcept {
  return operator_ == nullptr ? 0 : operator_->workspace_bytes();
}

}  // namespace tulle::detail

// block_jacobi(b): the inverses of the diagonal blocks of b x b, factorised in f64, applied as a block diagonal matrix.
#include <algorithm>
#include <tulle/ops/spmv.hpp>

#include "kernels/backends.hpp"
#include "solvers/preconditioner.hpp"

namespace tulle::detail {
namespace {

class block_jacobi final : public preconditioner {
 public:
  block_jacobi(const context& ctx, const cg_problem& problem)
      : ctx_(ctx), n_(problem.csr.rows), b_(problem.options.block), types_(problem.types()) {
    inverse_ = buffer<std::byte>(ctx_, static_cast<std::size_t>(stored()) * size_of(types_.value));
    make_pattern();
    block_jacobi::update(problem);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ctx_; }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return types_.vector; }
  void update(const cg_problem& problem) override {
    invert_diagonal_blocks(ctx_, problem.csr, b_, inverse_.data());
    if (plan_ != nullptr) return plan_->update_values();
    spmv_options options;
    options.vector_type = types_.vector;
    const bool narrow = types_.vector != types_.value;
    if (ctx_.backend() == backend_kind::cpu && !narrow)
      options.kernel = whole() ? "bsr" : "csr.rows";  // see choose_plan_kernel
    plan_ = std::make_unique<any_spmv_plan>(ctx_, matrix(), options);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return inverse_.bytes() + rowptr_.bytes() + colind_.bytes() + plan_->workspace_bytes();
  }

 private:
  [[nodiscard]] bool whole() const { return n_ % b_ == 0; }
  [[nodiscard]] index_t blocks() const { return (n_ + b_ - 1) / b_; }
  /// Rows of a block: fewer in the last one where b does not divide n.
  [[nodiscard]] index_t rows_of(std::int64_t block) const {
    return static_cast<index_t>(std::min<std::int64_t>(b_, n_ - block * b_));
  }
  [[nodiscard]] std::int64_t first_of(std::int64_t block) const { return block * b_ * b_; }
  [[nodiscard]] std::int64_t stored() const {
    return n_ == 0 ? 0 : first_of(blocks() - 1) + std::int64_t{rows_of(blocks() - 1)} * rows_of(blocks() - 1);
  }

  /// Of the block diagonal matrix: BSR, or CSR where the last block is smaller.
  void make_pattern() {
    std::vector<std::int64_t> rowptr{0};
    std::vector<index_t> colind;
    const index_t rows = whole() ? blocks() : n_, size = whole() ? 1 : b_;
    for (index_t r = 0; r < rows; ++r) {
      const index_t first = r / size * size;
      for (index_t c = first; c < std::min(rows, first + size); ++c) colind.push_back(c);
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
    rowptr_ = to_buffer(ctx_, rowptr);
    colind_ = to_buffer(ctx_, colind);
  }

  [[nodiscard]] matrix_ref matrix() const {
    return dispatch<type_set::floating>({types_.value}, [&]<class T, class>() -> matrix_ref {
      const T* values = reinterpret_cast<const T*>(inverse_.data());
      if (!whole()) {
        return csr_view<T, std::int64_t>{n_, n_, stored(), rowptr_.data(), colind_.data(), values, ctx_.space()};
      }
      return bsr_view<T, std::int64_t>{
          n_,     n_,      stored(),    b_, blocks(), std::int64_t{blocks()}, rowptr_.data(), colind_.data(),
          values, nullptr, ctx_.space()};
    });
  }

  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    plan_->apply(alpha, x, beta, y, {.stream = how.stream});
  }

  context ctx_;
  index_t n_, b_;
  operation_types types_;
  buffer<std::byte> inverse_;
  buffer<std::int64_t> rowptr_;
  buffer<index_t> colind_;
  std::unique_ptr<any_spmv_plan> plan_;
};

}  // namespace

std::unique_ptr<preconditioner> make_block_jacobi(const context& ctx, const cg_problem& problem) {
  return std::make_unique<block_jacobi>(ctx, problem);
}

}  // namespace tulle::detail

// C = A B of further types on either backend: the pattern by the kernel for f32, whose values play no part, and the
// values by a backend's own loop over the products, in the order of A's entries (docs/adr/0008-one-order-of-summation.md).
#pragma once

#include <memory>
#include <optional>

#include "formats/matrix_arrays.hpp"
#include "kernels/spgemm.hpp"

namespace tulle::further {

/// Adds up the values of C, whose columns are there. Numeric: made once with room(ctx, problem), which may allocate, then
/// called as numeric(ctx, problem, values, sink), which does not.
template <class Numeric>
class product final : public spgemm_operator {
 public:
  using make_pattern = std::unique_ptr<spgemm_operator>(const context&, const spgemm_problem&);

  product(const context& ctx, const spgemm_problem& p, make_pattern* make)
      : ctx_(ctx), problem_(p), pattern_(make(ctx, as_f32(p))) {}

  std::int64_t symbolic() override { return nnz_ = pattern_->symbolic(); }

  void fill(const spgemm_values& values, const csr_sink& c) override {
    const buffer<float> of_a = zeros(offset_at(ctx_, problem_.a, problem_.a.rows)), of_b = zeros(problem_.b.nnz);
    buffer<float> of_c(ctx_, static_cast<std::size_t>(nnz_));
    csr_sink pattern = c;
    pattern.values = of_c.data() - c.first;
    pattern_->fill({1, of_a.data(), of_b.data()}, pattern);
    if (!numeric_) numeric_.emplace(ctx_, problem_);
    numeric(values, c);
  }

  void numeric(const spgemm_values& values, const csr_sink& c) override { (*numeric_)(ctx_, problem_, values, c); }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return pattern_->workspace_bytes() + (numeric_ ? numeric_->bytes() : 0);
  }

 private:
  static spgemm_problem as_f32(spgemm_problem p) {
    p.a.types.value = p.b.types.value = scalar_type::f32;
    p.a.values = p.b.values = nullptr;
    return p;
  }
  [[nodiscard]] buffer<float> zeros(std::int64_t count) const {
    buffer<float> all(ctx_, static_cast<std::size_t>(count));
    fill_bytes(ctx_, all.data(), ctx_.space(), 0, all.bytes());
    return all;
  }

  context ctx_;
  spgemm_problem problem_;
  std::unique_ptr<spgemm_operator> pattern_;
  std::int64_t nnz_ = 0;
  std::optional<Numeric> numeric_;
};

}  // namespace tulle::further

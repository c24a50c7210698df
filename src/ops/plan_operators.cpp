// What a plan is besides y = A x for a caller's vectors: the product in its own order, and that by the high words of
// values.
#include "ops/spmv_impl.hpp"

namespace tulle {

/// The plan's kernel, or that of its high words, on vectors in the plan's order or in the caller's.
class any_spmv_plan::impl::part_operator final : public linear_operator {
 public:
  part_operator(impl& plan, bool high, bool in_own_order) : plan_(plan), high_(high), in_own_order_(in_own_order) {}

  [[nodiscard]] const context& ctx() const noexcept override { return plan_.ctx; }
  [[nodiscard]] shape dimensions() const noexcept override { return plan_.dimensions; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return *plan_.options.vector_type; }
  [[nodiscard]] std::string_view label() const noexcept override { return plan_.kernel->name; }
  [[nodiscard]] std::string_view matrix_label() const noexcept override {
    return high_ ? "A by its high words" : "A in the plan's order";
  }
  [[nodiscard]] bool can(operation what, bool transposed) const noexcept override {
    return !transposed && plan_.can(what) && !(high_ && what == operation::apply_many);
  }

 private:
  [[nodiscard]] spmv_operator& op() const { return high_ ? plan_.high_operator() : *plan_.op; }
  /// Null: vectors are in the kernel's order.
  [[nodiscard]] const detail::reordering* order() const {
    return plan_.order && !in_own_order_ ? &*plan_.order : nullptr;
  }

  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    if (const auto* o = order()) return o->apply(op(), alpha, x.data, beta, y.data, how.stream);
    op().apply(alpha, x.data, beta, y.data, how.stream);
  }
  void do_apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                     call how) const override {
    plan_.many_operator(x, y).apply_many(alpha, strided(x), beta, strided(y), how.stream);
  }
  void do_apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                     const const_vector_ref& w, const vector_ref& dots, call how) const override {
    if (const auto* o = order()) return o->apply_dots(op(), alpha, x.data, beta, y.data, w.data, dots, how.stream);
    op().apply_dots(alpha, x.data, beta, y.data, w.data, dots, how.stream);
  }
  void do_jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
                 const const_vector_ref& inverse_diagonal, const vector_ref& y, call how) const override {
    if (const auto* o = order())
      return o->apply_jacobi(op(), omega, x.data, b.data, inverse_diagonal.data, y.data, how.stream);
    op().apply_jacobi(omega, x.data, b.data, inverse_diagonal.data, y.data, how.stream);
  }

  impl& plan_;
  bool high_;
  bool in_own_order_;  // only without `high`
};

std::unique_ptr<linear_operator> any_spmv_plan::impl::make_part_operator(bool high, bool in_own_order) {
  return std::make_unique<part_operator>(*this, high, in_own_order);
}

const permutation* any_spmv_plan::row_order() const noexcept { return impl_->order ? &impl_->order->rows() : nullptr; }
const permutation* any_spmv_plan::column_order() const noexcept {
  return impl_->order ? &impl_->order->columns() : nullptr;
}
const linear_operator& any_spmv_plan::in_own_order() const noexcept {
  return impl_->own_order == nullptr ? static_cast<const linear_operator&>(*this) : *impl_->own_order;
}
const linear_operator& any_spmv_plan::high_words() const noexcept {
  return impl_->by_high_words == nullptr ? static_cast<const linear_operator&>(*this) : *impl_->by_high_words;
}
std::size_t any_spmv_plan::high_words_bytes() const noexcept { return impl_->high_operator().matrix_bytes(); }

}  // namespace tulle

#include "kernels/split_operator.hpp"

#include "kernels/describe_stored.hpp"

namespace tulle {
namespace {

template <offset O>
class split_operator final : public spmv_operator {
 public:
  split_operator(const context& ctx, csr_view<double, O> a, const spmv_options& options, split_form form,
                 splitter<O> apart, const spmv_kernel& whole)
      : ctx_(ctx), options_(options), form_(form), apart_(apart), whole_(whole) {
    read(a);
  }

  /// By entries both pieces have all rows, and the second adds to what the first left.
  void apply(double alpha, const void* x, double beta, void* y, stream_view stream) override {
    if (narrow_ != nullptr) narrow_->apply(alpha, x, beta, y, stream);
    const bool adds = narrow_ != nullptr && form_ == split_form::entries;
    if (wide_ != nullptr) wide_->apply(alpha, x, adds ? 1 : beta, y, stream);
  }
  void update_values(const matrix_ref& a) override { read(a.as<double, O>()); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return values_.bytes() + sum_of(&spmv_operator::workspace_bytes);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return values_.order.bytes() + sum_of(&spmv_operator::matrix_bytes);
  }
  /// Whichever they are, they are stored anew with every update.
  [[nodiscard]] bool narrows_values() const noexcept override { return true; }
  [[nodiscard]] stored_values stored() const override { return values_.stored; }
  [[nodiscard]] std::string parameters() const override {
    const spmv_operator& one = narrow_ != nullptr ? *narrow_ : *wide_;
    return one.parameters() + parameters_of(values_.stored);
  }

 private:
  void read(csr_view<double, O> a) {
    narrow_.reset();
    wide_.reset();
    values_ = apart_(ctx_, a, options_, form_);
    const bool by_rows = form_ == split_form::rows;
    const index_t* const order = by_rows ? values_.order.data() : nullptr;
    if (!values_.narrow.values.empty()) make(values_.narrow, a.cols, order, narrow_);
    // Rows without entries are among the f64 ones, and where nothing is f32 all are.
    if (narrow_ == nullptr || !values_.wide.values.empty() || (by_rows && values_.wide.rows > 0)) {
      make(values_.wide, a.cols, by_rows ? order + values_.narrow.rows : nullptr, wide_);
    }
  }
  template <class T>
  void make(const csr_piece<T, O>& piece, index_t cols, const index_t* order, std::unique_ptr<spmv_operator>& to) {
    const auto nnz = static_cast<O>(piece.values.size());
    const csr_view<T, O> view{piece.rows,          cols,        nnz, piece.rowptr.data(), piece.colind.data(),
                              piece.values.data(), ctx_.space()};
    to = whole_.make(ctx_, matrix_ref(view), statistics(ctx_, view), {.vector_type = scalar_type::f64});
    if (order != nullptr && !to->store_in_order(order, false)) {
      throw error(status::internal, "a kernel that stores rows where they are cannot take sorted ones");
    }
  }
  [[nodiscard]] std::size_t sum_of(std::size_t (spmv_operator::*bytes)() const noexcept) const noexcept {
    std::size_t sum = 0;
    for (const auto* op : {narrow_.get(), wide_.get()}) sum += op == nullptr ? 0 : (op->*bytes)();
    return sum;
  }

  context ctx_;
  spmv_options options_;
  split_form form_;
  splitter<O> apart_;
  spmv_kernel whole_;
  split_values<O> values_;
  std::unique_ptr<spmv_operator> narrow_, wide_;  // null: nothing to multiply by
};

}  // namespace

std::unique_ptr<spmv_operator> make_split(const context& ctx, const matrix_ref& a, const spmv_options& options,
                                          split_form form, const splitters& apart, const spmv_kernel& whole) {
  return dispatch_operation<type_set::doubles>(
      types_of(a, options), [&]<class T, class V, class O>() -> std::unique_ptr<spmv_operator> {
        return std::make_unique<split_operator<O>>(ctx, a.as<T, O>(), options, form, apart.of<O>(), whole);
      });
}

}  // namespace tulle

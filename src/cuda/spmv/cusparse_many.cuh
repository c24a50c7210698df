// The vendor's product with several right-hand sides (cusparseSpMM), for comparison.
#pragma once

#include <algorithm>
#include <tulle/core/buffer.hpp>

#include "cuda/spmv/cusparse_handles.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// Prepared at the first call for a shape of X and Y (count, order, leading dimension) and kept until the shape
/// changes: that call allocates and preprocesses, the following ones do not.
template <class T>
class cusparse_many {
 public:
  cusparse_many(const context& ctx, index_t rows, index_t cols, cusparseSpMMAlg_t algorithm)
      : ctx_(ctx), rows_(rows), cols_(cols), algorithm_(algorithm) {}

  void run(cusparseHandle_t handle, cusparseSpMatDescr_t a, T alpha, const strided_vectors& x, T beta,
           const strided_vectors& y) {
    if (!prepared_ || !same_shape(x, prepared_x_) || !same_shape(y, prepared_y_)) prepare(handle, a, x, y);
    cusparse().dn_mat_set_values(x_.get(), x.data);
    cusparse().dn_mat_set_values(y_.get(), y.data);
    cusparse().spmm(handle, normal, normal, &alpha, a, x_.get(), &beta, y_.get(), value_type<T>, algorithm_,
                    work_.data());
  }
  /// The matrix has changed.
  void forget() noexcept { prepared_ = false; }

 private:
  static constexpr cusparseOperation_t normal = CUSPARSE_OPERATION_NON_TRANSPOSE;

  static bool same_shape(const strided_vectors& a, const strided_vectors& b) {
    return a.count == b.count && a.row_stride == b.row_stride && a.vector_stride == b.vector_stride;
  }

  static unique_dense describe(const strided_vectors& v, index_t rows) {
    const bool by_row = v.vector_stride == 1;
    cusparseDnMatDescr_t m = nullptr;
    cusparse().create_dn_mat(&m, rows, v.count, by_row ? v.row_stride : v.vector_stride, v.data, value_type<T>,
                             by_row ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
    return unique_dense(m);
  }

  void prepare(cusparseHandle_t handle, cusparseSpMatDescr_t a, const strided_vectors& x, const strided_vectors& y) {
    prepared_ = false;
    x_ = describe(x, cols_);
    y_ = describe(y, rows_);
    const T one{1}, zero{0};
    std::size_t bytes = 0;
    cusparse().spmm_buffer_size(handle, normal, normal, &one, a, x_.get(), &zero, y_.get(), value_type<T>, algorithm_,
                                &bytes);
    work_ = buffer<std::byte>(ctx_, std::max<std::size_t>(bytes, 16));
    ctx_.synchronize();  // the call may come on another stream
    cusparse().spmm_preprocess(handle, normal, normal, &one, a, x_.get(), &zero, y_.get(), value_type<T>, algorithm_,
                               work_.data());
    prepared_x_ = x;
    prepared_y_ = y;
    prepared_ = true;
  }

  context ctx_;
  index_t rows_, cols_;
  cusparseSpMMAlg_t algorithm_;
  bool prepared_ = false;
  strided_vectors prepared_x_, prepared_y_;
  unique_dense x_, y_;
  buffer<std::byte> work_;
};

}  // namespace tulle::cuda

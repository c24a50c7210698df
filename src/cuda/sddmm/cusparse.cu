// cusparse.sddmm: the vendor's sampled product (cusparseSDDMM on CSR), preprocessed, for comparison: never chosen
// silently. Prepared at the first call for a shape of U and V (features, order, leading dimension) and kept until the
// shape changes: that call allocates and preprocesses, the following ones do not.
#include <algorithm>
#include <tulle/core/buffer.hpp>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/stream.hpp"
#include "cuda/spmv/cusparse_handles.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

template <class T, class O>
class cusparse_sddmm final : public sddmm_operator {
 public:
  cusparse_sddmm(const context& ctx, csr_view<T, O> a, const sddmm_options&) : ctx_(ctx), a_(a) {
    cusparseHandle_t handle = nullptr;
    cusparse().create(&handle);
    handle_.reset(handle);
  }

  void apply(double alpha, const strided_vectors& u, const strided_vectors& v, double beta, void* c,
             stream_view stream) override {
    const device_guard guard(ctx_.device());
    cusparse().set_stream(handle_.get(), native(stream));
    const T scale = static_cast<T>(alpha), keep = static_cast<T>(beta);
    if (!prepared_ || !same_shape(u, prepared_u_) || !same_shape(v, prepared_v_)) prepare(u, v, c);
    cusparse().dn_mat_set_values(u_.get(), u.data);
    cusparse().dn_mat_set_values(v_.get(), v.data);
    point_at(c);
    cusparse().sddmm(handle_.get(), as_is, as_is, &scale, u_.get(), v_.get(), &keep, c_.get(), value_type<T>,
                     CUSPARSE_SDDMM_ALG_DEFAULT, work_.data());
  }
  void update_values(const matrix_ref&) override {}
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return work_.bytes(); }

 private:
  static constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

  static bool same_shape(const strided_vectors& a, const strided_vectors& b) {
    return a.count == b.count && a.row_stride == b.row_stride && a.vector_stride == b.vector_stride;
  }

  void point_at(void* c) {
    cusparse().csr_set_pointers(c_.get(), const_cast<O*>(a_.rowptr), const_cast<index_t*>(a_.colind), c);
  }

  void prepare(const strided_vectors& u, const strided_vectors& v, void* c) {
    prepared_ = false;
    cusparseDnMatDescr_t m = nullptr;
    const bool u_by_row = u.vector_stride == 1, v_by_row = v.vector_stride == 1;
    cusparse().create_dn_mat(&m, a_.rows, u.count, u_by_row ? u.row_stride : u.vector_stride, u.data, value_type<T>,
                             u_by_row ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL);
    u_.reset(m);
    cusparse().create_dn_mat(&m, v.count, a_.cols, v_by_row ? v.row_stride : v.vector_stride, v.data, value_type<T>,
                             v_by_row ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW);  // of V^T
    v_.reset(m);
    cusparseSpMatDescr_t pattern = nullptr;
    cusparse().create_csr(&pattern, a_.rows, a_.cols, a_.nnz, const_cast<O*>(a_.rowptr),
                          const_cast<index_t*>(a_.colind), c, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, value_type<T>);
    c_.reset(pattern);
    const T one{1}, zero{0};
    std::size_t bytes = 0;
    cusparse().sddmm_buffer_size(handle_.get(), as_is, as_is, &one, u_.get(), v_.get(), &zero, c_.get(), value_type<T>,
                                 CUSPARSE_SDDMM_ALG_DEFAULT, &bytes);
    work_ = buffer<std::byte>(ctx_, std::max<std::size_t>(bytes, 16));
    ctx_.synchronize();  // the call may come on another stream
    cusparse().sddmm_preprocess(handle_.get(), as_is, as_is, &one, u_.get(), v_.get(), &zero, c_.get(), value_type<T>,
                                CUSPARSE_SDDMM_ALG_DEFAULT, work_.data());
    prepared_u_ = u;
    prepared_v_ = v;
    prepared_ = true;
  }

  context ctx_;
  csr_view<T, O> a_;
  unique_handle handle_;
  unique_dense u_, v_;
  unique_matrix c_;
  bool prepared_ = false;
  strided_vectors prepared_u_, prepared_v_;
  buffer<std::byte> work_;
};

support takes(const matrix_ref& a, const sddmm_options& options) {
  if (a.types.offset == offset_type::i64)
    return {false, "cuSPARSE takes 64-bit offsets only with 64-bit column indices"};
  if (options.times_values) return {false, "cuSPARSE multiplies no values of A"};
  return {};
}

}  // namespace

sddmm_kernel cusparse_sddmm_entry() {
  return {
      .name = "cusparse.sddmm",
      .summary = "cuSPARSE SDDMM on CSR, preprocessed",
      .backend = backend_kind::cuda,
      .role = kernel_role::vendor,
      .supports = takes,
      .make = make_operator<cusparse_sddmm>,
  };
}

}  // namespace tulle::cuda

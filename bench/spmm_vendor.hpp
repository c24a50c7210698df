// The vendor's product with several right-hand sides, by each of its algorithms.
#pragma once

#include <tulle/tulle.hpp>
#include <utility>

#include "cuda/spmv/cusparse_many.cuh"

namespace tulle::bench {

inline constexpr std::pair<const char*, cusparseSpMMAlg_t> vendor_algorithms[] = {
    {"cusparse.csr1", CUSPARSE_SPMM_CSR_ALG1}, {"cusparse.csr2", CUSPARSE_SPMM_CSR_ALG2},
    {"cusparse.csr3", CUSPARSE_SPMM_CSR_ALG3}, {"cusparse.coo4", CUSPARSE_SPMM_COO_ALG4},
    {"cusparse.coo1", CUSPARSE_SPMM_COO_ALG1}};

template <class T>
class vendor {
 public:
  vendor(const context& ctx, csr_view<T, std::int32_t> a, cusparseSpMMAlg_t algorithm)
      : many_(ctx, a.rows, a.cols, algorithm) {
    const bool is_coo = algorithm == CUSPARSE_SPMM_COO_ALG1 || algorithm == CUSPARSE_SPMM_COO_ALG4;
    cusparseHandle_t handle = nullptr;
    cuda::cusparse().create(&handle);
    handle_.reset(handle);
    cuda::cusparse().set_stream(handle, static_cast<cudaStream_t>(ctx.stream().native));
    cusparseSpMatDescr_t m = nullptr;
    if (is_coo) {
      coo_ = to_coo(ctx, a);
      cuda::cusparse().create_coo(&m, a.rows, a.cols, coo_.nnz(), coo_.rowind.data(), coo_.colind.data(),
                                  coo_.values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                  cuda::value_type<T>);
    } else {
      cuda::cusparse().create_csr(&m, a.rows, a.cols, a.nnz, const_cast<std::int32_t*>(a.rowptr),
                                  const_cast<index_t*>(a.colind), const_cast<T*>(a.values), CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cuda::value_type<T>);
    }
    matrix_.reset(m);
  }
  void run(const strided_vectors& x, const strided_vectors& y) {
    many_.run(handle_.get(), matrix_.get(), T{1}, x, T{0}, y);
  }

 private:
  cuda::unique_handle handle_;
  cuda::unique_matrix matrix_;
  coo<T> coo_;
  cuda::cusparse_many<T> many_;
};

}  // namespace tulle::bench

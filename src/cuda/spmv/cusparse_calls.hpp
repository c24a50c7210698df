// cuSPARSE's functions, looked up when the first cusparse.* kernel is planned: the library is there for comparison, and
// nothing else needs it.
#pragma once

#include <cusparse.h>

#include <span>
#include <type_traits>

namespace tulle::cuda {

/// The first of `names` that loads; it stays loaded. Throws UNSUPPORTED naming the library when none does.
void* open_library(std::span<const char* const> names);
/// Throws UNSUPPORTED when the library has no such function.
void* find_function(void* library, const char* name);
/// Throws what the status means unless it is success; `name` is the function that returned it.
void check_cusparse(void* library, cusparseStatus_t status, const char* name);

template <class F>
class cusparse_call;

/// One function: calling it throws unless it succeeds.
template <class... A>
class cusparse_call<cusparseStatus_t(A...)> {
 public:
  cusparse_call(void* library, const char* name)
      : library_(library),
        name_(name),
        function_(reinterpret_cast<cusparseStatus_t (*)(A...)>(find_function(library, name))) {}
  void operator()(std::type_identity_t<A>... arguments) const {
    check_cusparse(library_, function_(arguments...), name_);
  }
  /// For destructors: a failure is dropped.
  void quietly(std::type_identity_t<A>... arguments) const noexcept { (void)function_(arguments...); }

 private:
  void* library_;
  const char* name_;
  cusparseStatus_t (*function_)(A...);
};

struct cusparse_functions {
  void* library;
  cusparse_call<decltype(cusparseCreate)> create{library, "cusparseCreate"};
  cusparse_call<decltype(cusparseCreateBsr)> create_bsr{library, "cusparseCreateBsr"};
  cusparse_call<decltype(cusparseCreateCoo)> create_coo{library, "cusparseCreateCoo"};
  cusparse_call<decltype(cusparseCreateCsr)> create_csr{library, "cusparseCreateCsr"};
  cusparse_call<decltype(cusparseCreateDnMat)> create_dn_mat{library, "cusparseCreateDnMat"};
  cusparse_call<decltype(cusparseCreateDnVec)> create_dn_vec{library, "cusparseCreateDnVec"};
  cusparse_call<decltype(cusparseCreateSlicedEll)> create_sliced_ell{library, "cusparseCreateSlicedEll"};
  cusparse_call<decltype(cusparseCsrSetPointers)> csr_set_pointers{library, "cusparseCsrSetPointers"};
  cusparse_call<decltype(cusparseDestroy)> destroy{library, "cusparseDestroy"};
  cusparse_call<decltype(cusparseDestroyDnMat)> destroy_dn_mat{library, "cusparseDestroyDnMat"};
  cusparse_call<decltype(cusparseDestroyDnVec)> destroy_dn_vec{library, "cusparseDestroyDnVec"};
  cusparse_call<decltype(cusparseDestroySpMat)> destroy_sp_mat{library, "cusparseDestroySpMat"};
  cusparse_call<decltype(cusparseDnMatSetValues)> dn_mat_set_values{library, "cusparseDnMatSetValues"};
  cusparse_call<decltype(cusparseDnVecSetValues)> dn_vec_set_values{library, "cusparseDnVecSetValues"};
  cusparse_call<decltype(cusparseSDDMM)> sddmm{library, "cusparseSDDMM"};
  cusparse_call<decltype(cusparseSDDMM_bufferSize)> sddmm_buffer_size{library, "cusparseSDDMM_bufferSize"};
  cusparse_call<decltype(cusparseSDDMM_preprocess)> sddmm_preprocess{library, "cusparseSDDMM_preprocess"};
  cusparse_call<decltype(cusparseSetStream)> set_stream{library, "cusparseSetStream"};
  cusparse_call<decltype(cusparseSpGEMM_compute)> spgemm_compute{library, "cusparseSpGEMM_compute"};
  cusparse_call<decltype(cusparseSpGEMM_copy)> spgemm_copy{library, "cusparseSpGEMM_copy"};
  cusparse_call<decltype(cusparseSpGEMM_createDescr)> spgemm_create_descr{library, "cusparseSpGEMM_createDescr"};
  cusparse_call<decltype(cusparseSpGEMM_destroyDescr)> spgemm_destroy_descr{library, "cusparseSpGEMM_destroyDescr"};
  cusparse_call<decltype(cusparseSpGEMM_estimateMemory)> spgemm_estimate_memory{library,
                                                                                "cusparseSpGEMM_estimateMemory"};
  cusparse_call<decltype(cusparseSpGEMM_workEstimation)> spgemm_work_estimation{library,
                                                                                "cusparseSpGEMM_workEstimation"};
  cusparse_call<decltype(cusparseSpGEMMreuse_compute)> spgemm_reuse_compute{library, "cusparseSpGEMMreuse_compute"};
  cusparse_call<decltype(cusparseSpGEMMreuse_copy)> spgemm_reuse_copy{library, "cusparseSpGEMMreuse_copy"};
  cusparse_call<decltype(cusparseSpGEMMreuse_nnz)> spgemm_reuse_nnz{library, "cusparseSpGEMMreuse_nnz"};
  cusparse_call<decltype(cusparseSpGEMMreuse_workEstimation)> spgemm_reuse_work_estimation{
      library, "cusparseSpGEMMreuse_workEstimation"};
  cusparse_call<decltype(cusparseSpMatGetSize)> sp_mat_get_size{library, "cusparseSpMatGetSize"};
  cusparse_call<decltype(cusparseSpMM)> spmm{library, "cusparseSpMM"};
  cusparse_call<decltype(cusparseSpMM_bufferSize)> spmm_buffer_size{library, "cusparseSpMM_bufferSize"};
  cusparse_call<decltype(cusparseSpMM_preprocess)> spmm_preprocess{library, "cusparseSpMM_preprocess"};
  cusparse_call<decltype(cusparseSpMV)> spmv{library, "cusparseSpMV"};
  cusparse_call<decltype(cusparseSpMV_bufferSize)> spmv_buffer_size{library, "cusparseSpMV_bufferSize"};
  cusparse_call<decltype(cusparseSpMV_preprocess)> spmv_preprocess{library, "cusparseSpMV_preprocess"};
};

/// Loads the library at the first call. Throws UNSUPPORTED when it, or one of the functions, is not there.
const cusparse_functions& cusparse();

}  // namespace tulle::cuda

// Owners of cuSPARSE's handles and descriptors.
#pragma once

#include <memory>
#include <type_traits>

#include "cuda/spmv/cusparse_calls.hpp"

namespace tulle::cuda {

template <auto Destroy>
struct cusparse_deleter {
  void operator()(auto* p) const noexcept { (cusparse().*Destroy).quietly(p); }
};
template <class Descriptor, auto Destroy>
using unique_cusparse = std::unique_ptr<std::remove_pointer_t<Descriptor>, cusparse_deleter<Destroy>>;
using unique_handle = unique_cusparse<cusparseHandle_t, &cusparse_functions::destroy>;
using unique_matrix = unique_cusparse<cusparseSpMatDescr_t, &cusparse_functions::destroy_sp_mat>;
using unique_vector = unique_cusparse<cusparseDnVecDescr_t, &cusparse_functions::destroy_dn_vec>;
using unique_dense = unique_cusparse<cusparseDnMatDescr_t, &cusparse_functions::destroy_dn_mat>;
using unique_spgemm = unique_cusparse<cusparseSpGEMMDescr_t, &cusparse_functions::spgemm_destroy_descr>;

template <class T>
constexpr cudaDataType value_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

}  // namespace tulle::cuda

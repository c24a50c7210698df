// Owners of cuSPARSE handles and descriptors, and the check of its calls.
#pragma once

#include <cusparse.h>

#include <memory>
#include <string>
#include <tulle/core/status.hpp>
#include <type_traits>

namespace tulle::cuda {

inline void check_cusparse(cusparseStatus_t s, const char* what) {
  if (s == CUSPARSE_STATUS_SUCCESS) return;
  const status code = s == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || s == CUSPARSE_STATUS_ALLOC_FAILED
                          ? status::device_out_of_memory
                      : s == CUSPARSE_STATUS_NOT_SUPPORTED ? status::unsupported
                                                           : status::kernel_launch;
  throw error(code, std::string(what) + ": " + cusparseGetErrorName(s) + " (" + cusparseGetErrorString(s) + ")");
}

struct handle_deleter {
  void operator()(cusparseHandle_t h) const noexcept { cusparseDestroy(h); }
};
struct matrix_deleter {
  void operator()(cusparseSpMatDescr_t m) const noexcept { cusparseDestroySpMat(m); }
};
struct vector_deleter {
  void operator()(cusparseDnVecDescr_t v) const noexcept { cusparseDestroyDnVec(v); }
};
struct dense_deleter {
  void operator()(cusparseDnMatDescr_t m) const noexcept { cusparseDestroyDnMat(m); }
};
using unique_handle = std::unique_ptr<std::remove_pointer_t<cusparseHandle_t>, handle_deleter>;
using unique_matrix = std::unique_ptr<std::remove_pointer_t<cusparseSpMatDescr_t>, matrix_deleter>;
using unique_vector = std::unique_ptr<std::remove_pointer_t<cusparseDnVecDescr_t>, vector_deleter>;
using unique_dense = std::unique_ptr<std::remove_pointer_t<cusparseDnMatDescr_t>, dense_deleter>;

template <class T>
constexpr cudaDataType value_type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;

}  // namespace tulle::cuda

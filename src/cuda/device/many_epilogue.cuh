// What becomes of an element of vector j of alpha A X + beta Y before it is stored (many_finish of kernels/spmv.hpp): a
// kernel's store calls it.
#pragma once

#include <tulle/core/types.hpp>

#include "cuda/device/arithmetic.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

template <class T>
struct many_epilogue {
  const T* bias = nullptr;  // null: none
  bool relu = false;

  many_epilogue() = default;
  explicit many_epilogue(const many_finish& f) : bias(static_cast<const T*>(f.bias)), relu(f.relu) {}
  __device__ __forceinline__ T operator()(T value, index_t j) const {
    if (bias != nullptr) value = add(value, __ldg(bias + j));
    return relu && value < T{0} ? T{0} : value;
  }
  /// Of the vectors from `first` on.
  [[nodiscard]] __host__ __device__ many_epilogue from(index_t first) const {
    many_epilogue rest = *this;
    if (bias != nullptr) rest.bias += first;
    return rest;
  }
};

}  // namespace tulle::cuda

// A multivector as kernels see it.
#pragma once

#include <tulle/core/vector_ref.hpp>

#include "kernels/spmv.hpp"

namespace tulle {

/// What is only read is not written to. Vectors without elements may have no array, and to a null pointer nothing may
/// be added.
inline strided_vectors strided(const const_multivector_ref& v) {
  if (v.data == nullptr) return {nullptr, v.count, 0, 0};
  return {const_cast<void*>(v.data), v.count, v.row_stride(), v.vector_stride()};
}

/// A checked epilogue as kernels see it.
inline many_finish finish_of(const many_epilogue& then) {
  return {then.bias.size == 0 ? nullptr : then.bias.data, then.act == activation::relu};
}

}  // namespace tulle

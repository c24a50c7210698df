// y = A x of one part of packed_format.hpp, for an instruction set.
#pragma once

#include <span>

#include "cpu/spmv/finish.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/packed_format.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// y = alpha sum with stores that leave the caches alone: y starts on a cache line and is not read soon.
template <scalar V>
struct streamed : scaled<V> {};
template <scalar V>
struct streamed_dots : scaled_dots<V> {};

template <scalar V, class Finish>
void multiply_packed(isa level, const packed_part& part, const packed_values<V>& values, const V* x, Finish& out);

/// Y = alpha A X + beta Y of all parts, for several vectors of X, each side by side, in one pass over the matrix.
template <scalar V>
void multiply_packed_many(isa level, int threads, std::span<const packed_part> parts, const packed_values<V>& values,
                          double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                          const many_finish& finish);

}  // namespace tulle::cpu

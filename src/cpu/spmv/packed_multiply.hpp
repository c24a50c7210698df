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

/// `apart`: the sums of the part's long rows, in order.
template <scalar V, class Finish>
void multiply_packed(isa level, const packed_part& part, const packed_values<V>& values,
                     std::span<const long_row<V>> apart, std::span<const V> x, Finish& out);

}  // namespace tulle::cpu

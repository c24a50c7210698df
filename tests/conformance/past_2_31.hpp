// More than 2^31 nonzeros, for real, on the GPU.
#pragma once

#include <tulle/core/context.hpp>

namespace tulle::test {

/// Every CUDA kernel on a matrix of 2.28e9 nonzeros (f32 values, 64-bit offsets), every row checked. Skips where the
/// device has less than 100 GB or the host less than 64 GB.
void run_past_2_31(const context& ctx);

}  // namespace tulle::test

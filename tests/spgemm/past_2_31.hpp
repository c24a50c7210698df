// More than 2^31 products, and more than 2^31 entries of C, for real, on the GPU.
#pragma once

#include <tulle/core/context.hpp>

#include "kernels/spgemm.hpp"

namespace tulle::test {

/// A full 4096 x 1024 times a full 1024 x 1024: 4.3e9 products, 4.2e6 entries. Sampled rows are held to the bound.
void run_products_past_2_31(const context& ctx, const spgemm_kernel& kernel);
/// One row of A that names one row of B of 1024 entries 2.2e6 times: 2.2e9 products of a single row. Not for kernel0,
/// whose one thread would take minutes.
void run_row_past_2_31(const context& ctx, const spgemm_kernel& kernel);
/// A 65 536 x 2 times a full 2 x 40 000: 2.6e9 entries of C from 32-bit operands. Offsets and sampled rows are checked.
void run_nnz_past_2_31(const context& ctx, const spgemm_kernel& kernel);
/// The same C by a plan, which has to give it 64-bit offsets.
void run_plan_past_2_31(const context& ctx);

}  // namespace tulle::test

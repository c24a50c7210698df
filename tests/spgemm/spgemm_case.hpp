// One SpGEMM kernel on one product, for one combination of types: the test body of both backends.
#pragma once

#include <string>
#include <tulle/core/context.hpp>

#include "kernels/spgemm.hpp"
#include "spgemm/operands.hpp"

namespace tulle::test {

struct spgemm_case {
  const spgemm_kernel* kernel = nullptr;
  type_key types = type_key_of<double, std::int32_t>;
  product_recipe recipe;
  index_t tile_size = 0;
  bool brief = false;  // the product and its repeats alone, for large operands

  /// "cuda.default/stencil27/f64.i32".
  [[nodiscard]] std::string name() const;
};

/// Pattern exact and sorted, values held to the bound, the same bits in every run, for any number of threads and by
/// panels, other values and factors, masks, offsets of either width, memory within its bound. `ctx`: where it runs.
void run_spgemm_case(const context& ctx, const spgemm_case& c);

/// Every allocation of the kernel fails once, each in turn: a typed error, and nothing leaked.
/// `masked`: with a mask of five entries per row.
void run_allocation_faults(const context& ctx, const spgemm_case& c, bool masked);

/// C, moved to columns up to `cols`, must be C: the same offsets, its columns moved, the same bits.
void run_far_columns(const context& ctx, const spgemm_kernel& kernel, const operands& pair, index_t cols);

// More than 2^31 products, and more than 2^31 entries of C, for real, on the GPU.

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

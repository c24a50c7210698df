// Y = A X from dense blocks of any shape, in place.
//
// Method: register-blocked CSR (Im, Yelick, Vuduc: Sparsity: Optimization Framework for Sparse Matrix Kernels, IJHPCA
// 18, 2004). One thread takes consecutive block rows of about equal work. Blocks of 1 x 1 to 6 x 6 have loops of their
// own, in which the sums of a block row stay in registers; others add to Y. Several right-hand sides lie side by side
// in the innermost loop. Bytes per nonzero: sizeof(T) + 4 / (R C) for blocks of R x C.
#include <algorithm>
#include <type_traits>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {
namespace {

using further::row_offsets;

/// Square blocks of B; 0: of any shape.
template <class N, int B>
[[gnu::always_inline]] inline void multiply_one(const blocks_ref& a, row_offsets offsets, row_range rows, const N* x,
                                                std::int64_t x_stride, N* y, std::int64_t y_stride) {
  const index_t height = B > 0 ? B : a.block_rows, width = B > 0 ? B : a.block_cols;
  const auto* const values = static_cast<const N*>(a.values);
  for (index_t r = rows.begin; r < rows.end; ++r) {
    N* const to = y + std::int64_t{r} * height * y_stride;
    N sum[B > 0 ? B : 1];
    std::fill_n(sum, B > 0 ? B : 1, N::zero());
    if constexpr (B == 0) {
      for (index_t i = 0; i < height; ++i) to[i * y_stride] = N::zero();
    }
    for (std::int64_t k = offsets[r], end = offsets[r + 1]; k < end; ++k) {
      const N* const block = values + k * height * width;
      const N* const from = x + std::int64_t{a.colind[k]} * width * x_stride;
      for (index_t i = 0; i < height; ++i) {
        N& total = B > 0 ? sum[B > 0 ? i : 0] : to[i * y_stride];
        N mine = total;
        const N* const row = block + std::int64_t{i} * width;
        for (index_t j = 0; j < width; ++j) mine = multiply_add(mine, row[j], from[j * x_stride]);
        total = mine;
      }
    }
    if constexpr (B > 0) {
      for (int i = 0; i < B; ++i) to[i * y_stride] = sum[i];
    }
  }
}

template <class N>
[[gnu::always_inline]] inline void multiply_many(const blocks_ref& a, row_offsets offsets, row_range rows,
                                                 const strided_vectors& x, const strided_vectors& y) {
  const std::int64_t height = a.block_rows, width = a.block_cols;
  const auto* const values = static_cast<const N*>(a.values);
  for (index_t r = rows.begin; r < rows.end; ++r) {
    N* const to = static_cast<N*>(y.data) + r * height * y.row_stride;
    set_zero<N>(y, r * height, (r + 1) * height);
    for (std::int64_t k = offsets[r], end = offsets[r + 1]; k < end; ++k) {
      const N* const block = values + k * height * width;
      const N* const from = static_cast<const N*>(x.data) + a.colind[k] * width * x.row_stride;
      for (std::int64_t i = 0; i < height; ++i) {
        N* const sums = to + i * y.row_stride;
        for (std::int64_t j = 0; j < width; ++j) {
          const N value = block[i * width + j];
          const N* const row = from + j * x.row_stride;
#pragma omp simd
          for (index_t v = 0; v < x.count; ++v) sums[v] = multiply_add(sums[v], value, row[v]);
        }
      }
    }
  }
}

/// Calls f(integral_constant) with the size of square blocks up to 6, else with 0.
template <int B = 1, class F>
void with_square(const blocks_ref& a, const F& f) {
  if constexpr (B > 6) {
    f(std::integral_constant<int, 0>{});
  } else {
    if (a.block_rows == B && a.block_cols == B) return f(std::integral_constant<int, B>{});
    with_square<B + 1>(a, f);
  }
}

}  // namespace

void apply_blocks(const context& ctx, const blocks_ref& a, const strided_vectors& x, const strided_vectors& y) {
  const row_offsets offsets(a.rowptr, a.types.offset);
  const index_t block_rows = a.rows_of_blocks();
  const std::int64_t entries = a.blocks() * a.block_rows * a.block_cols;
  const int threads = threads_for_product(ctx.threads(), a.rows + entries);
  const isa level = best_isa();
  const auto for_rows = [&](const auto& f) {
    for_each_part(threads, [&](int part) {
      const row_range mine = offsets.wide
                                 ? balanced_rows(block_rows, static_cast<const std::int64_t*>(a.rowptr), part, threads)
                                 : balanced_rows(block_rows, static_cast<const std::int32_t*>(a.rowptr), part, threads);
      f(mine);
    });
  };
  further::dispatch_numbers(a.types.value, [&]<class N>() {
    if (x.count > 1) {
      for_rows([&](row_range rows) {
        with_isa(
            level, [&]() __attribute__((always_inline)) { multiply_many<N>(a, offsets, rows, x, y); });
      });
      return;
    }
    with_square(a, [&]<int B>(std::integral_constant<int, B>) {
      for_rows([&](row_range rows) {
        with_isa(
            level, [&]() __attribute__((always_inline)) {
              multiply_one<N, B>(a, offsets, rows, static_cast<const N*>(x.data), x.row_stride, static_cast<N*>(y.data),
                                 y.row_stride);
            });
      });
    });
  });
}

}  // namespace tulle::cpu

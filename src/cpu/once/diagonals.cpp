// Y = A X from diagonals.
//
// Method: diagonal by diagonal (Saad, Iterative Methods for Sparse Linear Systems, 2003, section 3.4), but for one tile
// of rows after the other, whose part of Y stays in the first cache for all diagonals. One thread takes consecutive
// tiles. Bytes per stored element: sizeof(T), and per row one x and one y.
#include <algorithm>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {
namespace {

/// Elements of Y that a tile has.
constexpr std::int64_t tile_elements = 2048;

template <class N>
[[gnu::always_inline]] inline void multiply_tile(const diagonals_ref& a, const strided_vectors& x,
                                                 const strided_vectors& y, std::int64_t first, std::int64_t last) {
  const auto* const from = static_cast<const N*>(x.data);
  auto* const to = static_cast<N*>(y.data);
  set_zero<N>(y, first, last);
  for (std::int64_t d = 0; d < a.diagonals; ++d) {
    const std::int64_t shift = a.offsets[d], columns = std::min<std::int64_t>(a.cols, a.length);
    const std::int64_t begin = std::max(first, -shift), end = std::min(last, columns - shift);
    if (begin >= end) continue;
    const N* const values = static_cast<const N*>(a.values) + d * a.length + (begin + shift);
    const N* const v = from + (begin + shift) * x.row_stride;
    N* const sums = to + begin * y.row_stride;
    if (x.count == 1 && x.row_stride == 1 && y.row_stride == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < end - begin; ++i) sums[i] = multiply_add(sums[i], values[i], v[i]);
      continue;
    }
    for (std::int64_t i = 0; i < end - begin; ++i) {
#pragma omp simd
      for (index_t j = 0; j < x.count; ++j) {
        N& sum = sums[i * y.row_stride + j];
        sum = multiply_add(sum, values[i], v[i * x.row_stride + j]);
      }
    }
  }
}

}  // namespace

void apply_diagonals(const context& ctx, const diagonals_ref& a, const strided_vectors& x, const strided_vectors& y) {
  const std::int64_t rows = std::max<std::int64_t>(tile_elements / std::max<index_t>(x.count, 1), 1);
  const std::int64_t tiles = (a.rows + rows - 1) / rows;
  const int threads = threads_for_product(ctx.threads(), a.rows + a.diagonals * a.rows);
  const isa level = best_isa();
  further::dispatch_numbers(a.type, [&]<class N>() {
    parallel_for(threads, tiles, [&](std::int64_t t) {
      with_isa(
          level, [&]() __attribute__((always_inline)) {
            multiply_tile<N>(a, x, y, t * rows, std::min<std::int64_t>(a.rows, (t + 1) * rows));
          });
    });
  });
}

}  // namespace tulle::cpu

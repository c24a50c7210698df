// Y = alpha A X + beta Y for several right-hand sides: from a CSR read in place, and what other storages share with it.
#pragma once

#include <cstddef>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Vectors that are multiplied in one pass over the matrix, at most.
inline constexpr int many_width = 16;

/// Some neighbouring vectors of Y.
template <scalar T>
struct many_output {
  epilogue<T> out;
  T* y;
  std::int64_t row_stride;
  std::int64_t vector_stride;

  [[gnu::always_inline]] T* at(index_t row, int vector) const { return y + row * row_stride + vector * vector_stride; }
};

/// Calls f.operator()<Width, ByRow>(x, stride, y) for chunks of neighbouring vectors that make up all, the widest
/// first. ByRow: the elements of one row of x lie together, and rows are `stride` apart; else the vectors are.
template <scalar T, bool ByRow, int Widest, class F>
void in_chunks(index_t first, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
               const F& f) {
  for (; x.count - first >= Widest; first += Widest) {
    f.template operator()<Widest, ByRow>(
        static_cast<const T*>(x.data) + first * x.vector_stride, ByRow ? x.row_stride : x.vector_stride,
        many_output<T>{
            {alpha, beta}, static_cast<T*>(y.data) + first * y.vector_stride, y.row_stride, y.vector_stride});
  }
  if constexpr (Widest > 1) in_chunks<T, ByRow, Widest / 2>(first, alpha, x, beta, y, f);
}
template <scalar T, class F>
void in_chunks(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, const F& f) {
  if (x.vector_stride == 1) return in_chunks<T, true, many_width>(0, alpha, x, beta, y, f);
  in_chunks<T, false, many_width / 2>(0, alpha, x, beta, y, f);
}

/// As `part`, with the sums of all vectors of a pass.
template <scalar T>
struct alignas(64) many_part : part_range {
  sum_of<T> head[many_width] = {};
  sum_of<T> tail[many_width] = {};
};

/// Method: as csr.balanced, with 16, 8, 4, 2 or 1 vectors in registers for each pass over the matrix (8 to 1 when x is
/// column-major). A row-major x is read in runs of that many values, by vector instructions.
/// Bytes per nonzero and pass: sizeof(T) + 4; and per vector, row and column one value. The sums have a fixed order.
template <scalar T, scalar V, offset O>
class csr_many {
 public:
  csr_many(csr_view<T, O> a, int threads);
  /// `a` has the pattern given to the constructor. Allocates nothing.
  void run(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y);
  [[nodiscard]] std::size_t bytes() const noexcept { return parts_.size() * sizeof(many_part<V>); }

 private:
  std::vector<many_part<V>> parts_;
  isa isa_ = best_isa();
};

}  // namespace tulle::cpu

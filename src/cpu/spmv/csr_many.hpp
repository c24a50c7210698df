// Y = alpha A X + beta Y for several right-hand sides: from a CSR read in place, and what other storages share with it.
#pragma once

#include <cstddef>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>
#include <vector>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {

/// Vectors that are multiplied in one pass over the matrix, at most: 256 bytes of a row, in four registers of 64 bytes.
template <scalar T>
inline constexpr int many_width = 256 / sizeof(T);

/// Some neighbouring vectors of Y.
template <scalar T>
struct many_output {
  epilogue<T> out;
  T* y;
  std::int64_t row_stride;
  std::int64_t vector_stride;
  many_act<T> act = {};
  bool overwrites = vector_stride == 1 && out.beta == 0 && !act.acts();  // the plainest case, told once

  [[gnu::always_inline]] T* at(index_t row, int vector) const { return y + row * row_stride + vector * vector_stride; }
  [[gnu::always_inline]] void store(index_t row, int vector, sum_of<T> sum) const {
    T* const to = at(row, vector);
    out.store(to, sum);
    if (act.acts()) *to = act(*to, vector);
  }
  /// The same of `Width` vectors.
  template <int Width>
  [[gnu::always_inline]] void store(index_t row, const sum_of<T>* sum) const {
    if (overwrites) {
      T* const to = at(row, 0);
#pragma omp simd
      for (int j = 0; j < Width; ++j) to[j] = static_cast<T>(out.alpha * sum[j]);
    } else {
      for (int j = 0; j < Width; ++j) store(row, j, sum[j]);
    }
  }
};

/// Calls f.operator()<Width, ByRow>(x, stride, y) for chunks of neighbouring vectors that make up all, the widest
/// first. ByRow: the elements of one row of x lie together, and rows are `stride` apart; else the vectors are.
template <scalar T, bool ByRow, int Widest, class F>
void in_chunks(index_t first, const strided_vectors& x, const many_output<T>& y, const F& f) {
  for (; x.count - first >= Widest; first += Widest) {
    many_output<T> chunk = y;
    chunk.y += first * y.vector_stride;
    chunk.act = y.act.from(first);
    f.template operator()<Widest, ByRow>(static_cast<const T*>(x.data) + first * x.vector_stride,
                                         ByRow ? x.row_stride : x.vector_stride, chunk);
  }
  if constexpr (Widest > 1) in_chunks<T, ByRow, Widest / 2>(first, x, y, f);
}
template <scalar T>
many_output<T> output_of(double alpha, double beta, const strided_vectors& y, const many_finish& finish) {
  return {{alpha, beta},
          static_cast<T*>(y.data),
          y.row_stride,
          y.vector_stride,
          {static_cast<const T*>(finish.bias), finish.relu}};
}

/// As `part`, with the sums of all vectors of a pass.
template <scalar T>
struct alignas(64) many_part : part_range {
  sum_of<T> head[many_width<T>] = {};
  sum_of<T> tail[many_width<T>] = {};
};

/// Method: as csr.balanced, with as many vectors in registers as 256 bytes of a row of X hold (or half as many, ... 1,
/// for what is left) for each pass over the matrix. A column-major X is turned, so many vectors at a time, into a
/// row-major panel that is made with the operator; where there is none, or turning would take longer than the product,
/// it is read where it lies, 8 vectors or fewer a pass. Rows of a column-major Y are stored 16 at a time, so that whole lines
/// are written. Bytes per nonzero and pass: sizeof(T) + 4; and per vector, row and column one value. The sums have a
/// fixed order.
template <scalar T, scalar V, offset O>
class csr_many {
 public:
  /// A panel is made where column-major vectors are told to come, and where nothing is told, the effort is not none and
  /// it takes no more bytes than the matrix, or half a megabyte. No page of it is touched before it is used.
  /// `most`: threads.
  csr_many(const context& ctx, csr_view<T, O> a, int most, const spmv_options& told);
  /// `a` has the pattern given to the constructor. Allocates nothing.
  void run(csr_view<T, O> a, double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
           const many_finish& finish);
  [[nodiscard]] std::size_t panel_bytes() const noexcept { return panel_.bytes(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return parts_.size() * sizeof(many_part<V>) + panel_.bytes();
  }

 private:
  const V* turned(csr_view<T, O> a, const strided_vectors& x, index_t first, index_t width);
  static index_t vectors_at_once(csr_view<T, O> a, const spmv_options& told);
  static int threads_of(csr_view<T, O> a, int most, const spmv_options& told);

  std::vector<many_part<V>> parts_;
  index_t at_once_;  // vectors that the panel has room for, or 0
  buffer<V> panel_;
  isa isa_ = best_isa();
};

}  // namespace tulle::cpu

// Vectors into another order and back, and the columns of some rows. A thread takes a share of the elements.
#include <algorithm>

#include "cpu/reorder/reorder.hpp"
#include "cpu/spmv/arithmetic.hpp"
#include "kernels/types.hpp"

namespace tulle::cpu {

void gather_vectors(const vector_move& move, const strided_vectors& x, double beta, const strided_vectors& y) {
  dispatch<type_set::all>({move.type}, [&]<class T, class>() {
    const epilogue<T> out(1, beta);
    const auto* const from = static_cast<const T*>(x.data);
    auto* const to = static_cast<T*>(y.data);
    const int threads = tulle::threads_for(move.ctx.threads(), std::int64_t{move.n} * x.count);
    constexpr index_t piece = 4096;
    parallel_for(threads, (move.n + piece - 1) / piece, [&](index_t p) {
      const index_t last = std::min<std::int64_t>(move.n, std::int64_t{p + 1} * piece);
      const auto take = [&](const T* v, std::int64_t v_stride, T* w, std::int64_t w_stride) {
        for (index_t i = p * piece; i < last; ++i) {
          out.store(w + i * w_stride, static_cast<sum_of<T>>(v[move.from[i] * v_stride]));
        }
      };
      for (index_t j = 0; j < x.count; ++j) {
        const T* const v = from + j * x.vector_stride;
        T* const w = to + j * y.vector_stride;
        x.row_stride == 1 && y.row_stride == 1 ? take(v, 1, w, 1) : take(v, x.row_stride, w, y.row_stride);
      }
    });
  });
}

void row_columns(const context&, const matrix_ref& a, const index_t* rows, index_t count, index_t most,
                 index_t* columns) {
  const auto offset = [&](index_t r) {
    return a.types.offset == offset_type::i64 ? static_cast<const std::int64_t*>(a.rowptr)[r]
                                              : std::int64_t{static_cast<const std::int32_t*>(a.rowptr)[r]};
  };
  for (index_t k = 0; k < count; ++k) {
    const std::int64_t first = offset(rows[k]);
    const auto length = static_cast<index_t>(std::min<std::int64_t>(most, offset(rows[k] + 1) - first));
    index_t* const to = columns + std::int64_t{k} * most;
    std::fill(std::copy_n(a.colind + first, length, to), to + most, -1);
  }
}

}  // namespace tulle::cpu

// Y = act(Y + 1 b^T) in place: an epilogue in a pass of its own, for products that have none. One thread takes
// neighbouring rows. Bytes: Y read and written.
#include "core/parallel.hpp"
#include "cpu/spmv/arithmetic.hpp"
#include "kernels/backends.hpp"

namespace tulle::cpu {

void finish_many(const context& ctx, stream_view, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish) {
  dispatch<type_set::floating>({type, offset_type::i32}, [&]<class T, class>() {
    T* const data = static_cast<T*>(y.data);
    const many_act<T> act{static_cast<const T*>(finish.bias), finish.relu};
    parallel_for(threads_for(ctx.threads(), std::int64_t{rows} * y.count), rows, [&](index_t i) {
      T* const row = data + i * y.row_stride;
      for (index_t j = 0; j < y.count; ++j) row[j * y.vector_stride] = act(row[j * y.vector_stride], j);
    });
  });
}

}  // namespace tulle::cpu

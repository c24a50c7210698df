// Y = act(Y + 1 b^T) in place: an epilogue in a pass of its own, for products that have none. A thread takes an
// element, neighbours what lies together. Bytes: Y read and written.
#include "cuda/device/many_epilogue.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

/// Element e is number e % inner of line e / inner: a row where Y is row-major, else a vector.
template <class T>
__global__ void __launch_bounds__(block_threads)
    finish_many_kernel(T* y, std::int64_t elements, index_t inner, std::int64_t line_stride, bool by_row,
                       many_epilogue<T> then) {
  for (std::int64_t e = grid_thread(); e < elements; e += grid_stride()) {
    const std::int64_t line = e / inner;
    const auto at = static_cast<index_t>(e - line * inner);
    T* const to = y + line * line_stride + at;
    *to = then(*to, by_row ? at : static_cast<index_t>(line));
  }
}

}  // namespace

void finish_many(const context& ctx, stream_view stream, scalar_type type, const strided_vectors& y, index_t rows,
                 const many_finish& finish) {
  const device_guard guard(ctx.device());
  dispatch<type_set::floating>({type, offset_type::i32}, [&]<class T, class>() {
    const bool by_row = y.vector_stride == 1;
    const std::int64_t elements = std::int64_t{rows} * y.count;
    launch("finish_many", finish_many_kernel<T>, bounded(ctx, threads_for(elements)), native(stream),
           static_cast<T*>(y.data), elements, by_row ? y.count : rows, by_row ? y.row_stride : y.vector_stride, by_row,
           many_epilogue<T>(finish));
  });
}

}  // namespace tulle::cuda

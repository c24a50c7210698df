// Several vectors from column-major to row-major order and back.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <tulle/core/buffer.hpp>

#include "core/memory_status.hpp"
#include "cuda/spmv/many_vectors.cuh"
#include "kernels/spmv.hpp"

namespace tulle::cuda {

/// to[i * row_stride + j] = element i of vector j, for `rows` x `columns` of them, 0 from there to `row_stride`. Reads
/// and writes each once.
template <class T>
void rows_of_vectors(const typed_vectors<const T>& from, index_t rows, index_t columns, T* to, std::int64_t row_stride,
                     cudaStream_t stream);
/// store(i, j, from[i * row_stride + j]). `behind`: starts before what is in front of it on the stream is done.
template <class T>
void vectors_of_rows(const T* from, std::int64_t row_stride, index_t rows, index_t columns,
                     const scale_and_store_many<T>& store, bool behind, cudaStream_t stream);

/// Room for X and Y in row-major order, or for X alone.
template <class T>
class turned_vectors {
 public:
  turned_vectors() = default;
  turned_vectors(const context& ctx, index_t rows, index_t cols, index_t columns)
      : pass_(of_pass(columns)),
        starts_early_(ctx.info().compute_capability >= 90),
        x_(ctx, static_cast<std::size_t>(cols) * static_cast<std::size_t>(pass_)),
        y_(ctx, static_cast<std::size_t>(rows) * static_cast<std::size_t>(pass_)) {}
  /// Of a plan that was not told how many come, without which it can do. No rows: Y is stored as it lies.
  static turned_vectors if_there_is_memory(const context& ctx, index_t rows, index_t cols, index_t columns) {
    try {
      return {ctx, rows, cols, columns};
    } catch (const error& e) {
      if (!is_out_of_memory(e)) throw;
      return {};
    }
  }
  /// Columns of one pass, where so many come.
  static index_t of_pass(index_t columns) { return std::min<index_t>(padded(columns), most_columns); }
  /// The same, in the room that there is.
  [[nodiscard]] index_t at_once(index_t count) const { return std::min(count, pass_); }
  [[nodiscard]] std::size_t bytes() const { return x_.bytes() + y_.bytes(); }

  /// Y = then(alpha A X + beta Y) by multiply(alpha, X, beta, Y, then, behind), which is given them in rows, as many at
  /// once as there is room for, and columns of zeros that fill up the last 16 bytes; as they are where there is no
  /// room, or nothing to turn. Y too only where `y_pays`.
  template <class Multiply>
  void multiply(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, index_t rows,
                index_t cols, const many_epilogue<T>& then, cudaStream_t stream, const Multiply& multiply,
                bool y_pays = true) {
    if (pass_ == 0 || x.count == 1 || (is_by_row(x) && is_by_row(y)) || x.data == nullptr || y.data == nullptr) {
      return multiply(alpha, x, beta, y, then, false);
    }
    for (index_t done = 0; done < x.count; done += pass_) {
      const index_t count = std::min(pass_, x.count - done), stride = padded(count);
      strided_vectors in = some_of<T>(x, done, count), out = some_of<T>(y, done, count);
      const bool turns_y = y_pays && !is_by_row(y) && y_.size() > 0, both = !is_by_row(x) && turns_y;
      const bool behind = starts_early_ && !is_by_row(x);
      if (!is_by_row(x)) {
        rows_of_vectors(typed_vectors<const T>(in), cols, count, x_.data(), stride, stream);
        in = {x_.data(), both ? stride : count, stride, 1};
      }
      if (!turns_y) {
        multiply(alpha, in, beta, out, then.from(done), behind);
        continue;
      }
      multiply(alpha, in, 0, strided_vectors{y_.data(), in.count, stride, 1}, many_epilogue<T>{}, behind);
      const scale_and_store_many<T> store(1, beta, out, then.from(done));
      vectors_of_rows(y_.data(), stride, rows, count, store, starts_early_, stream);
    }
  }

 private:
  static constexpr index_t each = 16 / sizeof(T);
  static constexpr index_t most_columns = 512 / sizeof(T);
  static index_t padded(index_t n) { return (n + each - 1) / each * each; }

  index_t pass_ = 0;           // columns at once
  bool starts_early_ = false;  // a kernel may, before the one in front of it has ended
  buffer<T> x_, y_;
};

}  // namespace tulle::cuda

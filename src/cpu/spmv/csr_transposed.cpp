// csr.transposed: y = alpha A^T x + beta y from the CSR of A, without a copy of the matrix.
//
// Method: scatter into private vectors (Buluc et al., SPAA 2009, section 2, has the problem and its alternatives). One
// part takes an equal number of entries and adds a_ij x_i to its own copy of y; the copies are then added in the order
// of the parts, so the result depends on the number of parts alone. There are as many parts as threads, or fewer, so
// that the copies hold at most 4 values per entry. Bytes per nonzero: sizeof(T) + 4, and a read and a write of a private
// y; per column 2 values per part. Chosen for a transposed plan at effort none; a CSR of A^T is 2 to 3 times faster, and
// costs 10 to 20 applications to make.
#include <algorithm>
#include <tulle/core/buffer.hpp>

#include "kernels/backends.hpp"
#include "cpu/spmv/csr_operator.hpp"

namespace tulle::cpu {
namespace {

template <class T, class O>
class csr_transposed final : public csr_operator<T, O> {
 public:
  csr_transposed(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : csr_operator<T, O>(a, threads_for(ctx.threads(), a.cols + static_cast<std::int64_t>(a.nnz))),
        parts_(part_count(a, threads_)),
        sums_(ctx, parts_ * columns()) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    run({alpha, beta}, static_cast<const T*>(x), 1, static_cast<T*>(y), 1);
  }
  /// One vector after the other.
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    for (index_t j = 0; j < x.count; ++j) {
      run({alpha, beta}, static_cast<const T*>(x.data) + j * x.vector_stride, x.row_stride,
          static_cast<T*>(y.data) + j * y.vector_stride, y.row_stride);
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return sums_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(threads_) + " parts=" + std::to_string(parts_);
  }

 private:
  using csr_operator<T, O>::a_;
  using csr_operator<T, O>::threads_;

  static std::size_t part_count(csr_view<T, O> a, int threads) {
    const std::int64_t most = 4 * static_cast<std::int64_t>(a.nnz) / std::max<std::int64_t>(a.cols, 1);
    return static_cast<std::size_t>(std::clamp<std::int64_t>(most, 1, threads));
  }
  [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(a_.cols); }

  void run(epilogue<T> out, const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride) {
    for_each_part(static_cast<int>(parts_), [&](int part) { scatter(part, x, x_stride); });
    const sum_of<T>* sums = sums_.data();
    const std::size_t cols = columns();
    parallel_for(threads_, a_.cols, [&](index_t c) {
      sum_of<T> sum = sums[c];
      for (std::size_t part = 1; part < parts_; ++part) sum += sums[part * cols + static_cast<std::size_t>(c)];
      out.store(y + c * y_stride, sum);
    });
  }

  /// Entries [begin, end) of the matrix, wherever rows begin.
  void scatter(std::int64_t part, const T* x, std::int64_t x_stride) {
    const std::int64_t nnz = a_.nnz, parts = static_cast<std::int64_t>(parts_);
    const auto cut = [&](std::int64_t p) { return static_cast<O>(nnz / parts * p + nnz % parts * p / parts); };
    const O begin = cut(part), end = cut(part + 1);
    sum_of<T>* mine = sums_.data() + static_cast<std::size_t>(part) * columns();
    std::fill_n(mine, columns(), sum_of<T>{0});
    if (begin == end) return;
    auto row = static_cast<index_t>(std::upper_bound(a_.rowptr, a_.rowptr + a_.rows, begin) - a_.rowptr - 1);
    for (O k = begin; k < end; ++row) {
      const auto factor = static_cast<sum_of<T>>(x[row * x_stride]);
      for (const O last = std::min(a_.rowptr[row + 1], end); k < last; ++k) {
        mine[a_.colind[k]] += static_cast<sum_of<T>>(a_.values[k]) * factor;
      }
    }
  }

  std::size_t parts_;
  buffer<sum_of<T>> sums_;  // parts * cols
};

}  // namespace

spmv_kernel csr_transposed_entry() {
  return {
      .name = "csr.transposed",
      .summary = "A^T x from the CSR of A: private sums, added in order",
      .backend = backend_kind::cpu,
      .types = type_set::all,
      .needs_set_up = false,
      .has = {.many = true},
      .make = make_operator<csr_transposed, type_set::all>,
  };
}

}  // namespace tulle::cpu

// csr.transposed for complex numbers, 64-bit integers and booleans: y = alpha A^T x + beta y from the CSR of A.
//
// Method: scatter into private vectors, as csr_transposed.cpp has it. A part takes consecutive rows of about equal work
// and adds a_ij x_i to sums of its own; those are then added in the order of the parts. Several right-hand sides: each
// part takes some of them and walks over all rows, so that a row of its sums lies side by side. Bytes per nonzero:
// sizeof(T) + 4, and a read and a write of a sum. Chosen for a transposed plan at effort none.
#include <algorithm>
#include <tulle/core/buffer.hpp>
#include <vector>

#include "cpu/spmv/csr_further.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cpu {
namespace {

using namespace further;

template <class N>
class csr_further_transposed final : public spmv_operator {
 public:
  csr_further_transposed(const context& ctx, const matrix_ref& a, const spmv_options& options)
      : a_(a),
        rowptr_(a.rowptr, a.types.offset),
        sign_(options.conjugate ? -1 : 1),
        threads_(threads_for(ctx.threads(), a.cols + a.nnz)),
        parts_(static_cast<int>(std::clamp<std::int64_t>(4 * a.nnz / std::max<std::int64_t>(a.cols, 1), 1, threads_))),
        width_(options.columns_order == vector_order::row_major ? std::max<index_t>(options.columns, 1) : 1),
        sums_(ctx,
              static_cast<std::size_t>(a.cols) * static_cast<std::size_t>(std::max<std::int64_t>(parts_, width_))) {
    const auto cut = [&](const auto* rowptr) {
      for (int p = 0; p < parts_; ++p) cuts_.push_back(balanced_rows(a.rows, rowptr, p, parts_));
    };
    rowptr_.wide ? cut(static_cast<const std::int64_t*>(a.rowptr)) : cut(static_cast<const std::int32_t*>(a.rowptr));
  }

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    one(alpha, {const_cast<void*>(x), 1, 1, 0}, beta, {y, 1, 1, 0});
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    if (x.count > 1 && x.count <= width_) return side_by_side(alpha, x, beta, y);
    const auto at = [](const strided_vectors& v, index_t j) {
      return strided_vectors{static_cast<N*>(v.data) + j * v.vector_stride, 1, v.row_stride, 0};
    };
    for (index_t j = 0; j < x.count; ++j) one(alpha, at(x, j), beta, at(y, j));
  }

  void update_values(const matrix_ref& a) override { a_ = a; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return sums_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return static_cast<std::size_t>(a_.nnz) * (sizeof(N) + sizeof(index_t)) +
           (static_cast<std::size_t>(a_.rows) + 1) * size_of(a_.types.offset);
  }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(threads_) + " parts=" + std::to_string(parts_) + (sign_ < 0 ? " conjugate" : "");
  }

 private:
  static void store(double alpha, N sum, double beta, N& y) {
    const N product = scaled(alpha, sum);
    y = beta == 0 ? product : add(product, scaled(beta, y));
  }

  /// sums(c, :) += a_rc x(r, :) for the rows of a range; `width` vectors from x on.
  void scatter(row_range rows, const N* x, std::int64_t row_stride, std::int64_t vector_stride, index_t width,
               N* sums) const {
    const auto* const values = static_cast<const N*>(a_.values);
    std::fill_n(sums, static_cast<std::int64_t>(a_.cols) * width, N::zero());
    for (index_t r = rows.begin; r < rows.end; ++r) {
      const N* const factors = x + r * row_stride;
      for (std::int64_t k = rowptr_[r], end = rowptr_[r + 1]; k < end; ++k) {
        const N value = conjugated(sign_, values[k]);
        N* const sum = sums + std::int64_t{a_.colind[k]} * width;
        for (index_t j = 0; j < width; ++j) sum[j] = multiply_add(sum[j], value, factors[j * vector_stride]);
      }
    }
  }

  /// Straight into y where nothing is to be added to it.
  [[nodiscard]] bool scatters_into(const strided_vectors& y, double alpha, double beta) const {
    return parts_ == 1 && alpha == 1 && beta == 0 && y.row_stride == 1;
  }

  void one(double alpha, const strided_vectors& x, double beta, const strided_vectors& y) {
    if (scatters_into(y, alpha, beta)) {
      return scatter(cuts_.front(), static_cast<const N*>(x.data), x.row_stride, 0, 1, static_cast<N*>(y.data));
    }
    for_each_part(parts_, [&](int part) {
      scatter(cuts_[static_cast<std::size_t>(part)], static_cast<const N*>(x.data), x.row_stride, 0, 1, sums_of(part));
    });
    parallel_for(threads_, a_.cols, [&](index_t c) {
      N sum = sums_.data()[c];
      for (int part = 1; part < parts_; ++part) sum = add(sum, sums_of(part)[c]);
      store(alpha, sum, beta, static_cast<N*>(y.data)[c * y.row_stride]);
    });
  }

  void side_by_side(double alpha, const strided_vectors& x, double beta, const strided_vectors& y) {
    const int parts = std::min(threads_, static_cast<int>(x.count));
    for_each_part(parts, [&](int part) {
      const auto cut = [&](int p) { return static_cast<index_t>(std::int64_t{x.count} * p / parts); };
      const index_t from = cut(part), width = cut(part + 1) - from;
      N* const mine = sums_of(from);
      scatter({0, a_.rows}, static_cast<const N*>(x.data) + from * x.vector_stride, x.row_stride, x.vector_stride,
              width, mine);
      for (index_t c = 0; c < a_.cols; ++c) {
        N* const to = static_cast<N*>(y.data) + c * y.row_stride + from * y.vector_stride;
        for (index_t j = 0; j < width; ++j)
          store(alpha, mine[std::int64_t{c} * width + j], beta, to[j * y.vector_stride]);
      }
    });
  }

  [[nodiscard]] N* sums_of(std::int64_t vector) { return sums_.data() + vector * a_.cols; }

  matrix_ref a_;
  row_offsets rowptr_;
  int sign_;
  int threads_;
  int parts_;
  index_t width_;   // vectors that there is room for side by side
  buffer<N> sums_;  // cols for each part, or each vector
  std::vector<row_range> cuts_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_further_transposed(const context& ctx, const matrix_ref& a,
                                                           const spmv_options& options) {
  return further::dispatch(a.types.value, [&]<class N>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<csr_further_transposed<N>>(ctx, a, options);
  });
}

}  // namespace tulle::cpu

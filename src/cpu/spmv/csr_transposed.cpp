// csr.transposed: y = alpha A^T x + beta y from the CSR of A, without a copy of the matrix.
//
// Method: scatter into private vectors (Buluc et al., SPAA 2009, section 2, has the problem and its alternatives). One
// part takes an equal number of entries and adds a_ij x_i to its own copy of y; the copies are then added in the order
// of the parts, so the result depends on the number of parts alone. There are as many parts as threads, or fewer, so
// that the copies hold at most 4 values per entry. Bytes per nonzero: sizeof(T) + 4, and a read and a write of a private
// y; per column 2 values per part. Several row-major vectors, where the plan was told how many come: each part takes some of
// them, walks over all entries and adds rows of its vectors side by side to a panel of its own, whatever the number of parts
// in the order of the entries. Chosen for a transposed plan at effort none; a CSR of A^T is 2 to 3 times faster, and costs 10
// to 20 applications to make.
#include <algorithm>
#include <tulle/core/buffer.hpp>
#include <type_traits>

#include "cpu/spmv/csr_further.hpp"
#include "kernels/backends.hpp"
#include "cpu/spmv/csr_operator.hpp"

namespace tulle::cpu {
namespace {

template <class T, class O>
class csr_transposed final : public csr_operator<T, O> {
 public:
  csr_transposed(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options& options)
      : csr_operator<T, O>(a, threads_for(ctx.threads(), a.cols + static_cast<std::int64_t>(a.nnz))),
        parts_(part_count(a, threads_)),
        sums_(ctx, parts_ * columns()),
        panels_(ctx, panel_size(options)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    run({alpha, beta}, static_cast<const T*>(x), 1, static_cast<T*>(y), 1);
  }
  /// In panels where there is room for them, else one vector after the other.
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    const bool by_row = x.vector_stride == 1 && y.vector_stride == 1;
    if (x.count > 1 && by_row && static_cast<std::size_t>(x.count) * columns() <= panels_.size()) {
      return run_panels({alpha, beta}, x, y);
    }
    for (index_t j = 0; j < x.count; ++j) {
      run({alpha, beta}, static_cast<const T*>(x.data) + j * x.vector_stride, x.row_stride,
          static_cast<T*>(y.data) + j * y.vector_stride, y.row_stride);
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return sums_.bytes() + panels_.bytes(); }
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

  [[nodiscard]] std::size_t panel_size(const spmv_options& options) const {
    const bool several = options.columns > 1 && options.columns_order == vector_order::row_major;
    return several ? columns() * static_cast<std::size_t>(options.columns) : 0;
  }

  void run_panels(epilogue<T> out, const strided_vectors& x, const strided_vectors& y) {
    const int parts = std::min(threads_, static_cast<int>(x.count));
    for_each_part(parts, [&](int part) {
      const index_t from = x.count / parts * part + x.count % parts * part / parts;
      const index_t to = x.count / parts * (part + 1) + x.count % parts * (part + 1) / parts;
      sum_of<T>* const panel = panels_.data() + columns() * static_cast<std::size_t>(from);
      switch (to - from) {
        case 2: fill_panel(panel, x, from, std::integral_constant<index_t, 2>{}); break;
        case 4: fill_panel(panel, x, from, std::integral_constant<index_t, 4>{}); break;
        case 8: fill_panel(panel, x, from, std::integral_constant<index_t, 8>{}); break;
        case 16: fill_panel(panel, x, from, std::integral_constant<index_t, 16>{}); break;
        default: fill_panel(panel, x, from, to - from);
      }
      const sum_of<T>* sum = panel;
      for (index_t c = 0; c < a_.cols; ++c) {
        T* const row = static_cast<T*>(y.data) + c * y.row_stride;
        for (index_t j = from; j < to; ++j) out.store(row + j, *sum++);
      }
    });
  }
  /// The panel's row c, of `width` vectors from `from` on: the sum over entries (r, c) of a_rc X(r, from ...).
  template <class Width>
  void fill_panel(sum_of<T>* panel, const strided_vectors& x, index_t from, Width width) const {
    std::fill_n(panel, columns() * static_cast<std::size_t>(width), sum_of<T>{0});
    for (index_t r = 0; r < a_.rows; ++r) {
      const T* const factors = static_cast<const T*>(x.data) + r * x.row_stride + from;
      for (O k = a_.rowptr[r]; k < a_.rowptr[r + 1]; ++k) {
        const auto value = static_cast<sum_of<T>>(a_.values[k]);
        sum_of<T>* const sums = panel + static_cast<std::int64_t>(a_.colind[k]) * width;
#pragma omp simd
        for (index_t j = 0; j < width; ++j) sums[j] += value * static_cast<sum_of<T>>(factors[j]);
      }
    }
  }

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
  buffer<sum_of<T>> sums_;    // parts * cols
  buffer<sum_of<T>> panels_;  // cols * the vectors that a plan was told of
};

std::unique_ptr<spmv_operator> make_transposed(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                               const spmv_options& options) {
  if (contains(type_set::further, types_of(a, options))) return make_csr_further_transposed(ctx, a, options);
  return make_operator<csr_transposed, type_set::all>(ctx, a, stats, options);
}

}  // namespace

spmv_kernel csr_transposed_entry() {
  return {
      .name = "csr.transposed",
      .summary = "A^T x from the CSR of A: private sums, added in order",
      .backend = backend_kind::cpu,
      .types = type_set::all | type_set::further,
      .needs_set_up = false,
      .has = {.many = true},
      .make = make_transposed,
  };
}

}  // namespace tulle::cpu

// bsr: dense square blocks of 2 to 8 rows, one column index per block.
//
// Method: register-blocked CSR (Im, Yelick, Vuduc: Sparsity: Optimization Framework for Sparse Matrix Kernels, IJHPCA
// 18, 2004). One thread takes consecutive block rows with an equal number of blocks. Bytes per nonzero:
// (sizeof(T) + 4 / b^2) / fill for blocks of b x b, and 8 / (b^2 fill) for the mask where blocks are not full; the same
// for up to 8 right-hand sides at once.
// Chosen by name or by autotune.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/csr_many.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/finishing_operator.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/supports.hpp"
#include "kernels/bsr_block.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {
namespace {

constexpr double least_fill = 0.1;
constexpr std::int64_t small_nnz = 65536;

template <int B>
constexpr std::uint64_t full_mask = ~std::uint64_t{0} >> (64 - B * B);

/// sum(i, j) += block(i, j) x[j]: B * B independent sums. Where `mask` has no bit, nothing is added, NaN or not: a 0 is
/// stored there, which adds nothing but where x is not finite. `whole`: x has all B elements.
template <int B, scalar T>
[[gnu::always_inline]] inline void add_block(T (&sum)[B * B], const T* block, const T* x, std::uint64_t mask,
                                             bool whole) {
  if (mask != full_mask<B> && whole) {
    T probe = 0;
    for (int j = 0; j < B; ++j) probe += x[j] * T{0};
    if (probe == 0) mask = full_mask<B>;
  }
  if (mask == full_mask<B>) {
    for (int i = 0; i < B; ++i) {
#pragma omp simd
      for (int j = 0; j < B; ++j) sum[i * B + j] += block[i * B + j] * x[j];
    }
    return;
  }
  for (int i = 0; i < B; ++i) {
    for (int j = 0; j < B; ++j) {
      if (mask >> (i * B + j) & 1) sum[i * B + j] += block[i * B + j] * x[j];
    }
  }
}

/// Hands the sums of the rows of a block row to `out`.
template <int B, scalar T, offset O, class Finish>
[[gnu::always_inline]] inline void bsr_row(bsr_view<T, O> a, index_t block_row, const T* x, Finish& out) {
  // Where registers do not hold it a vector across two cache lines waits for its store: up to 3 times as long (B = 5).
  alignas(64) T sum[B * B] = {};
  for (O k = a.rowptr[block_row]; k < a.rowptr[block_row + 1]; ++k) {
    const T* block = a.values + static_cast<std::int64_t>(k) * B * B;
    for (std::size_t line = 0; line < sizeof(sum); line += 64) prefetch_stream(block + line / sizeof(T), a.colind + k);
    // Blocks that reach past the last column are not full.
    const index_t column = a.colind[k] * B;
    add_block<B>(sum, block, x + column, a.mask ? a.mask[k] : full_mask<B>, column + B <= a.cols);
  }
  const index_t first = block_row * B;
  const index_t count = std::min<index_t>(B, a.rows - first);
  for (index_t i = 0; i < count; ++i) {
    T total = 0;
    for (int j = 0; j < B; ++j) total += sum[i * B + j];
    out(first + i, total);
  }
}

template <int B, scalar T, offset O, class Finish>
void bsr_rows(isa level, bsr_view<T, O> a, index_t first, index_t last, const T* x, Finish& out) {
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        for (index_t row = first; row < last; ++row) bsr_row<B>(a, row, x, out);
      });
}

/// Right-hand sides that share a pass over the blocks: one vector register of 64 bytes in f64.
constexpr int bsr_width = 8;

/// Up to `bsr_width` of them: the pieces of x that a block needs are brought side by side first, wherever they are.
template <int B, scalar T, offset O>
[[gnu::always_inline]] inline void bsr_row_many(bsr_view<T, O> a, index_t block_row, const strided_vectors& x, int live,
                                                const many_output<T>& out) {
  alignas(64) T sum[B][bsr_width] = {};
  for (O k = a.rowptr[block_row]; k < a.rowptr[block_row + 1]; ++k) {
    const T* block = a.values + static_cast<std::int64_t>(k) * B * B;
    const std::uint64_t mask = a.mask ? a.mask[k] : full_mask<B>;
    const index_t column = a.colind[k] * B;
    const index_t columns = std::min<index_t>(B, a.cols - column);
    alignas(64) T side_by_side[B][bsr_width] = {};
    for (index_t j = 0; j < columns; ++j) {
      const T* from = static_cast<const T*>(x.data) + (column + j) * x.row_stride;
      for (int v = 0; v < live; ++v) side_by_side[j][v] = from[v * x.vector_stride];
    }
    for (int i = 0; i < B; ++i) {
      for (int j = 0; j < B; ++j) {
        if ((mask >> (i * B + j) & 1) == 0) continue;
#pragma omp simd
        for (int v = 0; v < bsr_width; ++v) sum[i][v] += block[i * B + j] * side_by_side[j][v];
      }
    }
  }
  const index_t first = block_row * B;
  const index_t count = std::min<index_t>(B, a.rows - first);
  for (index_t i = 0; i < count; ++i) {
    for (int v = 0; v < live; ++v) out.out.store(out.at(first + i, v), sum[i][v]);
  }
}

template <int B, scalar T, offset O>
void bsr_rows_many(isa level, bsr_view<T, O> a, index_t first, index_t last, const strided_vectors& x, int live,
                   const many_output<T>& out) {
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        for (index_t row = first; row < last; ++row) bsr_row_many<B>(a, row, x, live, out);
      });
}

/// Calls f.operator()<B>() for the size of a block.
template <int B = 2, class F>
void with_block(index_t block, const F& f) {
  if constexpr (B < 8) {
    if (block > B) return with_block<B + 1>(block, f);
  }
  f.template operator()<B>();
}

template <class T, class O>
class bsr_kernel final : public finishing_operator<bsr_kernel<T, O>, T> {
 public:
  bsr_kernel(const context& ctx, const matrix_ref& a, const csr_stats& stats, const spmv_options& options)
      : bsr_kernel(bsr_storage<T, O>(ctx, a, stats, options), ctx) {}

  template <class Finish, class Done>
  void multiply(const Finish& start, const T* x, const Done& done) {
    const bsr_view<T, O>& a = storage_.view();
    with_block(a.block, [&]<int B>() {
      for_each_part(threads_, [&](int i) {
        Finish finish = start;
        bsr_rows<B>(isa_, a, begin_[i], begin_[i + 1], x, finish);
        done(i, finish);
      });
    });
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    const bsr_view<T, O>& a = storage_.view();
    const auto at = [](const strided_vectors& v, index_t j) { return static_cast<T*>(v.data) + j * v.vector_stride; };
    with_block(a.block, [&]<int B>() {
      for (index_t first = 0; first < x.count; first += bsr_width) {
        const int live = std::min<index_t>(bsr_width, x.count - first);
        const strided_vectors from{at(x, first), live, x.row_stride, x.vector_stride};
        const many_output<T> to{{alpha, beta}, at(y, first), y.row_stride, y.vector_stride};
        for_each_part(threads_,
                      [&](int i) { bsr_rows_many<B>(isa_, a, begin_[i], begin_[i + 1], from, live, to); });
      }
    });
  }

  void update_values(const matrix_ref& a) override { storage_.update_values(a); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return storage_.owned_bytes() + begin_.size() * sizeof(index_t);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("threads={} isa={} block={}", threads_, name(isa_), storage_.view().block);
  }

 private:
  bsr_kernel(bsr_storage<T, O> storage, const context& ctx)
      : finishing_operator<bsr_kernel, T>(threads_for_product(ctx, storage.view())),
        storage_(std::move(storage)),
        threads_(threads_for_product(ctx, storage_.view())),
        begin_(equal_shares(storage_.view().rowptr, storage_.view().block_rows, threads_)) {}

  bsr_storage<T, O> storage_;
  int threads_;
  std::vector<index_t> begin_;  // the first block row of each thread, and the end
  isa isa_ = best_isa();
};

}  // namespace

support supports_bsr(const csr_stats& stats, type_key types, const device_info&) {
  const index_t b = best_bsr_block(stats, size_of(types.value));
  if (stats.block_fill[static_cast<std::size_t>(b)] >= least_fill || stats.nnz <= small_nnz) return {};
  return {false, fmt::format("the best blocks ({0} x {0}) are {1:.0f}% full: the limit is {2:.0f}%, or {3} nonzeros", b,
                             100 * stats.block_fill[static_cast<std::size_t>(b)], 100 * least_fill, small_nnz)};
}

spmv_kernel bsr_entry() {
  return {
      .name = "bsr",
      .summary = "dense blocks of 2 to 8 rows",
      .backend = backend_kind::cpu,
      .types = type_set::floating,
      .takes_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bsr_kernel, type_set::floating>,
  };
}

}  // namespace tulle::cpu

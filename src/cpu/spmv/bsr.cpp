// bsr: dense square blocks of 2 to 8 rows, one column index per block.
//
// Method: register-blocked CSR (Im, Yelick, Vuduc: Sparsity: Optimization Framework for Sparse Matrix Kernels, IJHPCA
// 18, 2004). One thread takes consecutive block rows with an equal number of blocks. Bytes per nonzero:
// (sizeof(T) + 4 / b^2) / fill for blocks of b x b, and 8 / (b^2 fill) for the mask where blocks are not full.
// Chosen by name or by autotune.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/cut_rows.hpp"
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

/// sum(i, j) += block(i, j) x[j]: B * B independent sums. Where `mask` has no bit, nothing is added, NaN or not.
template <int B, scalar T>
[[gnu::always_inline]] inline void add_block(T (&sum)[B * B], const T* block, const T* x, std::uint64_t mask) {
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

template <int B, scalar T, offset O>
[[gnu::always_inline]] inline void bsr_row(bsr_view<T, O> a, index_t block_row, epilogue<T> out, const T* x, T* y) {
  T sum[B * B] = {};
  for (O k = a.rowptr[block_row]; k < a.rowptr[block_row + 1]; ++k) {
    const T* block = a.values + static_cast<std::int64_t>(k) * B * B;
    for (std::size_t line = 0; line < sizeof(sum); line += 64) prefetch_stream(block + line / sizeof(T), a.colind + k);
    // Blocks that reach past the last column are not full: the masked path reads no x there.
    add_block<B>(sum, block, x + static_cast<std::int64_t>(a.colind[k]) * B, a.mask ? a.mask[k] : full_mask<B>);
  }
  const index_t first = block_row * B;
  const index_t count = std::min<index_t>(B, a.rows - first);
  for (index_t i = 0; i < count; ++i) {
    T total = 0;
    for (int j = 0; j < B; ++j) total += sum[i * B + j];
    out.store(y + first + i, total);
  }
}

template <int B, scalar T, offset O>
void bsr_rows(isa level, bsr_view<T, O> a, index_t first, index_t last, epilogue<T> out, const T* x, T* y) {
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        for (index_t row = first; row < last; ++row) bsr_row<B>(a, row, out, x, y);
      });
}

template <class T, class O>
class bsr_kernel final : public spmv_operator {
 public:
  bsr_kernel(const context& ctx, const matrix_ref& a, const csr_stats& stats, const spmv_options& options)
      : storage_(ctx, a, stats, options),
        threads_(threads_for(ctx, storage_.view())),
        rows_(by_block[static_cast<std::size_t>(storage_.view().block)]),
        begin_(equal_shares(storage_.view().rowptr, storage_.view().block_rows, threads_)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const epilogue<T> out(alpha, beta);
    const bsr_view<T, O>& a = storage_.view();
    for_each_part(threads_, [&](int i) {
      rows_(isa_, a, begin_[i], begin_[i + 1], out, static_cast<const T*>(x), static_cast<T*>(y));
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
  using rows_function = void (*)(isa, bsr_view<T, O>, index_t, index_t, epilogue<T>, const T*, T*);
  static constexpr std::array<rows_function, 9> by_block = {nullptr,           nullptr,           bsr_rows<2, T, O>,
                                                            bsr_rows<3, T, O>, bsr_rows<4, T, O>, bsr_rows<5, T, O>,
                                                            bsr_rows<6, T, O>, bsr_rows<7, T, O>, bsr_rows<8, T, O>};

  bsr_storage<T, O> storage_;
  int threads_;
  rows_function rows_;
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
      .listens_to = {.block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bsr_kernel, type_set::floating>,
  };
}

}  // namespace tulle::cpu

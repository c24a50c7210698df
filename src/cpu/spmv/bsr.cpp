// bsr: dense square blocks of 2 to 8 rows, one column index per block.
//
// Method: register-blocked CSR (Im, Yelick, Vuduc: Sparsity: Optimization Framework for Sparse Matrix Kernels, IJHPCA
// 18, 2004). One thread takes consecutive block rows with an equal number of blocks. Bytes per nonzero:
// (sizeof(T) + 4 / b^2) / fill for blocks of b x b: masks of blocks that are not full are read where a sum is not
// finite alone. Up to 8 right-hand sides at once, which read 8 / (b^2 fill) more of masks. Chosen where its costs are
// the least, by name, or by autotune.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
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
#include "kernels/processor.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {
namespace {

constexpr double least_fill = 0.1;
constexpr std::int64_t small_nnz = 65536;
/// Bytes of a block of whole lines, which is read as fast as memory gives it: prefetchers of a Zen 4 see best to that
/// alone (docs/notes/0024-choice-cpu.md).
constexpr std::size_t fastest_block = 512;

template <int B>
constexpr std::uint64_t full_mask = ~std::uint64_t{0} >> (64 - B * B);

template <int B, scalar T>
[[gnu::always_inline]] inline bool finite(const T (&of)[B]) {
  T probe = 0;
  for (const T v : of) probe += v * T{0};
  return probe == 0;
}

/// The B * B sums of a block row in vectors, so that they stay in registers from block to block: a row of the block
/// each, in as many lanes as the next power of 2, or both rows of a 2 x 2 block in one. Lanes past B hold what is not
/// asked for.
template <int B, scalar T>
struct block_sums {
  static constexpr int width = B == 2 ? 4 : static_cast<int>(std::bit_ceil(static_cast<unsigned>(B)));
  static constexpr int rows = B == 2 ? 1 : B;
  static constexpr int reach = B == 2 ? 2 : width;  // elements of x that are read
  static constexpr auto each_row = std::make_integer_sequence<int, rows>();
  typedef T vec __attribute__((vector_size(width * sizeof(T))));
  typedef T loose __attribute__((vector_size(width * sizeof(T)), aligned(sizeof(T)), may_alias));

  vec sum[rows] = {};

  /// sum(i, j) += block(i, j) x[j], where x[0] to x[reach - 1] can be read.
  [[gnu::always_inline]] void add(const T* block, const T* x) {
    vec here, behind;
    if constexpr (B == 2) {
      here = vec{x[0], x[1], x[0], x[1]};
    } else {
      here = *reinterpret_cast<const loose*>(x);
    }
    turn(here, behind, std::make_integer_sequence<int, width>());
    add_rows(block, here, behind, each_row);
  }
  /// The same where `mask` has a bit.
  [[gnu::always_inline]] void add_masked(const T* block, const T* x, std::uint64_t mask) {
    T sums[rows * width];
    store(sums, each_row);
    for (int i = 0; i < B; ++i) {
      for (int j = 0; j < B; ++j) {
        if (mask >> (i * B + j) & 1) sums[place(i, j)] += block[i * B + j] * x[j];
      }
    }
    load(sums, each_row);
  }
  /// What the elements of row i sum to.
  [[gnu::always_inline]] void totals(T (&total)[B]) const {
    T sums[rows * width];
    store(sums, each_row);
    for (int i = 0; i < B; ++i) {
      total[i] = 0;
      for (int j = 0; j < B; ++j) total[i] += sums[place(i, j)];
    }
  }

 private:
  /// Where element (i, j) is summed. The last row ends with its vector, as nothing behind the block may be read.
  static constexpr int place(int i, int j) { return B == 2 ? i * B + j : i * width + (i == B - 1 ? width - B : 0) + j; }
  static constexpr int first_read(int i) { return B > 2 && i == B - 1 ? B * B - width : i * B; }

  // Rows are taken by packs, not by loops: an array that a loop walks is not kept in registers.
  template <int... i>
  [[gnu::always_inline]] void add_rows(const T* block, const vec& here, const vec& behind,
                                       std::integer_sequence<int, i...>) {
    ((sum[i] += *reinterpret_cast<const loose*>(block + first_read(i)) * (i == B - 1 ? behind : here)), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void store(T* to, std::integer_sequence<int, i...>) const {
    ((*reinterpret_cast<loose*>(to + i * width) = sum[i]), ...);
  }
  template <int... i>
  [[gnu::always_inline]] void load(const T* from, std::integer_sequence<int, i...>) {
    ((sum[i] = *reinterpret_cast<const loose*>(from + i * width)), ...);
  }
  /// x for the last row.
  template <int... lane>
  [[gnu::always_inline]] static void turn(const vec& x, vec& behind, std::integer_sequence<int, lane...>) {
    behind = __builtin_shufflevector(x, x, (B == 2 ? lane : (lane + B) % width)...);
  }
};

/// x with zeros behind its end, so that `Reach` elements can be read from each of its columns on. The last columns are
/// copied once, not where a block asks for them: many rows can have such a block.
template <int Reach, scalar T>
class padded_x {
 public:
  padded_x(const T* x, index_t columns) : x_(x), first_copied_(std::max<index_t>(0, columns - Reach + 1)) {
    std::copy(x + first_copied_, x + columns, end_);
  }
  [[gnu::always_inline]] const T* from(index_t column) const {
    return column < first_copied_ ? x_ + column : end_ + (column - first_copied_);
  }

 private:
  const T* x_;
  index_t first_copied_;
  T end_[2 * Reach] = {};
};

/// Hands the sums of the rows of a block row to `out`. What a mask leaves out is stored as 0 and adds nothing where x
/// is finite; so masks are looked at only where a sum is not.
template <int B, scalar T, offset O, class Finish>
[[gnu::always_inline]] inline void bsr_row(bsr_view<T, O> a, index_t block_row, bool ahead,
                                           const padded_x<block_sums<B, T>::reach, T>& x, Finish& out) {
  const O begin = a.rowptr[block_row], end = a.rowptr[block_row + 1];
  const auto values = [&](O k) { return a.values + static_cast<std::int64_t>(k) * B * B; };
  T total[B];
  block_sums<B, T> sums;
  for (O k = begin; k < end; ++k) {
    const T* block = values(k);
    constexpr std::size_t bytes = B * B * sizeof(T);
    if (bytes < fastest_block || ahead) {
      for (std::size_t line = 0; line < bytes; line += 64) prefetch_stream(block + line / sizeof(T), a.colind + k);
    }
    sums.add(block, x.from(a.colind[k] * B));
  }
  sums.totals(total);
  if (a.mask != nullptr && !finite(total)) [[unlikely]] {
    block_sums<B, T> masked;
    for (O k = begin; k < end; ++k) masked.add_masked(values(k), x.from(a.colind[k] * B), a.mask[k]);
    masked.totals(total);
  }
  const index_t first = block_row * B;
  const index_t count = std::min<index_t>(B, a.rows - first);
  for (index_t i = 0; i < count; ++i) out(first + i, total[i]);
}

template <int B, scalar T, offset O, class Finish>
void bsr_rows(isa level, bsr_view<T, O> a, bool ahead, index_t first, index_t last, const T* x, Finish& out) {
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        const padded_x<block_sums<B, T>::reach, T> padded(x, a.cols);
        for (index_t row = first; row < last; ++row) bsr_row<B>(a, row, ahead, padded, out);
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
        bsr_rows<B>(isa_, a, asks_ahead_, begin_[i], begin_[i + 1], x, finish);
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
        for_each_part(threads_, [&](int i) { bsr_rows_many<B>(isa_, a, begin_[i], begin_[i + 1], from, live, to); });
      }
    });
  }

  void update_values(const matrix_ref& a) override { storage_.update_values(a); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return storage_.owned_bytes() + begin_.size() * sizeof(index_t);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override { return storage_.bytes() - storage_.mask_bytes(); }
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
  bool asks_ahead_ = this_processor() != processor_class::loads;  // for the largest blocks
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

// bin_bsr.compact: bins of 32 block rows of like length (kernels/bin_bsr.hpp), one column index per block. A step takes
// one block, by columns, of each of 32 block rows. One thread takes consecutive bins with an equal number of slots.
// Bytes per nonzero of full blocks: sizeof(T) + 4 / block^2, times a padding of about 1.01 (1, 2, 4 or 8 / (block^2
// fill) more with masks); plus per bin 8 bytes, per block row 4 and one y per row. Several right-hand sides: a pass
// takes 4. Chosen for a matrix that comes in bins.
#include "cpu/spmv/bin_vectors.hpp"
#include "cpu/spmv/narrow_values.hpp"
#include "cpu/spmv/supports.hpp"

namespace tulle::cpu {
namespace {

template <int B, scalar T, scalar V, class X>
[[gnu::always_inline]] inline void add_block(const T* block, std::uint64_t mask, std::int64_t first, const X& x,
                                             V (&sum)[X::width][B]) {
  constexpr std::uint64_t full = ~std::uint64_t{0} >> (64 - B * B);
  for (int v = 0; v < X::width; ++v) {
    if (mask == full) {
      for (int j = 0; j < B; ++j) {
        const V element = x(first + j, v);
#pragma omp simd
        for (int i = 0; i < B; ++i) sum[v][i] += V{block[j * B + i]} * element;
      }
      continue;
    }
    for (int j = 0; j < B; ++j) {
      for (int i = 0; i < B; ++i) {
        if (mask >> (i * B + j) & 1) sum[v][i] += V{block[j * B + i]} * x(first + j, v);
      }
    }
  }
}

template <int B, scalar T, scalar V, class X>
[[gnu::always_inline]] inline void add_bin(const compact_view<T>& a, std::int64_t bin, const X& x,
                                           V (&sum)[bin_rows][X::width][B]) {
  constexpr std::uint64_t full = ~std::uint64_t{0} >> (64 - B * B);
  const auto* const masks = reinterpret_cast<const compact_mask<B>*>(a.mask);
  for (std::int64_t at = a.binptr[bin]; at < a.binptr[bin + 1]; ++at) {
    const T* block = a.values + at * B * B;
    if (a.colind[at] < 0) continue;
    for (std::size_t line = 0; line < B * B * sizeof(T); line += 64) {
      prefetch_stream(block + line / sizeof(T), a.colind + at);
    }
    add_block<B>(block, masks == nullptr ? full : masks[at], std::int64_t{a.colind[at]} * B, x, sum[at % bin_rows]);
  }
}

/// The rows of bins [first, last).
template <scalar V, scalar T, class X, class Store>
void multiply_bins(isa level, const compact_view<T>& a, index_t first, index_t last, const X& x, const Store& store) {
  with_block(a.block, [&]<int B>() {
    with_isa(
        level, [&]() __attribute__((always_inline)) {
          for (index_t bin = first; bin < last; ++bin) {
            alignas(64) V sum[bin_rows][X::width][B] = {};
            add_bin<B>(a, bin, x, sum);
            for (int l = 0; l < bin_rows; ++l) {
              const std::int64_t R = a.perm[std::int64_t{bin} * bin_rows + l];
              const std::int64_t count = R < 0 ? 0 : std::min<std::int64_t>(B, a.rows - R * B);
              for (std::int64_t i = 0; i < count; ++i) {
                for (int v = 0; v < X::width; ++v) store(R * B + i, v, sum[l][v][i]);
              }
            }
          }
        });
  });
}

/// Values of f64 that all are floats as floats, where they are too many for a cache.
class narrow_bins {
 public:
  narrow_bins(const context& ctx, const spmv_options&) : ctx_(ctx) {}

  template <class O>
  bool make(const bsr_view<double, O>& blocks, const matrix_ref&, const compact_view<double>& whole,
            std::int64_t slots) {
    constexpr std::int64_t least_bytes = 1 << 20;  // of a thread, as packed has it
    const std::int64_t area = blocks.block * blocks.block, given = blocks.blocks * area, count = slots * area;
    if (given * static_cast<std::int64_t>(sizeof(double)) / ctx_.threads() < least_bytes) return false;
    if (!kinds_of(ctx_.threads(), blocks.values, given).f32) return false;
    if (values_.size() != static_cast<std::size_t>(count))
      values_ = buffer<float>(ctx_, static_cast<std::size_t>(count));
    parallel_for(threads_for(ctx_.threads(), count), count,
                 [&](std::int64_t i) { values_.data()[i] = static_cast<float>(whole.values[i]); });
    view_ = {whole.rows, whole.cols,   whole.block,    whole.bins, whole.binptr,
             whole.perm, whole.colind, values_.data(), whole.mask};
    return true;
  }
  template <class F>
  void with_view(F&& f) const {
    f(view_);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return values_.bytes(); }
  [[nodiscard]] std::size_t value_bytes() const noexcept { return values_.bytes(); }
  [[nodiscard]] double lost() const noexcept { return 0; }
  [[nodiscard]] std::string_view storage() const noexcept { return name(value_storage::f32); }

 private:
  context ctx_;
  buffer<float> values_;
  compact_view<float> view_;
};

template <class T, class O>
using storage_of = compact_storage<T, O, std::conditional_t<std::is_same_v<T, double>, narrow_bins, no_narrow_bins>>;

template <class T, class V, class O>
class compact_kernel final : public bins_operator<compact_kernel<T, V, O>, V, storage_of<T, O>> {
  using base = bins_operator<compact_kernel, V, storage_of<T, O>>;

 public:
  compact_kernel(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : compact_kernel(ctx, storage_of<T, O>(ctx, a, s, o)) {}

  template <class X, class Store>
  void bins(index_t first, index_t last, const X& x, const Store& store) {
    this->storage_.with_view([&](const auto& a) { multiply_bins<V>(this->isa_, a, first, last, x, store); });
  }
  [[nodiscard]] bool narrows_values() const noexcept override { return this->storage_.is_narrow(); }
  [[nodiscard]] stored_values stored() const override { return this->storage_.stored(); }
  [[nodiscard]] std::string parameters() const override { return base::parameters() + this->storage_.parameters(); }

 private:
  compact_kernel(const context& ctx, storage_of<T, O> storage)
      : base(ctx, std::move(storage), storage.slots() * storage.view().block * storage.view().block,
             [](const auto& a, index_t bin) { return a.binptr[bin]; }) {}
};

}  // namespace

spmv_kernel bin_bsr_compact_entry() {
  return {
      .name = "bin_bsr.compact",
      .summary = "bins of 32 block rows of like length",
      .backend = backend_kind::cpu,
      .types = type_set::floating | type_set::narrow,
      .takes_bsr = true,
      .takes_bin_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.sigma = true, .block = true},
      .supports = supports_bsr,
      .make = make_block_operator<compact_kernel, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cpu

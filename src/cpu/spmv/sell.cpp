// sell: slices of 32 rows, each padded to its longest row, after sorting rows by length in windows of sigma.
//
// Method: SELL-C-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop: A Unified Sparse Matrix Data Format for Efficient
// General Sparse Matrix-Vector Multiply on Modern Processors with Wide SIMD Units, SISC 36, 2014). One thread takes
// consecutive slices with an equal number of slots. Bytes per nonzero: (sizeof(T) + 4) times the padding, and per row
// one y and, where rows moved, one index. Chosen by name or by autotune.
#include <fmt/format.h>

#include <algorithm>
#include <tulle/formats/convert.hpp>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/slots.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cpu {
namespace {

template <scalar T, scalar V>
[[gnu::always_inline]] inline void sell_slice(sell_view<T> a, index_t slice, epilogue<V> out, const V* x, V* y) {
  constexpr index_t lanes = slot_lanes<T>;
  alignas(64) V sum[sell_slice_rows] = {};
  for (std::int64_t at = a.sliceptr[slice]; at < a.sliceptr[slice + 1]; at += sell_slice_rows) {
    for (index_t l = 0; l < sell_slice_rows; l += lanes) {
      prefetch_stream(a.values + at + l, a.colind + at + l);
      add_slot(sum + l, a.values + at + l, a.colind + at + l, x, lanes);
    }
  }
  const index_t first = slice * sell_slice_rows;
  const index_t count = std::min(sell_slice_rows, a.rows - first);
  for (index_t l = 0; l < count; ++l) out.store(y + (a.perm == nullptr ? first + l : a.perm[first + l]), sum[l]);
}

/// Sorting moves rows and scatters the stores: not worth it where padding is small without.
index_t choose_sigma(const csr_stats& stats, const spmv_options& options) {
  if (options.sigma > 0) return options.sigma;
  return stats.sell_padding <= 1.05 * stats.sell_sorted_padding ? 1 : default_sigma;
}

template <class T, class V, class O>
class sell_kernel final : public spmv_operator {
 public:
  sell_kernel(const context& ctx, csr_view<T, O> a, const csr_stats& stats, const spmv_options& options)
      : ctx_(ctx),
        sigma_(choose_sigma(stats, options)),
        a_(to_sell(ctx, a, sigma_)),
        threads_(threads_for(ctx.threads(), static_cast<std::int64_t>(a_.values.size()))),
        begin_(equal_shares(a_.sliceptr.data(), a_.slices, threads_)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const epilogue<V> out(alpha, beta);
    const sell_view<T> a = a_.view();
    for_each_part(threads_, [&](int i) {
      with_isa(
          isa_, [&]() __attribute__((always_inline)) {
            for (index_t slice = begin_[i]; slice < begin_[i + 1]; ++slice) {
              sell_slice(a, slice, out, static_cast<const V*>(x), static_cast<V*>(y));
            }
          });
    });
  }

  void update_values(const matrix_ref& a) override { tulle::update_values(ctx_, a.as<T, O>(), a_); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return matrix_bytes() + begin_.size() * sizeof(index_t);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return a_.sliceptr.bytes() + a_.perm.bytes() + a_.colind.bytes() + a_.values.bytes();
  }
  [[nodiscard]] std::string parameters() const override {
    return fmt::format("threads={} isa={} sigma={}", threads_, name(isa_), sigma_);
  }

 private:
  context ctx_;
  index_t sigma_;
  sell<T> a_;
  int threads_;
  std::vector<index_t> begin_;  // the first slice of each thread, and the end
  isa isa_ = best_isa();
};

}  // namespace

spmv_kernel sell_entry() {
  return {
      .name = "sell",
      .summary = "SELL-32-sigma: slices of 32 rows of like length",
      .backend = backend_kind::cpu,
      .types = type_set::floating | type_set::narrow,
      .listens_to = {.sigma = true},
      .supports = supports_slices,
      .make = make_operator<sell_kernel, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cpu

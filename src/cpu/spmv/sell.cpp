// sell: slices of 32 rows, each padded to its longest row, after sorting rows by length in windows of sigma.
//
// Method: SELL-C-sigma (Kreutzer, Hager, Wellein, Fehske, Bishop: A Unified Sparse Matrix Data Format for Efficient
// General Sparse Matrix-Vector Multiply on Modern Processors with Wide SIMD Units, SISC 36, 2014). One thread takes
// consecutive slices with an equal number of slots; with AVX-512 it gathers x, or loads it number by number where that is
// faster. Bytes per nonzero: (sizeof(T) + 4) times the padding, and per row one y and, where rows moved, one index. Chosen
// where its loads are predicted to take less time than what `packed` decodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tulle/formats/convert.hpp>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/finishing_operator.hpp"
#include "cpu/spmv/isa.hpp"
#include "cpu/spmv/row_avx2.hpp"
#include "cpu/spmv/row_avx512.hpp"
#include "cpu/spmv/slots.hpp"
#include "kernels/spmv.hpp"
#include "kernels/x_reach.hpp"

namespace tulle::cpu {
namespace {

/// Hands on the sums of a slice.
template <scalar T, scalar V, class Finish>
[[gnu::always_inline]] inline void finish_slice(sell_view<T> a, index_t slice, Finish& out, const V* sum) {
  const index_t first = slice * sell_slice_rows;
  const index_t count = std::min(sell_slice_rows, a.rows - first);
  if (a.perm == nullptr && count == sell_slice_rows && out.order == nullptr) {  // a constant count: unrolled, in vectors
#pragma omp simd
    for (index_t l = 0; l < sell_slice_rows; ++l) out.put(first + l, first + l, sum[l]);
    return;
  }
  for (index_t l = 0; l < count; ++l) out(a.perm == nullptr ? first + l : a.perm[first + l], sum[l]);
}

template <scalar T, scalar V, class Finish>
void multiply_slices_plain(sell_view<T> a, index_t first, index_t last, const V* x, Finish& out) {
  constexpr index_t lanes = slot_lanes<T>;
  Finish mine = out;
  for (index_t slice = first; slice < last; ++slice) {
    alignas(64) V sum[sell_slice_rows] = {};
    for (std::int64_t at = a.sliceptr[slice]; at < a.sliceptr[slice + 1]; at += sell_slice_rows) {
      for (index_t l = 0; l < sell_slice_rows; l += lanes) {
        prefetch_stream(a.values + at + l, a.colind + at + l);
        add_slot(sum + l, a.values + at + l, a.colind + at + l, x, lanes);
      }
    }
    finish_slice(a, slice, mine, static_cast<const V*>(sum));
  }
  out = mine;
}

#if TULLE_X86
/// Whether a slot has an entry of every row.
[[gnu::always_inline, TULLE_AVX2FMA]] inline bool all_columns_exist(const index_t* colind) {
  __m256i any = _mm256_setzero_si256();  // of the sign bits
  for (index_t l = 0; l < sell_slice_rows; l += 8)
    any = _mm256_or_si256(any, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(colind + l)));
  return _mm256_movemask_ps(_mm256_castsi256_ps(any)) == 0;
}

/// sum + values[l] x[colind[l]], or sum where there is no column.
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m256d madd_some(__m256d values, const double* x, const index_t* colind,
                                                               __m256d sum) {
  const __m128i columns = _mm_loadu_si128(reinterpret_cast<const __m128i*>(colind));
  const __m256d from_x = avx2<double>::gather(x, _mm_max_epi32(columns, _mm_setzero_si128()));
  const __m256d none = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(columns));  // by its sign
  return _mm256_blendv_pd(_mm256_fmadd_pd(values, from_x, sum), sum, none);
}
[[gnu::always_inline, TULLE_AVX2FMA]] inline __m256 madd_some(__m256 values, const float* x, const index_t* colind,
                                                              __m256 sum) {
  const __m256i columns = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(colind));
  const __m256 from_x = avx2<float>::gather(x, _mm256_max_epi32(columns, _mm256_setzero_si256()));
  return _mm256_blendv_ps(_mm256_fmadd_ps(values, from_x, sum), sum, _mm256_castsi256_ps(columns));
}

/// x is loaded number by number, with the same bits: gathers of 256 bits take 1.5 to 3 times as long (Zen 3), those of 512
/// bits 1.3 to 1.8 times where x is near (Zen 4).
template <scalar T, scalar V, class Finish>
[[TULLE_AVX2FMA, gnu::noinline]] void multiply_slices_avx2(sell_view<T> a, index_t first, index_t last, const V* x,
                                                           Finish& out) {
  using simd = avx2<V>;
  constexpr int lanes = simd::lanes, vectors = sell_slice_rows / lanes;
  Finish mine = out;
  for (index_t slice = first; slice < last; ++slice) {
    typename simd::vector sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = simd::zero();
    for (std::int64_t at = a.sliceptr[slice]; at < a.sliceptr[slice + 1]; at += sell_slice_rows) {
      const T* const values = a.values + at;
      const index_t* const colind = a.colind + at;
      for (index_t l = 0; l < sell_slice_rows; l += slot_lanes<T>) prefetch_stream(values + l, colind + l);
      const bool full = all_columns_exist(colind);
      for (int v = 0; v < vectors; ++v) {
        const int l = v * lanes;
        const auto value = simd::load(values + l);
        sum[v] = full ? simd::madd(value, simd::template gather<lanes>(x, colind + l), sum[v])
                      : madd_some(value, x, colind + l, sum[v]);
      }
    }
    alignas(64) V sums[sell_slice_rows];
    std::memcpy(sums, sum, sizeof(sums));
    finish_slice(a, slice, mine, static_cast<const V*>(sums));
  }
  out = mine;
}

/// Bit l: whether row l has an entry, of as many rows as a vector has lanes.
template <scalar V>
[[gnu::always_inline, TULLE_AVX512]] inline __mmask16 existing_columns(const index_t* colind) {
  if constexpr (avx512<V>::lanes == 8) {
    return _mm256_cmpge_epi32_mask(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(colind)), _mm256_setzero_si256());
  } else {
    return _mm512_cmpge_epi32_mask(_mm512_loadu_si512(colind), _mm512_setzero_si512());
  }
}

/// The same with gathers of x, and the same bits.
template <scalar T, scalar V, class Finish>
[[TULLE_AVX512, gnu::noinline]] void multiply_slices_avx512(sell_view<T> a, index_t first, index_t last, const V* x,
                                                            Finish& out) {
  using simd = avx512<V>;
  using vector = decltype(simd::zero());
  constexpr int lanes = simd::lanes, vectors = sell_slice_rows / lanes;
  Finish mine = out;
  for (index_t slice = first; slice < last; ++slice) {
    vector sum[vectors];
    for (int v = 0; v < vectors; ++v) sum[v] = simd::zero();
    for (std::int64_t at = a.sliceptr[slice]; at < a.sliceptr[slice + 1]; at += sell_slice_rows) {
      for (int v = 0; v < vectors; ++v) {
        const T* const values = a.values + at + v * lanes;
        const index_t* const colind = a.colind + at + v * lanes;
        prefetch_stream(values, colind);
        sum[v] = simd::madd(sum[v], existing_columns<V>(colind), values, colind, x);
      }
    }
    alignas(64) V sums[sell_slice_rows];
    std::memcpy(sums, sum, sizeof(sums));
    finish_slice(a, slice, mine, static_cast<const V*>(sums));
  }
  out = mine;
}
#endif

/// Knows no offsets, so that it is compiled once for both widths.
template <scalar T, scalar V, class Finish>
void multiply_slices(isa level, sell_view<T> a, index_t first, index_t last, const V* x, Finish& out) {
#if TULLE_X86
  if (level == isa::avx512) return multiply_slices_avx512(a, first, last, x, out);
  if (level == isa::avx2) return multiply_slices_avx2(a, first, last, x, out);
#endif
  (void)level;
  multiply_slices_plain(a, first, last, x, out);
}

/// Sorting moves rows and scatters the stores: not worth it where padding is small without.
index_t choose_sigma(const csr_stats& stats, const spmv_options& options) {
  if (options.sigma > 0) return options.sigma;
  return stats.sell_padding <= 1.05 * stats.sell_sorted_padding ? 1 : default_sigma;
}

template <class T, class V, class O>
class sell_kernel final : public finishing_operator<sell_kernel<T, V, O>, V> {
 public:
  sell_kernel(const context& ctx, csr_view<T, O> a, const csr_stats& stats, const spmv_options& options)
      : sell_kernel(ctx, stats, choose_sigma(stats, options), a) {}
  sell_kernel(const context& ctx, const csr_stats& stats, index_t sigma, csr_view<T, O> a)
      : sell_kernel(ctx, stats, sigma, to_sell(ctx, a, sigma)) {}
  sell_kernel(const context& ctx, const csr_stats& stats, index_t sigma, sell<T> a)
      : finishing_operator<sell_kernel, V>(threads_for_product(ctx.threads(), static_cast<std::int64_t>(a.values.size()))),
        ctx_(ctx),
        sigma_(sigma),
        a_(std::move(a)),
        threads_(threads_for_product(ctx.threads(), static_cast<std::int64_t>(a_.values.size()))),
        begin_(equal_shares(a_.sliceptr.data(), a_.slices, threads_)),
        isa_(choose_isa(stats)) {}

  template <class Finish, class Done>
  void multiply(const Finish& start, const V* x, const Done& done) const {
    for_each_part(threads_, [&](int i) {
      Finish finish = start;
      multiply_slices(isa_, a_.view(), begin_[i], begin_[i + 1], x, finish);
      done(i, finish);
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
  /// Of 512 bits the kernel gathers.
  [[nodiscard]] isa choose_isa(const csr_stats& stats) const {
    const bool by_loads = loads_x_singly(stats, matrix_bytes(), threads_, sizeof(V), gathers_in_sell);
    return by_loads ? isa::avx2 : best_isa();
  }

  context ctx_;
  index_t sigma_;
  sell<T> a_;
  int threads_;
  std::vector<index_t> begin_;  // the first slice of each thread, and the end
  isa isa_;
};

}  // namespace

spmv_kernel sell_entry() {
  return {
      .name = "sell",
      .summary = "SELL-32-sigma: slices of 32 rows of like length",
      .backend = backend_kind::cpu,
      .types = type_set::floating | type_set::narrow,
      .has = {.dots = true, .jacobi = true},
      .listens_to = {.sigma = true},
      .supports = supports_slices,
      .make = make_operator<sell_kernel, type_set::floating | type_set::narrow>,
  };
}

}  // namespace tulle::cpu

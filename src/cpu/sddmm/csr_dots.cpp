// csr.dots: C = alpha P o (U V^T) + beta C, a dot product for each entry of a CSR.
//
// Method: entries are split equally between threads, wherever rows end, since no two entries share a result. Within a
// row four dot products run side by side with the row of U in registers, lanes along the features; rows of V that come
// next are prefetched, as no hardware guesses them (the row-wise form of Nisa, Sukumaran-Rajam, Kurt, Hong, Sadayappan:
// Sampled dense matrix multiplication for high-performance machine learning, HiPC 2018). Features that are column-major
// are transposed, 128 bytes of a row at a time, into panels of the plan's, and C is summed panel by panel; without room
// for panels they are read where they lie. Bytes per nonzero: 4 of the column, sizeof(T) of C, k sizeof(T) of V where
// it does not stay in a cache. One thread takes nnz / threads entries. Sums have a fixed order, whatever the threads.
// Chosen always.
#include <algorithm>
#include <vector>

#include "core/parallel.hpp"
#include "core/partition_point.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/backends.hpp"

namespace tulle::cpu {
namespace {

constexpr int together = 4;         // dot products side by side
constexpr std::int64_t ahead = 16;  // entries whose row of V is asked for before its turn
constexpr std::int64_t line = 64;   // bytes

/// Rows of features: row i at data + i * stride, one after the other or `step` apart.
template <class T>
struct features {
  const T* data;
  std::int64_t stride;
  std::int64_t step;
};

/// sum[e] = u . v[e] for contiguous features.
template <int Count, class T>
[[gnu::always_inline]] inline void dots(const T* u, const T* const (&v)[together], index_t k, T (&sum)[together]) {
  constexpr index_t lanes = line / sizeof(T);
  T part[Count][lanes] = {};
  index_t f = 0;
  for (; f + lanes <= k; f += lanes) {
#pragma GCC unroll 4
    for (int e = 0; e < Count; ++e) {
#pragma omp simd
      for (index_t l = 0; l < lanes; ++l) part[e][l] += u[f + l] * v[e][f + l];
    }
  }
#pragma GCC unroll 4
  for (int e = 0; e < Count; ++e) {
    T rest = 0, whole = 0;
    for (index_t g = f; g < k; ++g) rest += u[g] * v[e][g];
#pragma omp simd reduction(+ : whole)
    for (index_t l = 0; l < lanes; ++l) whole += part[e][l];
    sum[e] = whole + rest;
  }
}

/// The same for features that are apart.
template <int Count, class T>
[[gnu::always_inline]] inline void dots(const features<T>& u_of, const features<T>& v_of, const T* u,
                                        const T* const (&v)[together], index_t k, T (&sum)[together]) {
  if (u_of.step == 1 && v_of.step == 1) return dots<Count>(u, v, k, sum);
  T part[Count] = {};
  for (index_t f = 0; f < k; ++f) {
    for (int e = 0; e < Count; ++e) part[e] += u[f * u_of.step] * v[e][f * v_of.step];
  }
  for (int e = 0; e < Count; ++e) sum[e] = part[e];
}

template <class T>
[[gnu::always_inline]] inline void ask_for(const T* row, index_t k) {
  const auto* const bytes = reinterpret_cast<const char*>(row);
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(sizeof(T)) * k; at += line) __builtin_prefetch(bytes + at);
}

template <class T, class O>
struct samples {
  csr_view<T, O> a;
  bool times_values;
  T alpha;
  features<T> u, v;
  index_t k;
  T beta;
  T* c;

  [[gnu::always_inline]] void store(O entry, T sum) const {
    T value = alpha * sum;
    if (times_values) value *= a.values[entry];
    if (beta != 0) value += beta * c[entry];
    c[entry] = value;
  }

  /// `Count` entries of one row.
  template <int Count>
  [[gnu::always_inline]] void take(O entry, const T* row) const {
    const T* other[together] = {};
    for (int e = 0; e < Count; ++e) other[e] = v.data + a.colind[entry + e] * v.stride;
    T sum[together];
    dots<Count>(u, v, row, other, k, sum);
    for (int e = 0; e < Count; ++e) store(entry + e, sum[e]);
  }

  [[gnu::always_inline]] void take(O begin, O end, index_t i) const {
    const bool contiguous = v.step == 1;
    O entry = begin;
    for (; entry < end; ++i) {
      const O row_end = std::min(a.rowptr[i + 1], end);
      const T* const row = u.data + i * u.stride;
      const auto prefetch = [&](int count) __attribute__((always_inline)) {
        if (!contiguous) return;
        for (std::int64_t e = entry + ahead; e < std::min<std::int64_t>(entry + ahead + count, end); ++e) {
          ask_for(v.data + a.colind[e] * v.stride, k);
        }
      };
      for (; row_end - entry >= together; entry += together) {
        prefetch(together);
        take<together>(entry, row);
      }
      for (; entry < row_end; ++entry) {
        prefetch(1);
        take<1>(entry, row);
      }
    }
  }
};

template <class T, class O>
class csr_dots final : public sddmm_operator {
 public:
  csr_dots(const context& ctx, csr_view<T, O> a, const sddmm_options& options)
      : a_(a),
        times_values_(options.times_values),
        most_(ctx.threads()),
        panel_(options.column_major ? buffer<T>(ctx, static_cast<std::size_t>(std::int64_t{a.rows} + a.cols) *
                                                         panel_features(scalar_type_of<T>))
                                    : buffer<T>()) {}

  void apply(double alpha, const strided_vectors& u, const strided_vectors& v, double beta, void* c,
             stream_view) override {
    samples<T, O> s{a_,      times_values_,        static_cast<T>(alpha), features_of(u), features_of(v),
                    u.count, static_cast<T>(beta), static_cast<T*>(c)};
    const bool transposes = !panel_.empty() && u.count > 1 && (s.u.step != 1 || s.v.step != 1);
    if (!transposes) return run(s);
    const index_t width = panel_features(scalar_type_of<T>);
    for (index_t first = 0; first < u.count; first += width) {
      samples<T, O> part = s;
      part.k = std::min(width, u.count - first);
      part.u = panel_of(s.u, a_.rows, first, part.k, panel_.data());
      part.v = panel_of(s.v, a_.cols, first, part.k, panel_.data() + std::int64_t{a_.rows} * width);
      if (first > 0) part.beta = 1;
      run(part);
    }
  }
  void update_values(const matrix_ref& a) override { a_ = a.as<T, O>(); }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return panel_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(most_) + " isa=" + std::string(name(isa_));
  }

 private:
  static features<T> features_of(const strided_vectors& v) {
    return {static_cast<const T*>(v.data), v.row_stride, v.vector_stride};
  }

  void run(const samples<T, O>& s) const {
    const std::int64_t nnz = a_.nnz;
    const int parts = threads_for(most_, nnz * (s.k / 8 + 1));
    for_each_part(parts, [&](int part) {
      const auto cut = [&](int p) { return static_cast<O>(nnz / parts * p + nnz % parts * p / parts); };
      const O begin = cut(part), end = cut(part + 1);
      if (begin == end) return;
      const index_t row = partition_point(index_t{0}, a_.rows, [&](index_t r) { return a_.rowptr[r + 1] <= begin; });
      with_isa(
          isa_, [&]() __attribute__((always_inline)) { s.take(begin, end, row); });
    });
  }

  /// The features [first, first + k) of all rows side by side; where they are, if that is so already.
  features<T> panel_of(const features<T>& from, index_t rows, index_t first, index_t k, T* to) const {
    if (from.step == 1) return {from.data + first, from.stride, 1};
    const index_t width = panel_features(scalar_type_of<T>);
    const T* const at = from.data + first * from.step;
    constexpr index_t block = 64;  // rows: a stripe of each feature stays in the first cache
    parallel_for(threads_for(most_, std::int64_t{rows} * k), (rows + block - 1) / block, [&](index_t b) {
      const index_t last = std::min(rows, (b + 1) * block);
      for (index_t f = 0; f < k; ++f) {
        for (index_t i = b * block; i < last; ++i)
          to[std::int64_t{i} * width + f] = at[f * from.step + i * from.stride];
      }
    });
    return {to, width, 1};
  }

  csr_view<T, O> a_;
  bool times_values_;
  int most_;
  buffer<T> panel_;  // of U and then V; empty: none
  isa isa_ = best_isa();
};

}  // namespace

sddmm_kernel csr_dots_entry() {
  return {
      .name = "csr.dots",
      .summary = "equal entries per thread, four dot products side by side",
      .backend = backend_kind::cpu,
      .make = make_operator<csr_dots>,
  };
}

}  // namespace tulle::cpu

// csr.serial and csr.balanced for complex numbers, 64-bit integers and booleans: y = alpha A x + beta y and several
// right-hand sides, in plain loops.
//
// Method: row-wise, one thread for consecutive rows of about equal numbers of rows and nonzeros (csr.serial: one for
// all). The sum of a row of 16 entries and more is taken in four interleaved parts, added in their order, so that
// results do not depend on the number of threads. Bytes per nonzero: sizeof(T) + 4, and per row one offset and one y.
// Chosen for these types, where there is no other kernel. With spmv_options::conjugate values are conjugated as they
// are read.
#include "cpu/spmv/csr_further.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cpu {
namespace {

using namespace further;

/// Right-hand sides that one pass over a row takes.
constexpr index_t vectors_at_once = 8;
using all_at_once = std::integral_constant<index_t, vectors_at_once>;
using all_side_by_side = std::integral_constant<std::int64_t, 1>;

template <class N>
struct entries {
  const index_t* colind;
  const N* values;
  int sign;  // -1: values are conjugated
};

template <class N>
[[gnu::always_inline]] inline N row_sum(const entries<N>& a, std::int64_t begin, std::int64_t end, const N* x) {
  constexpr int parts = 4;
  std::int64_t k = begin;
  if (end - begin < 4 * parts) {
    N sum = N::zero();
    for (; k < end; ++k) sum = multiply_add(sum, conjugated(a.sign, a.values[k]), x[a.colind[k]]);
    return sum;
  }
  N part[parts] = {N::zero(), N::zero(), N::zero(), N::zero()};
  for (; end - k >= parts; k += parts) {
    for (int p = 0; p < parts; ++p) {
      part[p] = multiply_add(part[p], conjugated(a.sign, a.values[k + p]), x[a.colind[k + p]]);
    }
  }
  for (int p = 0; k < end; ++k, ++p) part[p] = multiply_add(part[p], conjugated(a.sign, a.values[k]), x[a.colind[k]]);
  return add(add(part[0], part[1]), add(part[2], part[3]));
}

/// y = alpha sum + beta y; Plain: alpha is 1 and beta 0.
template <bool Plain, class N>
[[gnu::always_inline]] inline void store(double alpha, N sum, double beta, N& y) {
  if constexpr (Plain) {
    y = sum;
  } else {
    const N product = scaled(alpha, sum);
    y = beta == 0 ? product : add(product, scaled(beta, y));
  }
}

/// Sums of `count` vectors, at most vectors_at_once, side by side or apart.
template <class N, class Count, class Stride>
[[gnu::always_inline]] inline void row_sums(const entries<N>& a, std::int64_t begin, std::int64_t end, const N* x,
                                            std::int64_t row_stride, Stride vector_stride, Count count, N* sum) {
  for (index_t j = 0; j < count; ++j) sum[j] = N::zero();
  for (std::int64_t k = begin; k < end; ++k) {
    const N value = conjugated(a.sign, a.values[k]);
    const N* const v = x + a.colind[k] * row_stride;
    for (index_t j = 0; j < count; ++j) sum[j] = multiply_add(sum[j], value, v[j * vector_stride]);
  }
}

template <class N>
class csr_further final : public spmv_operator {
 public:
  csr_further(const matrix_ref& a, bool conjugate, int threads)
      : a_(a), rowptr_(a.rowptr, a.types.offset), sign_(conjugate ? -1 : 1) {
    const auto cut = [&](const auto* rowptr) {
      for (int p = 0; p < threads; ++p) cuts_.push_back(balanced_rows(a.rows, rowptr, p, threads));
    };
    rowptr_.wide ? cut(static_cast<const std::int64_t*>(a.rowptr)) : cut(static_cast<const std::int32_t*>(a.rowptr));
  }

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const auto* const from = static_cast<const N*>(x);
    auto* const to = static_cast<N*>(y);
    const auto multiply = [&]<bool Plain>(std::bool_constant<Plain>) {
      for_rows([&](row_range rows) __attribute__((always_inline)) {
        const entries<N> a = of();
        std::int64_t begin = rowptr_[rows.begin];
        for (index_t r = rows.begin; r < rows.end; ++r) {
          const std::int64_t end = rowptr_[r + 1];
          store<Plain>(alpha, row_sum(a, begin, end, from), beta, to[r]);
          begin = end;
        }
      });
    };
    alpha == 1 && beta == 0 ? multiply(std::true_type{}) : multiply(std::false_type{});
  }

  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y, stream_view) override {
    const auto* const from = static_cast<const N*>(x.data);
    auto* const to = static_cast<N*>(y.data);
    for_rows([&](row_range rows) __attribute__((always_inline)) {
      const entries<N> a = of();
      for (index_t r = rows.begin; r < rows.end; ++r) {
        for (index_t first = 0; first < x.count; first += vectors_at_once) {
          const index_t count = std::min(vectors_at_once, x.count - first);
          N sum[vectors_at_once];
          const N* const v = from + first * x.vector_stride;
          if (count == vectors_at_once && x.vector_stride == 1) {
            row_sums(a, rowptr_[r], rowptr_[r + 1], v, x.row_stride, all_side_by_side{}, all_at_once{}, sum);
          } else {
            row_sums(a, rowptr_[r], rowptr_[r + 1], v, x.row_stride, x.vector_stride, count, sum);
          }
          N* const w = to + r * y.row_stride + first * y.vector_stride;
          for (index_t j = 0; j < count; ++j) store<false>(alpha, sum[j], beta, w[j * y.vector_stride]);
        }
      }
    });
  }

  void update_values(const matrix_ref& a) override { a_ = a; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return static_cast<std::size_t>(a_.nnz) * (sizeof(N) + sizeof(index_t)) +
           (static_cast<std::size_t>(a_.rows) + 1) * size_of(a_.types.offset);
  }
  [[nodiscard]] std::string parameters() const override {
    return "threads=" + std::to_string(cuts_.size()) + (sign_ < 0 ? " conjugate" : "");
  }

 private:
  [[nodiscard, gnu::always_inline]] entries<N> of() const { return {a_.colind, static_cast<const N*>(a_.values), sign_}; }

  template <class F>
  void for_rows(const F& f) const {
    for_each_part(static_cast<int>(cuts_.size()), [&](int part) {
      const row_range rows = cuts_[static_cast<std::size_t>(part)];
      if (rows.begin == rows.end) return;
      with_isa(
          isa_, [&]() __attribute__((always_inline)) { f(rows); });
    });
  }

  matrix_ref a_;
  row_offsets rowptr_;
  int sign_;
  isa isa_ = best_isa();
  std::vector<row_range> cuts_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_further(const matrix_ref& a, const spmv_options& options, int threads) {
  return further::dispatch(a.types.value, [&]<class N>() -> std::unique_ptr<spmv_operator> {
    return std::make_unique<csr_further<N>>(a, options.conjugate, threads);
  });
}

}  // namespace tulle::cpu

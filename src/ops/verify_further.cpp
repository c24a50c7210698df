// The references and bounds of ops/verify.hpp for the further types, as real numbers: a complex element is a real and an
// imaginary one, an i64 its upper and its lower 32 bits.
//
// The real part of a sum of n complex products is an inner product of 2 n real terms, and so is the imaginary part: the
// bound is gamma(2 n + 2) of their magnitudes, whatever the order of the terms and with or without fused operations
// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, sections 3.1 and 3.6). Integers and booleans are exact.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tulle/ops/verify.hpp>

#include "core/parallel.hpp"
#include "formats/check.hpp"
#include "ops/exact_sum.hpp"

namespace tulle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <further_scalar T>
struct further_sum;

template <class R>
struct further_sum<std::complex<R>> {
  static constexpr std::size_t parts = 2;
  term_sum<R> re, im;

  void add(std::complex<R> a, std::complex<R> b) {
    re.add(a.real(), b.real());
    re.add(-a.imag(), b.imag());
    im.add(a.real(), b.imag());
    im.add(a.imag(), b.real());
  }
  [[nodiscard]] std::int64_t terms() const { return re.terms; }
  static std::array<exact_element, 2> of(const further_sum& product, const further_sum& d, std::complex<R> alpha,
                                         std::complex<R> beta) {
    return {exact_of(product.re, d.re, alpha.real(), beta.real()), exact_of(product.im, d.im, alpha.real(), beta.real())};
  }
  static std::array<double, 2> numbers(std::complex<R> v) { return {double{v.real()}, double{v.imag()}}; }
};

template <>
struct further_sum<std::int64_t> {
  static constexpr std::size_t parts = 2;
  std::uint64_t whole = 0;
  std::int64_t count = 0;

  void add(std::int64_t a, std::int64_t b) {
    whole += static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
    ++count;
  }
  [[nodiscard]] std::int64_t terms() const { return count; }
  static std::array<exact_element, 2> of(const further_sum& product, const further_sum& d, std::int64_t alpha,
                                         std::int64_t beta) {
    const auto sum = static_cast<std::uint64_t>(alpha) * product.whole + static_cast<std::uint64_t>(beta) * d.whole;
    const auto [high, low] = numbers(static_cast<std::int64_t>(sum));
    return {exact_element{high}, exact_element{low}};
  }
  static std::array<double, 2> numbers(std::int64_t v) {
    return {static_cast<double>(v >> 32), static_cast<double>(static_cast<std::uint32_t>(v))};
  }
};

template <>
struct further_sum<bool> {
  static constexpr std::size_t parts = 1;
  bool any = false;
  std::int64_t count = 0;

  void add(bool a, bool b) {
    any = any || (a && b);
    ++count;
  }
  [[nodiscard]] std::int64_t terms() const { return count; }
  static std::array<exact_element, 1> of(const further_sum& product, const further_sum& d, bool alpha, bool beta) {
    return {exact_element{(alpha && product.any) || (beta && d.any) ? 1.0 : 0.0}};
  }
  static std::array<double, 1> numbers(bool v) { return {v ? 1.0 : 0.0}; }
};

template <further_scalar T>
void check_real(std::string_view function, T alpha, T beta) {
  if constexpr (complex_scalar<T>) {
    if (alpha.imag() == 0 && beta.imag() == 0) return;
    throw error(status::unsupported, fmt::format("{}: alpha and beta must be real", function));
  }
}

template <further_scalar T>
double ratio_of(const further_sum<T>& product, const further_sum<T>& d, T alpha, T beta, T computed) {
  const auto exact = further_sum<T>::of(product, d, alpha, beta);
  const auto got = further_sum<T>::numbers(computed);
  double worst = 0;
  for (std::size_t p = 0; p < exact.size(); ++p) worst = std::max(worst, error_ratio(exact[p], got[p]));
  return worst;
}

template <further_scalar T>
struct further_entry {
  further_sum<T> product, d;
};

/// The largest error of row i of C over its bound; `wrong` says what its pattern lacks. `slot`: 0 for every column.
template <further_scalar T, offset O, offset P>
double check_row(const spgemm_expectation<T, O>& x, csr_view<T, P> c, index_t i, std::vector<index_t>& slot,
                 std::string& wrong) {
  std::vector<further_entry<T>> entries(static_cast<std::size_t>(c.rowptr[i + 1] - c.rowptr[i]));
  const auto place = [&](index_t column) -> further_entry<T>* {
    const index_t at = slot[static_cast<std::size_t>(column)];
    if (at == 0 && wrong.empty()) wrong = fmt::format("row {}: column {} is missing", i, column);
    return at == 0 ? nullptr : &entries[static_cast<std::size_t>(at - 1)];
  };
  for (P k = c.rowptr[i]; k < c.rowptr[i + 1]; ++k) {
    if (k > c.rowptr[i] && c.colind[k] <= c.colind[k - 1]) wrong = fmt::format("row {}: columns do not ascend", i);
    slot[static_cast<std::size_t>(c.colind[k])] = static_cast<index_t>(k - c.rowptr[i]) + 1;
  }
  for (O k = x.a.rowptr[i]; k < x.a.rowptr[i + 1]; ++k) {
    for (O l = x.b.rowptr[x.a.colind[k]]; l < x.b.rowptr[x.a.colind[k] + 1]; ++l) {
      if (auto* const e = place(x.b.colind[l])) e->product.add(x.a.values[k], x.b.values[l]);
    }
  }
  for (O k = x.d ? x.d->rowptr[i] : 0; x.d && k < x.d->rowptr[i + 1]; ++k) {
    if (auto* const e = place(x.d->colind[k])) e->d.add(x.d->values[k], T{1});
  }
  double worst = 0;
  for (P k = c.rowptr[i]; k < c.rowptr[i + 1]; ++k) {
    const further_entry<T>& e = entries[static_cast<std::size_t>(k - c.rowptr[i])];
    if (e.product.terms() + e.d.terms() == 0) wrong = fmt::format("row {}: column {} is not in the product", i, c.colind[k]);
    worst = std::max(worst, ratio_of(e.product, e.d, x.alpha, x.beta, c.values[k]));
    slot[static_cast<std::size_t>(c.colind[k])] = 0;
  }
  return wrong.empty() ? worst : infinity;
}

}  // namespace

template <further_scalar T, offset O>
spmv_reference reference_spmv(const context&, T alpha, csr_view<T, O> a, host_span<const T> x, T beta,
                              host_span<const T> y0) {
  check_csr("reference_spmv", a);
  check_real("reference_spmv", alpha, beta);
  const auto rows = static_cast<std::size_t>(a.rows);
  if (x.size() != static_cast<std::size_t>(a.cols) || (y0.size() != rows && (beta != T{0} || !y0.empty()))) {
    throw error(status::invalid_dimensions, fmt::format("reference_spmv: the matrix is {} x {}, x has {} elements and y0 {}",
                                                        a.rows, a.cols, x.size(), y0.size()));
  }
  spmv_reference out;
  for (index_t r = 0; r < a.rows; ++r) {
    further_sum<T> product, d;
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) product.add(a.values[k], x[static_cast<std::size_t>(a.colind[k])]);
    if (beta != T{0}) d.add(y0[static_cast<std::size_t>(r)], T{1});
    for (const exact_element& part : further_sum<T>::of(product, d, alpha, beta)) {
      out.value.push_back(part.value);
      out.value_low.push_back(part.low);
      out.bound.push_back(part.bound);
    }
  }
  return out;
}

template <further_scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y) {
  constexpr std::size_t parts = further_sum<T>::parts;
  if (parts * y.size() != reference.value.size()) {
    throw error(status::invalid_dimensions, fmt::format("error_ratio: y has {} elements, the reference {}", y.size(),
                                                        reference.value.size() / parts));
  }
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto got = further_sum<T>::numbers(y[i]);
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t at = parts * i + p;
      const exact_element exact{reference.value[at], reference.value_low[at], reference.bound[at]};
      worst = std::max(worst, error_ratio(exact, got[p]));
    }
  }
  return worst;
}

template <further_scalar T, offset O, offset P>
spgemm_verdict check_spgemm(const context&, const spgemm_expectation<T, O>& expected, csr_view<T, P> c, std::int64_t) {
  check_csr("check_spgemm", c);
  check_real("check_spgemm", expected.alpha, expected.beta);
  if (expected.mask) throw error(status::unsupported, "check_spgemm: no mask with these types");
  if (c.rows != expected.a.rows || c.cols != expected.b.cols) return {infinity, 0, fmt::format("C is {} x {}", c.rows, c.cols)};
  spgemm_verdict verdict;
  std::vector<index_t> slot(static_cast<std::size_t>(c.cols), 0);
  for (index_t i = 0; i < c.rows && verdict.wrong.empty(); ++i, ++verdict.checked_rows) {
    verdict.error_ratio = std::max(verdict.error_ratio, check_row(expected, c, i, slot, verdict.wrong));
  }
  return verdict;
}

#define TULLE_INSTANTIATE(T)                                                                                     \
  template spmv_reference reference_spmv(const context&, T, csr_view<T, std::int64_t>, host_span<const T>, T,    \
                                         host_span<const T>);                                                    \
  template double error_ratio(const spmv_reference&, host_span<const T>);                                        \
  template spgemm_verdict check_spgemm(const context&, const spgemm_expectation<T, std::int64_t>&,               \
                                       csr_view<T, std::int64_t>, std::int64_t);
TULLE_INSTANTIATE(std::complex<float>)
TULLE_INSTANTIATE(std::complex<double>)
TULLE_INSTANTIATE(std::int64_t)
TULLE_INSTANTIATE(bool)

}  // namespace tulle

/// @file
/// The componentwise errors of a computed y = alpha A x + beta y0 and C = M o (alpha A B) + beta D against their
/// bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/formats/views.hpp>
#include <tulle/ops/spmv_options.hpp>

namespace tulle {

/// alpha A x + beta y0 in higher precision, with the bound on what a kernel may add to it, row by row.
struct spmv_reference {
  std::vector<double> value;      ///< the high part of a double-double sum (f64) or a double sum (f32); exact for i32
  std::vector<double> value_low;  ///< the low part; empty unless f64
  std::vector<double> bound;      ///< gamma(n_i + 2) (|alpha| |A| |x| + |beta| |y0|)_i; 0 for i32
};

/// Host matrices and vectors only. y0 may be empty when beta is 0. u is 2^-24 for f32, 2^-53 for f64, 0 for i32
/// (whose sums are exact modulo 2^32).
template <scalar T, offset O>
spmv_reference reference_spmv(const context& ctx, T alpha, csr_view<T, O> a, host_span<const T> x, T beta,
                              host_span<const T> y0);

/// The same for c64, c128, i64 and bool, as real numbers: of a complex row its real and its imaginary part, with
/// gamma(2 n_i + 2) of their terms; of an i64 its upper and its lower 32 bits, exact; a bool is 0 or 1. alpha and beta
/// are real. For offsets of 64 bits.
template <further_scalar T, offset O>
spmv_reference reference_spmv(const context& ctx, T alpha, csr_view<T, O> a, host_span<const T> x, T beta,
                              host_span<const T> y0);

/// Adds to the bound of each row what storing A in fewer bits may bring, times |alpha|: of row i tolerance (|A| |x|)_i,
/// tolerance ||a_i||_1 ||x||_inf or tolerance ||A||_inf ||x||_inf. Host matrices and vectors only.
template <offset O>
void add_promise(spmv_reference& reference, double alpha, csr_view<double, O> a, host_span<const double> x,
                 const value_tolerance& promise);

/// The largest |y_i - reference_i| / bound_i: at most 1 for a right kernel. 0 / 0 counts as 0, a difference where the
/// bound is 0 as infinity. Where the reference is not finite, y_i must be NaN for NaN and the same infinity for an
/// infinity (a NaN is accepted where the row holds infinities of both signs), else infinity.
template <scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y);

template <further_scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y);

/// The C = M o (alpha A B) + beta D that was asked for: sound host matrices as they multiply (transposes taken), rows in
/// any order, duplicates add up. The values of the mask are not read.
template <scalar T, offset O = std::int64_t>
struct spgemm_expectation {
  csr_view<T, O> a;                         ///< as it multiplies, on the host
  csr_view<T, O> b;                         ///< as it multiplies, on the host
  std::optional<csr_view<T, O>> mask = {};  ///< M, whose pattern counts
  std::optional<csr_view<T, O>> d = {};     ///< D
  T alpha = 1;                              ///< of A B
  T beta = 0;                               ///< of D
};

/// What check_spgemm found.
struct spgemm_verdict {
  double error_ratio = 0;         ///< the largest error over its bound; infinite for a wrong pattern
  std::int64_t checked_rows = 0;  ///< of C; all, or evenly spaced ones
  std::string wrong;  ///< "row 3: column 7 is missing", of the first such row; empty where the pattern is right
  /// Whether every value checked is within its bound and the pattern is right.
  [[nodiscard]] bool ok() const { return error_ratio <= 1; }
};

/// Computes rows of C anew in higher precision and holds the entries of `c`, a host matrix, to
/// gamma(n + 2) (|alpha| |A| |B| + |beta| |D|), n the terms of an entry (i32: to the sum modulo 2^32), and its columns to
/// the pattern, strictly ascending. NaN and infinities as in error_ratio. Looks at all rows where that takes at most
/// `most_products` multiplications, else at evenly spaced ones.
template <scalar T, offset O = std::int64_t, offset P>
spgemm_verdict check_spgemm(const context& ctx, const spgemm_expectation<T, O>& expected, csr_view<T, P> c,
                            std::int64_t most_products = std::int64_t{1} << 28);
/// The same for c64, c128, i64 and bool, all rows, without a mask; offsets of 64 bits.
template <further_scalar T, offset O = std::int64_t, offset P>
spgemm_verdict check_spgemm(const context& ctx, const spgemm_expectation<T, O>& expected, csr_view<T, P> c,
                            std::int64_t most_products = std::int64_t{1} << 28);

}  // namespace tulle

// The componentwise error of a computed y = alpha A x + beta y0 against its bound.
#pragma once

#include <cstdint>
#include <vector>

#include <tulle/core/context.hpp>
#include <tulle/core/span.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// alpha A x + beta y0 in higher precision, with the bound on what a kernel may add to it, row by row.
struct spmv_reference {
  std::vector<double> value;     // the high part of a double-double sum (f64) or a double sum (f32); exact for i32
  std::vector<double> value_low; // the low part; empty unless f64
  std::vector<double> bound;     // gamma(n_i + 2) (|alpha| |A| |x| + |beta| |y0|)_i; 0 for i32
};

/// Host matrices and vectors only. y0 may be empty when beta is 0. u is 2^-24 for f32, 2^-53 for f64, 0 for i32
/// (whose sums are exact modulo 2^32).
template <scalar T, offset O>
spmv_reference reference_spmv(const context& ctx, T alpha, csr_view<T, O> a, host_span<const T> x, T beta,
                              host_span<const T> y0);

/// The largest |y_i - reference_i| / bound_i: at most 1 for a right kernel. 0 / 0 counts as 0, a difference where the
/// bound is 0 as infinity. Where the reference is not finite, y_i must be NaN for NaN and the same infinity for an
/// infinity (a NaN is accepted where the row holds infinities of both signs), else infinity.
template <scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y);

}  // namespace tulle

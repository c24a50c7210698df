// The inverse of a small dense symmetric matrix by its Cholesky factors. What is constexpr here also runs on the
// device.
#pragma once

#include <cmath>

namespace tulle {

/// The inverse of the factor L of A = L L^T in the lower triangle of `inverse`, from the lower triangle of the b x b
/// matrix `a`, row by row, which is of no use afterwards; b <= B. False where A is not positive definite; NaN passes
/// through. inverse is 0 at first.
template <int B>
constexpr bool invert_factor(double* a, int b, double* inverse) {
  for (int j = 0; j < b; ++j) {  // A = L L^T, L in the lower triangle
    for (int k = 0; k < j; ++k) {
      for (int i = j; i < b; ++i) a[i * b + j] -= a[i * b + k] * a[j * b + k];
    }
    const double pivot = a[j * b + j];
    if (pivot <= 0) return false;
    const double root = std::sqrt(pivot);
    for (int i = j; i < b; ++i) a[i * b + j] /= root;
  }
  for (int j = 0; j < b; ++j) {
    for (int i = j; i < b; ++i) {
      double sum = i == j ? 1 : 0;
      for (int k = j; k < i; ++k) sum -= a[i * b + k] * inverse[k * b + j];
      inverse[i * b + j] = sum / a[i * b + i];
    }
  }
  return true;
}

/// Replaces the b x b matrix `a` (row by row, its lower triangle is read) by its inverse; b <= B. False where it is not
/// positive definite, and then `a` is of no use; NaN passes through.
template <int B>
constexpr bool invert_positive_definite(double* a, int b) {
  double inverse[B * B] = {};
  if (!invert_factor<B>(a, b, inverse)) return false;
  for (int i = 0; i < b; ++i) {  // L^-T L^-1
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = i; k < b; ++k) sum += inverse[k * b + i] * inverse[k * b + j];
      a[i * b + j] = a[j * b + i] = sum;
    }
  }
  return true;
}

}  // namespace tulle

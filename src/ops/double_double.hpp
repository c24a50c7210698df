// Unevaluated sums of two doubles: about 106 bits (Dekker, Numer. Math. 18, 1971; Ogita, Rump, Oishi, SISC 2005).
#pragma once

#include <cmath>

namespace tulle {

struct double_double {
  double high = 0;
  double low = 0;
};

/// a + b exactly (Knuth's TwoSum).
inline double_double two_sum(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

/// a * b exactly, barring underflow.
inline double_double two_product(double a, double b) {
  const double p = a * b;
  return {p, std::fma(a, b, -p)};
}

inline double_double operator+(double_double a, double_double b) {
  const double_double s = two_sum(a.high, b.high);
  return two_sum(s.high, s.low + (a.low + b.low));
}

inline double_double operator*(double a, double_double b) {
  const double_double p = two_product(a, b.high);
  return two_sum(p.high, std::fma(a, b.low, p.low));
}

}  // namespace tulle

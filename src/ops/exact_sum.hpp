// An element of alpha A B + beta D in higher precision, and how far a computed one is from it: for y = A x, whose x is
// a B of one column, and for products alike.
//
// In double-double for f64, in double for f32, whose products are exact in it, and modulo 2^32 for i32. The bound is
// gamma(n + 2) (|alpha| |A| |B| + |beta| |D|), n the terms of the element, with gamma(k) = k u / (1 - k u) (Higham,
// Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), plus n + 2 of T's smallest numbers (times |alpha|
// where it is above 1) for products that underflow, which gamma does not cover. It is infinite, and holds for any
// result, where n + 2 >= 1 / u or where a partial sum of finite numbers may exceed T's largest number.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <tulle/core/types.hpp>

namespace tulle {

/// An unevaluated sum of two doubles: about 106 bits (Dekker, Numer. Math. 18, 1971; Ogita, Rump, Oishi, SISC 2005).
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

/// The terms of an element that come from A B, or those that come from D.
template <scalar T>
class term_sum {
 public:
  void add(T left, T right) {
    ++terms;
    if constexpr (std::integral<T>) {
      whole += static_cast<std::uint32_t>(left) * static_cast<std::uint32_t>(right);
    } else {
      const double product = static_cast<double>(left) * right;
      plain += product;
      magnitude += std::abs(product);
      finite = finite && std::isfinite(left) && std::isfinite(right);
      if constexpr (std::same_as<T, double>) exact = exact + two_product(left, right);
    }
  }

  std::int64_t terms = 0;
  std::uint32_t whole = 0;  // i32: modulo 2^32
  double_double exact;      // f64
  double plain = 0;         // in double; what it says of infinities and NaNs counts
  double magnitude = 0;     // of |left| |right|
  bool finite = true;
};

struct exact_element {
  double value = 0;  // value + low
  double low = 0;
  double bound = 0;
};

inline exact_element exact_of(const term_sum<std::int32_t>& product, const term_sum<std::int32_t>& d,
                              std::int32_t alpha, std::int32_t beta) {
  const std::uint32_t sum =
      static_cast<std::uint32_t>(alpha) * product.whole + static_cast<std::uint32_t>(beta) * d.whole;
  return {static_cast<double>(static_cast<std::int32_t>(sum)), 0, 0};
}

/// D plays no part where beta is 0.
template <std::floating_point T>
exact_element exact_of(const term_sum<T>& product, const term_sum<T>& d, T alpha_t, T beta_t) {
  const bool adds = beta_t != 0 && d.terms > 0;
  const double alpha = alpha_t, beta = adds ? beta_t : 0;
  const double plain = adds ? alpha * product.plain + beta * d.plain : alpha * product.plain;
  if (!product.finite || !std::isfinite(alpha) || (adds && !(d.finite && std::isfinite(beta)))) return {plain, 0, 0};
  const std::int64_t all = product.terms + (adds ? d.terms : 0);
  const double terms = static_cast<double>(product.terms + (adds ? d.terms - 1 : 0)) + 2;
  const double ku = terms * std::numeric_limits<T>::epsilon() / 2;
  const double scaled = std::abs(alpha) * product.magnitude + std::abs(beta) * (adds ? d.magnitude : 0);
  if (ku >= 1 || !(std::max(product.magnitude, scaled) * (1 + ku) < std::numeric_limits<T>::max())) {
    return {0, 0, std::numeric_limits<double>::infinity()};
  }
  exact_element out{plain, 0, ku / (1 - ku) * scaled};
  if (all > 0) out.bound += terms * std::max(1.0, std::abs(alpha)) * double{std::numeric_limits<T>::denorm_min()};
  if constexpr (std::same_as<T, double>) {
    const double_double exact = adds ? alpha * product.exact + beta * d.exact : alpha * product.exact;
    out.value = exact.high;
    out.low = exact.low;
  }
  return out;
}

/// The distance over the bound: above 1 where the computed number is wrong, infinite where an infinity or NaN is.
inline double error_ratio(const exact_element& exact, double computed) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (exact.bound == infinity) return 0;
  if (!std::isfinite(exact.value)) {
    const bool same = std::isnan(exact.value) ? std::isnan(computed) : computed == exact.value;
    return same ? 0 : infinity;
  }
  const double difference = std::abs((computed - exact.value) - exact.low);
  if (difference == 0) return 0;
  return std::isnan(difference) || exact.bound == 0 ? infinity : difference / exact.bound;
}

}  // namespace tulle

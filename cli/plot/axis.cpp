#include "axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/quantity.hpp"

namespace tulle::cli::plot {
namespace {

constexpr std::array<int, 3> steps{1, 2, 5};

/// 1e-8, 0.002, 500, 2,000, 2e6: as short as it is exact.
std::string short_number(double v) {
  if (std::abs(v) >= 1e3 && std::abs(v) < 1e5 && v == std::round(v)) return grouped(static_cast<std::int64_t>(v));
  if (v == 0 || (std::abs(v) >= 1e-3 && std::abs(v) < 1e5)) return fmt::format("{:.6g}", v);
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(v)) + 1e-9));
  return fmt::format("{:.6g}e{}", v / std::pow(10, exponent), exponent);
}

/// 0, 20k, 40k where the largest number is 10,000 or more, so that all labels have one unit.
std::string in_unit_of(double v, double largest) {
  if (v == 0 || largest < 1e4 || largest >= 1e12) return short_number(v);
  const auto [unit, letter] = largest < 1e7    ? std::pair{1e3, 'k'}
                              : largest < 1e10 ? std::pair{1e6, 'M'}
                                               : std::pair{1e9, 'G'};
  return fmt::format("{:.6g}{}", v / unit, letter);
}

/// The least of 1, 2 and 5 times a power of ten that is not below v.
double round_up(double v) {
  const double power = std::pow(10, std::floor(std::log10(v)));
  for (const int s : steps) {
    if (v <= s * power * (1 + 1e-9)) return s * power;
  }
  return 10 * power;
}

/// The largest that is not above v.
double round_down(double v) {
  const double power = std::pow(10, std::floor(std::log10(v) + 1e-9));
  double result = power;
  for (const int s : steps) {
    if (s * power <= v * (1 + 1e-9)) result = s * power;
  }
  return result;
}

}  // namespace

double axis::share(double value) const {
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

axis linear_axis(std::string label, double low, double high, int most, double least_step) {
  axis a{low, high, false, std::move(label), {}};
  const double step = std::max(least_step, round_up((high - low) / std::max(most, 1)));
  const double largest = std::max(std::abs(low), std::abs(high));
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    const double at = i * step + 0.0;  // never -0
    a.ticks.push_back({at, in_unit_of(at, largest)});
  }
  return a;
}

axis logarithmic_axis(std::string label, double low, double high, int most) {
  axis a{round_down(low), round_up(high), true, std::move(label), {}};
  if (a.low >= a.high) a.high = round_up(a.low * 1.5);
  const int first = static_cast<int>(std::floor(std::log10(a.low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(a.high) - 1e-9));
  const bool fine = 3 * (last - first) <= most || last - first < 2;
  const int stride = std::max(1, (last - first + most - 1) / std::max(most, 1));
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (const int s : steps) {
      const double at = s * std::pow(10, exponent);
      const bool inside = at >= a.low * (1 - 1e-9) && at <= a.high * (1 + 1e-9);
      if (inside && (fine || s == 1)) a.ticks.push_back({at, short_number(at)});
    }
  }
  return a;
}

}  // namespace tulle::cli::plot

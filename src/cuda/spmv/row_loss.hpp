// Which storage of a row's values, f64, f32 or bf16, keeps a promise about their error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tulle/ops/spmv_options.hpp>

#include "kernels/value_storage.hpp"

namespace tulle::cuda {

/// The upper half of an f32, rounded to nearest, ties to even.
constexpr std::uint16_t to_bf16(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  if (v != v) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
constexpr float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// What the values of a row lose in f32 and in bf16.
struct row_loss {
  double sum = 0;       // of |a|
  double lost[2] = {};  // sum of |a - rounded(a)|
  bool beyond[2] = {};  // an entry loses more than its share: of the componentwise bound

  /// A value that is not finite stays what it is, and loses nothing.
  constexpr void add(double a, double tolerance) {
    constexpr double most = std::numeric_limits<double>::max();
    const double size = a < 0 ? -a : a;
    if (!(size <= most)) return;
    const auto narrow = static_cast<float>(a);
    const double rounded[2] = {narrow, from_bf16(to_bf16(narrow))};
    sum += size;
    for (int k = 0; k < 2; ++k) {
      const double loss = a < rounded[k] ? rounded[k] - a : a - rounded[k];
      lost[k] += loss;
      beyond[k] = beyond[k] || !(loss <= tolerance * size);
    }
  }

  /// The narrowest storage that keeps the promise; `norm`: the largest row sum of the matrix. Sums of `count` terms are
  /// trusted to their rounding error.
  constexpr value_storage narrowest(const value_tolerance& t, double norm, double count) const {
    const double trust = 1 - 2 * count * std::numeric_limits<double>::epsilon();
    const double room = t.tolerance * (t.bound == error_bound::norm ? norm : sum) * trust;
    const bool fits[2] = {t.bound == error_bound::componentwise ? !beyond[0] : lost[0] <= room,
                          t.bound == error_bound::componentwise ? !beyond[1] : lost[1] <= room};
    return fits[1] ? value_storage::bf16 : fits[0] ? value_storage::f32 : value_storage::whole;
  }
};

}  // namespace tulle::cuda

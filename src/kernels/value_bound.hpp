// Which storage of a row's values keeps a promise about their error, or is what a rule of size says.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tulle/ops/spmv_options.hpp>

#include "kernels/value_storage.hpp"

namespace tulle {

/// A number in 11 bits and an exponent of 5, rounded to nearest, ties to even; from 65520 on it is infinite.
constexpr std::uint16_t to_f16(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  if (v != v) return static_cast<std::uint16_t>(sign | 0x7e00);
  const double size = v < 0 ? -v : v;
  if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (size < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<int>(size * 0x1p24 + 0x1p52 - 0x1p52));
  const std::uint64_t rounded = (bits & ~(std::uint64_t{1} << 63)) + ((std::uint64_t{1} << 41) - 1) + (bits >> 42 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded >> 42) - ((1023 - 15) << 10)));
}
constexpr float from_f16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
  const float size =
      rest < 0x400 ? static_cast<float>(rest) * 0x1p-24f : std::bit_cast<float>((rest << 13) + (112u << 23));
  return sign != 0 ? -size : size;
}

/// How the values of a row, or of rows that share a slice, are stored: as they are (0), as floats (1), or as halves
/// times 2^(8 (form - 2) - 120), which leaves 21 binades at least with all their bits below the largest value.
using row_form = std::uint8_t;
inline constexpr row_form whole_form = 0, f32_form = 1, least_f16_form = 2, most_f16_form = 31;
inline constexpr row_form any_form = 0xff;  // of a row without values
inline constexpr int row_form_bits = 5;

constexpr value_storage storage_of(row_form f) {
  return f == whole_form ? value_storage::whole : f == f32_form ? value_storage::f32 : value_storage::f16;
}
/// A form that takes what either of the two does.
constexpr row_form joined(row_form a, row_form b) {
  if (a == b || b == any_form) return a;
  if (a == any_form) return b;
  return a == whole_form || b == whole_form ? whole_form : f32_form;
}
/// By which halves of the form are to be multiplied: exactly, as no product is outside what floats can hold.
constexpr float f16_scale(row_form f) {
  return std::bit_cast<float>((8 * static_cast<std::uint32_t>(f - least_f16_form) + 7) << 23);
}
constexpr std::uint16_t to_f16(double v, row_form f) {
  const auto inverse = static_cast<std::uint64_t>(1023 + 120 - 8 * (f - least_f16_form)) << 52;
  return to_f16(v * std::bit_cast<double>(inverse));
}
/// Of a row whose largest value is that, which is finite; whole_form where none is large enough.
constexpr row_form f16_form_for(double largest) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(largest) >> 52) - 1022;  // largest < 2^exponent
  const int least = std::max(0, (exponent - 15 + 120 + 7) >> 3);
  return least_f16_form + least <= most_f16_form ? static_cast<row_form>(least_f16_form + least) : whole_form;
}

/// The place of a form among whole, f32, f16.
constexpr std::size_t place_of(row_form f) { return f == whole_form ? 0 : f == f32_form ? 1 : 2; }

/// Rows, entries and bytes of values, by form: whole, f32, f16.
struct form_counts {
  std::int64_t rows[3], entries[3], bytes[3];

  constexpr void add(row_form form, std::int64_t of_entries) {
    for (std::size_t k = 0; k < 3; ++k) {  // no index that is not known, so that a GPU keeps them in registers
      if (k != place_of(form)) continue;
      ++rows[k];
      entries[k] += of_entries;
      bytes[k] += of_entries * (8 >> k);
    }
  }
  constexpr form_counts& operator+=(const form_counts& other) {
    for (int k = 0; k < 3; ++k) {
      rows[k] += other.rows[k];
      entries[k] += other.entries[k];
      bytes[k] += other.bytes[k];
    }
    return *this;
  }
};

/// What was found of rows, or of entries.
struct form_findings {
  form_counts counts = {};
  double lost = 0;  // the largest |a - a'| / |a|

  constexpr form_findings& operator+=(const form_findings& other) {
    counts += other.counts;
    lost = std::max(lost, other.lost);
    return *this;
  }
};

/// What may be stored in fewer bits, for one matrix.
struct value_selection {
  value_tolerance promise = {};
  double norm = 0;     // with error_bound::norm: the largest row sum of |A|
  double below = 0;    // above 0: by size, and there is no promise
  double percent = 0;  // of a row, by size
};

/// `mean()` of |a|, and `norm()`, the largest row sum of |A|: each is called where the options speak of it. No value is
/// below 0, but that would be no rule.
template <class Mean, class Norm>
value_selection selection_of(const spmv_options& options, const Mean& mean, const Norm& norm) {
  value_selection out{.promise = options.values};
  if (const auto& rule = options.value_rule) {
    out.percent = rule->percent;
    out.below =
        std::max(rule->below > 0 ? rule->below : rule->shrink * mean(), std::numeric_limits<double>::denorm_min());
  } else if (options.values.tolerance > 0 && options.values.bound == error_bound::norm) {
    out.norm = norm();
  }
  return out;
}

/// Without a branch, which signs would make wrong half of the time.
constexpr double magnitude(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) << 1 >> 1); }

/// The sizes of a row's values.
struct row_sizes {
  double sum = 0;      // of those that are finite, as
  double largest = 0;  // among them
  std::int64_t small = 0;
  bool beyond_f32 = false;

  constexpr void add(double a, double below) {
    const double size = magnitude(a);
    beyond_f32 = beyond_f32 || size > static_cast<double>(std::numeric_limits<float>::max());
    small += size < below ? 1 : 0;
    if (!(size <= std::numeric_limits<double>::max())) return;
    sum += size;
    largest = size > largest ? size : largest;
  }
};

/// What a finite value loses as a float; infinite beyond what floats hold.
constexpr double lost_in_f32(double a) { return magnitude(a - static_cast<double>(static_cast<float>(a))); }
/// What it loses as a half of a form: the last of 11 bits, or 2^-24 times the scale where that is more, is the last bit
/// of a double that is this much larger. One that no half is as large as loses anything.
constexpr double lost_in_f16(double a, double scale) {
  constexpr std::uint64_t exponent = std::uint64_t{0x7ff} << 52;
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & exponent);
  const double larger = std::max(0x1.8p42 * power, 0x1.8p28 * scale);
  return magnitude(a - ((a + larger) - larger));
}

/// What the values of a row lose in f32, and in f16 of a form.
struct row_loss {
  double lost[2] = {};   // in all
  double share[2] = {};  // the most that one loses of itself

  /// A value that is not finite stays what it is, and loses nothing. `scale`: of the halves.
  constexpr void add(double value, double scale) {
    const double a = magnitude(value) <= std::numeric_limits<double>::max() ? value : 0;
    const double size = a == 0 ? 1 : magnitude(a);
    const double loss[2] = {lost_in_f32(a), lost_in_f16(a, scale)};
    for (int k = 0; k < 2; ++k) {
      lost[k] += loss[k];
      share[k] = std::max(share[k], loss[k] / size);
    }
  }
};

/// What a row of `count` values may lose in all; their sum is trusted to its rounding error. Not more than 0 where the
/// sum is not finite.
constexpr double room_of_row(const value_selection& s, double sum, double count) {
  const double trust = 1 - 2 * count * std::numeric_limits<double>::epsilon();
  const double of = s.promise.bound == error_bound::norm ? s.norm : sum;
  return of <= std::numeric_limits<double>::max() ? s.promise.tolerance * of * trust : 0;
}

/// The narrowest storage of a row that is allowed; `half`: the form of its halves.
constexpr row_form narrowest_form(const value_selection& s, const row_sizes& sizes, const row_loss& loss, row_form half,
                                  std::int64_t count) {
  if (count == 0) return any_form;
  if (s.below > 0) {
    const bool enough = 100 * static_cast<double>(sizes.small) >= s.percent * static_cast<double>(count);
    return enough && !sizes.beyond_f32 ? f32_form : whole_form;
  }
  const double room = room_of_row(s, sizes.sum, static_cast<double>(count));
  bool fits[2] = {};
  for (int k = 0; k < 2; ++k) {
    fits[k] =
        s.promise.bound == error_bound::componentwise ? loss.share[k] <= s.promise.tolerance : loss.lost[k] <= room;
  }
  return fits[1] && half != whole_form ? half : fits[0] ? f32_form : whole_form;
}

/// Whether one value of a row of `count` may be a float; `room`: of the row.
constexpr bool fits_f32(const value_selection& s, double a, double room, double count) {
  const double size = magnitude(a);
  if (s.below > 0) return size < s.below && size <= static_cast<double>(std::numeric_limits<float>::max());
  if (!(size <= std::numeric_limits<double>::max())) return true;
  const double loss = lost_in_f32(a);
  return s.promise.bound == error_bound::componentwise ? loss <= s.promise.tolerance * size : loss * count <= room;
}

}  // namespace tulle

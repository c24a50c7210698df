#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <limits>

#include "core/instantiate.hpp"
#include "io/generate_pattern.hpp"
#include "io/generate_random.hpp"

namespace tulle::generators_detail {
namespace {

constexpr std::uint64_t value_family = 0x76616c756573;  // keeps values apart from the columns drawn with the same seed

/// -8 .. -1, 1 .. 8 from four bits.
template <scalar T>
T small_integer(std::uint64_t hash) {
  const int k = static_cast<int>(hash >> 60);
  return static_cast<T>(k < 8 ? k - 8 : k - 7);
}

/// An odd multiple of 2^-(digits - 1) in (-1, 1), exact in T.
template <std::floating_point T>
T fraction(std::uint64_t hash) {
  constexpr int bits = std::numeric_limits<T>::digits - 1;
  const auto odd = static_cast<double>(2 * (hash >> (64 - bits)) + 1);
  return static_cast<T>(odd / static_cast<double>(std::uint64_t{1} << bits) - 1.0);
}

template <scalar T>
T draw(std::uint64_t hash, bool integers) {
  if constexpr (std::floating_point<T>) {
    if (!integers) return fraction<T>(hash);
  }
  return small_integer<T>(hash);
}

/// Value at (row, col) of a symmetric matrix.
template <scalar T>
T draw_symmetric(std::uint64_t family, index_t row, index_t col) {
  const std::uint64_t low = static_cast<std::uint64_t>(std::min(row, col));
  const std::uint64_t high = static_cast<std::uint64_t>(std::max(row, col));
  return draw<T>(key_of(key_of(family, low), high), false);
}

/// The diagonal exceeds the sum by at least 1, or by 2^-20 of it where T cannot hold the 1.
template <scalar T>
void fill_spd_row(std::uint64_t family, index_t row, const index_t* first, const index_t* last, T* values) {
  double sum = 0;
  T* diagonal = nullptr;
  for (; first != last; ++first, ++values) {
    if (*first == row) {
      diagonal = values;
      continue;
    }
    *values = draw_symmetric<T>(family, row, *first);
    sum += std::abs(static_cast<double>(*values));
  }
  *diagonal = static_cast<T>(sum + sum * 0x1p-20 + 1);
}

}  // namespace

template <scalar T>
buffer<T> make_values(const context& ctx, const pattern& p, value_kind kind, std::uint64_t seed) {
  buffer<T> out(ctx, p.colind.size());
  const std::uint64_t family = split_mix(seed ^ value_family);
  const std::int64_t* rowptr = p.rowptr.data();
  const index_t* colind = p.colind.data();
  T* values = out.data();
  parallel_rows(threads_for(ctx.threads(), p.rows + rowptr[p.rows]), p.rows, rowptr, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) {
      if (kind == value_kind::spd) {
        fill_spd_row(family, r, colind + rowptr[r], colind + rowptr[r + 1], values + rowptr[r]);
        continue;
      }
      const std::uint64_t key = key_of(family, static_cast<std::uint64_t>(r));
      for (std::int64_t k = rowptr[r]; k < rowptr[r + 1]; ++k) {
        values[k] = draw<T>(key_of(key, static_cast<std::uint64_t>(colind[k])), kind == value_kind::integer);
      }
    }
  });
  return out;
}

#define TULLE_INSTANTIATE(T) \
  template buffer<T> make_values<T>(const context&, const pattern&, value_kind, std::uint64_t);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle::generators_detail

// Types of values by name, and numbers of any of them.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tulle/core/span.hpp>
#include <tulle/core/types.hpp>
#include <type_traits>
#include <vector>

namespace tulle::cli {

/// Calls f.operator()<T>() for a type of values.
template <class F>
decltype(auto) with_type(scalar_type type, F&& f) {
  switch (type) {
    case scalar_type::f32:
      return f.template operator()<float>();
    case scalar_type::i32:
      return f.template operator()<std::int32_t>();
    case scalar_type::i64:
      return f.template operator()<std::int64_t>();
    case scalar_type::c64:
      return f.template operator()<std::complex<float>>();
    case scalar_type::c128:
      return f.template operator()<std::complex<double>>();
    case scalar_type::boolean:
      return f.template operator()<bool>();
    case scalar_type::f64:
      break;
  }
  return f.template operator()<double>();
}

/// What --precision names; f64 for "mixed" and "both".
constexpr scalar_type type_named(std::string_view precision) {
  for (const auto t : {scalar_type::f32, scalar_type::i32, scalar_type::i64, scalar_type::c64, scalar_type::c128,
                       scalar_type::boolean}) {
    if (name(t) == precision) return t;
  }
  return scalar_type::f64;
}

/// Those that have loops of their own, and no blocks, no masks and no solvers.
constexpr bool is_further(scalar_type t) { return t != scalar_type::i32 && !is_floating(t); }

/// std::vector<bool> has no array: booleans are bytes.
template <scalar T>
using stored = std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>;
template <scalar T>
host_span<const T> span_of(const std::vector<stored<T>>& v) {
  return {reinterpret_cast<const T*>(v.data()), v.size()};
}

/// NaN, in both parts of a complex number; 0 where the type has none.
template <scalar T>
stored<T> not_a_number() {
  if constexpr (complex_scalar<T>) {
    constexpr auto nan = std::numeric_limits<typename T::value_type>::quiet_NaN();
    return {nan, nan};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::numeric_limits<T>::quiet_NaN();
  } else {
    return 0;
  }
}

}  // namespace tulle::cli

// alpha and beta of the C API.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <tulle/core/status.hpp>

namespace tulle::capi {

/// A coefficient in the value type. Whole numbers only for i32.
template <class T>
T coefficient(double value, const char* name) {
  if constexpr (std::same_as<T, std::int32_t>) {
    using limits = std::numeric_limits<std::int32_t>;
    if (!(value >= limits::min() && value <= limits::max()) || value != static_cast<std::int32_t>(value)) {
      throw error(status::invalid_argument,
                  fmt::format("{} = {}: must be a whole number of 32 bits for i32 values", name, value));
    }
  }
  return static_cast<T>(value);
}

}  // namespace tulle::capi

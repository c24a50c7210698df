// Tests of several types in one body.
#pragma once

#include <cstdint>

namespace tulle::test {

/// Calls f.operator()<T>() for each of these types.
template <class... T, class F>
void for_types(F&& f) {
  (f.template operator()<T>(), ...);
}
/// Calls f.operator()<T, O>() for each of these types with offsets of either width.
template <class... T, class F>
void for_types_and_offsets(F&& f) {
  ((f.template operator()<T, std::int32_t>(), f.template operator()<T, std::int64_t>()), ...);
}

}  // namespace tulle::test

// The combinations of types that exist: the one list, and the way from a key back to the types.
#pragma once

#include <array>
#include <cstdint>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <utility>

namespace tulle {

/// Which combinations a kernel is built for.
enum class type_set : std::uint8_t {
  floating,  // f32 or f64 throughout
  all,       // and i32, whose sums wrap modulo 2^32
};

/// Every combination; a line more is a combination more, for the kernels whose set contains it.
inline constexpr std::array type_combinations{
    operation_types(type_key_of<double, std::int32_t>),       operation_types(type_key_of<double, std::int64_t>),
    operation_types(type_key_of<float, std::int32_t>),        operation_types(type_key_of<float, std::int64_t>),
    operation_types(type_key_of<std::int32_t, std::int32_t>), operation_types(type_key_of<std::int32_t, std::int64_t>)};

constexpr bool contains(type_set set, const operation_types& t) {
  const bool uniform = t.vector == t.value && t.sum == t.value;
  return uniform && (set == type_set::all || t.value != scalar_type::i32);
}

/// Calls f.template operator()<T, O>() for the types of a matrix: T of its values, O of its offsets.
template <type_set Set, class F>
decltype(auto) dispatch(type_key key, F&& f) {
  const auto with_offsets = [&]<class T>() -> decltype(auto) {
    return key.offset == offset_type::i64 ? f.template operator()<T, std::int64_t>()
                                          : f.template operator()<T, std::int32_t>();
  };
  if (key.value == scalar_type::f64) return with_offsets.template operator()<double>();
  if constexpr (Set == type_set::all) {
    if (key.value == scalar_type::i32) return with_offsets.template operator()<std::int32_t>();
  }
  if (key.value != scalar_type::f32) throw error(status::unsupported, "this operation has no i32 values");
  return with_offsets.template operator()<float>();
}

}  // namespace tulle

// The combinations of types that exist: the one list, and the ways from a key back to the types.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <tuple>
#include <utility>

namespace tulle {

/// The lines of the list that a kernel is built for.
enum class type_set : std::uint8_t {
  floating = 1,  // f32 or f64 throughout
  integers = 2,  // i32, whose sums wrap modulo 2^32
  narrow = 4,    // values narrower than the vectors and the sums
  doubles = 8,   // f64 throughout: for kernels that store values in f32 themselves
  further = 16,  // c64, c128, i64, boolean: plain loops of their own (kernels/further_types.hpp)
  all = floating | integers,
};
/// Those that `dispatch_operation` gives a kernel's file: all but the further ones.
inline constexpr type_set every_type{0x0f};
constexpr type_set operator|(type_set a, type_set b) {
  return static_cast<type_set>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool overlap(type_set a, type_set b) { return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0; }

/// Values of a matrix in T and vectors in V, which also holds the sums.
template <scalar T, scalar V, type_set Set>
struct type_combination {
  using value = T;
  using vector = V;
  static constexpr type_set set = Set;
  static constexpr operation_types with(offset_type offset) { return {{scalar_type_of<T>, offset}, scalar_type_of<V>}; }
};

/// Every combination, with offsets of 32 and of 64 bits; a line more is a combination more, for the kernels whose set
/// contains it.
using type_list = std::tuple<type_combination<double, double, type_set::floating | type_set::doubles>,
                             type_combination<float, float, type_set::floating>,
                             type_combination<std::int32_t, std::int32_t, type_set::integers>,
                             type_combination<float, double, type_set::narrow>,
                             type_combination<std::int64_t, std::int64_t, type_set::further>,
                             type_combination<std::complex<float>, std::complex<float>, type_set::further>,
                             type_combination<std::complex<double>, std::complex<double>, type_set::further>,
                             type_combination<bool, bool, type_set::further>>;

/// Calls f(line) for the lines of the list.
template <class F>
constexpr void for_each_combination(const F& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::tuple_element_t<I, type_list>{}), ...);
  }(std::make_index_sequence<std::tuple_size_v<type_list>>{});
}

constexpr bool contains(type_set set, const operation_types& t) {
  bool found = false;
  for_each_combination([&](auto line) { found = found || (overlap(set, line.set) && line.with(t.offset) == t); });
  return found;
}

constexpr bool is_further(scalar_type t) { return t != scalar_type::i32 && !is_floating(t); }

/// The types by which a pattern is looked at where values are not read: those of the matrix, but f64 for further types,
/// for which no such function is built.
constexpr type_key pattern_types(type_key t) { return {is_further(t.value) ? scalar_type::f64 : t.value, t.offset}; }

[[noreturn]] inline void refuse_type(scalar_type t) {
  throw error(status::unsupported, "this operation has no " + std::string(name(t)) + " values");
}

/// Calls f.template operator()<T, V, O>() for the types of an operation: T of the matrix's values, V of the vectors, O of
/// the offsets.
template <type_set Set, std::size_t Line = 0, class F>
auto dispatch_operation(const operation_types& types, F&& f)
    -> decltype(f.template operator()<double, double, std::int32_t>()) {
  if constexpr (Line < std::tuple_size_v<type_list>) {
    using line = std::tuple_element_t<Line, type_list>;
    if constexpr (overlap(Set, line::set)) {
      using T = typename line::value;
      using V = typename line::vector;
      if (line::with(types.offset) == types) {
        return types.offset == offset_type::i64 ? f.template operator()<T, V, std::int64_t>()
                                                : f.template operator()<T, V, std::int32_t>();
      }
    }
    return dispatch_operation<Set, Line + 1>(types, std::forward<F>(f));
  } else {
    refuse_type(types.value);
  }
}

/// Calls f.template operator()<T, O>() for the types of a matrix: T of its values, O of its offsets.
template <type_set Set, class F>
decltype(auto) dispatch(type_key key, F&& f) {
  const auto with_offsets = [&]<class T>() -> decltype(auto) {
    return key.offset == offset_type::i64 ? f.template operator()<T, std::int64_t>()
                                          : f.template operator()<T, std::int32_t>();
  };
  if (key.value == scalar_type::f64) return with_offsets.template operator()<double>();
  if constexpr (overlap(Set, type_set::integers)) {
    if (key.value == scalar_type::i32) return with_offsets.template operator()<std::int32_t>();
  }
  if (key.value != scalar_type::f32) refuse_type(key.value);
  return with_offsets.template operator()<float>();
}

}  // namespace tulle

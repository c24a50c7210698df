// The types that values may have: NumPy's numbers beside tulle's. A line more is a type more.
#pragma once

#include <optional>
#include <tulle/core/types.hpp>

#include "numpy.hpp"

namespace tulle::python {

struct value_type {
  scalar_type type;
  int number;        // NumPy's
  char kind;         // of dtype.str and of the array interfaces
  int bytes;
};

inline constexpr value_type value_types[] = {
    {scalar_type::f64, NPY_DOUBLE, 'f', 8},   {scalar_type::f32, NPY_FLOAT, 'f', 4},
    {scalar_type::i32, NPY_INT, 'i', 4},      {scalar_type::i64, NPY_LONG, 'i', 8},
    {scalar_type::c64, NPY_CFLOAT, 'c', 8},   {scalar_type::c128, NPY_CDOUBLE, 'c', 16},
    {scalar_type::boolean, NPY_BOOL, 'b', 1},
};
static_assert(sizeof(long) == 8 && sizeof(int) == 4);

/// int64 has two numbers: long and long long.
constexpr int known_number(int number) { return number == NPY_LONGLONG ? NPY_LONG : number; }

constexpr const value_type* find_type(int number) {
  for (const value_type& t : value_types) {
    if (t.number == known_number(number)) return &t;
  }
  return nullptr;
}

constexpr const value_type& type_of(scalar_type type) {
  for (const value_type& t : value_types) {
    if (t.type == type) return t;
  }
  return value_types[0];
}

/// Of offsets and indices.
constexpr std::optional<offset_type> index_type(int number) {
  if (number == NPY_INT) return offset_type::i32;
  if (known_number(number) == NPY_LONG) return offset_type::i64;
  return std::nullopt;
}

}  // namespace tulle::python

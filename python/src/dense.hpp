// Dense vectors of NumPy as refs, where their layout is one that tulle reads, and new ones for results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tulle/core/vector_ref.hpp>

#include "types.hpp"

namespace tulle::python {

inline PyArrayObject* numpy_array(nb::handle a) { return reinterpret_cast<PyArrayObject*>(a.ptr()); }

/// Values of this type that may be read where they are.
inline bool is_plain(nb::handle a, int number) {
  if (!PyArray_CheckExact(a.ptr())) return false;
  PyArrayObject* const x = numpy_array(a);
  return known_number(PyArray_TYPE(x)) == number && PyArray_ISALIGNED(x) && PyArray_ISNOTSWAPPED(x);
}

/// Dimensions that tulle has; SciPy's may be larger.
inline bool is_extent(std::int64_t n) { return n >= 0 && n <= std::numeric_limits<index_t>::max(); }

/// Contiguous and in this machine's order.
inline bool is_row_of_numbers(nb::handle a) {
  if (!PyArray_CheckExact(a.ptr())) return false;
  PyArrayObject* const x = numpy_array(a);
  return PyArray_IS_C_CONTIGUOUS(x) && PyArray_ISALIGNED(x) && PyArray_ISNOTSWAPPED(x);
}

/// A distance between elements in elements; 0 where it is none that tulle reads.
inline std::int64_t step(PyArrayObject* x, int axis) {
  const npy_intp bytes = PyArray_STRIDE(x, axis), size = PyArray_ITEMSIZE(x);
  return bytes > 0 && bytes % size == 0 ? bytes / size : 0;
}

inline std::optional<vector_ref> as_vector(PyArrayObject* x, scalar_type type) {
  const npy_intp n = PyArray_DIM(x, 0);
  const std::int64_t stride = n > 1 ? step(x, 0) : 1;
  if (stride == 0) return std::nullopt;
  return vector_ref(type, PyArray_DATA(x), n, memory_space::host, -1, stride);
}

inline std::optional<multivector_ref> as_multivector(PyArrayObject* x, scalar_type type) {
  const npy_intp n = PyArray_DIM(x, 0), k = PyArray_DIM(x, 1);
  constexpr npy_intp most = std::numeric_limits<index_t>::max();
  if (n > most || k > most) return std::nullopt;
  const auto rows = static_cast<index_t>(n), count = static_cast<index_t>(k);
  const auto ref = [&](std::int64_t ld, vector_order order) {
    return multivector_ref(type, rows, count, ld, order, PyArray_DATA(x), memory_space::host);
  };
  if (n == 0 || k == 0) return ref(std::max<std::int64_t>(k, 1), vector_order::row_major);
  const std::int64_t down = n > 1 ? step(x, 0) : k, across = k > 1 ? step(x, 1) : 1;
  if (across == 1 && down >= k) return ref(down, vector_order::row_major);
  const std::int64_t column = n > 1 ? down : 1;
  if (column == 1 && across >= n) return ref(across, vector_order::column_major);
  return std::nullopt;
}

inline nb::object empty_like_rows(const const_multivector_ref& x, int number, npy_intp rows) {
  npy_intp shape[] = {rows, x.count};
  nb::object made = nb::steal(PyArray_EMPTY(2, shape, number, x.order == vector_order::column_major ? 1 : 0));
  if (!made.is_valid()) nb::raise_python_error();
  return made;
}

}  // namespace tulle::python

// Arrays of Python as refs, without a copy, and new ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <utility>

#include "types.hpp"

namespace tulle::python {

/// A one-dimensional array whose elements lie side by side: in host memory, of NumPy, or in a device's, of anything that has
/// `__cuda_array_interface__`.
struct array {
  void* data = nullptr;
  std::int64_t size = 0;
  char kind = 'f';
  int bytes = 8;
  memory_space space = memory_space::host;
  bool writable = false;

  [[nodiscard]] bool is_index() const noexcept { return kind == 'i' && (bytes == 4 || bytes == 8); }
  [[nodiscard]] offset_type as_offset() const noexcept { return bytes == 8 ? offset_type::i64 : offset_type::i32; }
};

/// Throws TypeError for anything else, ValueError for other layouts, naming the argument. Multi-dimensional arrays in C order
/// are taken as one row of numbers.
array array_of(nb::handle a, const char* name);
/// The type of its values. Throws TypeError.
scalar_type value_type_of(const array& a, const char* name);

/// A host array that keeps `owner` alive and lies where `data` points.
nb::object borrowed_array(int number, std::int64_t size, void* data, std::shared_ptr<const void> owner);

inline nb::object empty_vector(int number, npy_intp n) {
  return nb::steal(PyArray_EMPTY(1, &n, number, 0));
}

/// Keeps Python objects alive from C++ threads that do not hold the GIL.
std::shared_ptr<const void> keep(nb::object o);
/// Keeps alive what either keeps.
inline std::shared_ptr<const void> both(std::shared_ptr<const void> a, std::shared_ptr<const void> b) {
  return std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(std::move(a), std::move(b));
}

}  // namespace tulle::python

#include "array.hpp"

#include <tulle/core/status.hpp>

namespace tulle::python {
namespace {

[[noreturn]] void refuse(const char* name, const char* why) {
  throw nb::value_error((std::string(name) + " " + why).c_str());
}

array numpy_array(PyArrayObject* a, const char* name) {
  if (!PyArray_IS_C_CONTIGUOUS(a)) refuse(name, "is not contiguous");
  if (!PyArray_ISALIGNED(a)) refuse(name, "is not aligned");
  if (!PyArray_ISNOTSWAPPED(a)) refuse(name, "has another byte order than this machine");
  const PyArray_Descr* const type = PyArray_DESCR(a);
  return {PyArray_DATA(a), PyArray_SIZE(a), type->kind, static_cast<int>(PyArray_ITEMSIZE(a)), memory_space::host,
          PyArray_ISWRITEABLE(a) != 0};
}

array device_array(nb::handle a, const char* name) {
  const nb::object interface = a.attr("__cuda_array_interface__");
  const auto shape = nb::cast<nb::tuple>(interface["shape"]);
  const auto data = nb::cast<nb::tuple>(interface["data"]);
  const auto type = nb::cast<nb::str>(interface["typestr"]);
  const char* const text = type.c_str();
  array out;
  if (text[0] == '>') refuse(name, "has another byte order than this machine");
  out.kind = text[1];
  out.bytes = std::atoi(text + 2);
  out.size = 1;
  for (nb::handle extent : shape) out.size *= nb::cast<std::int64_t>(extent);
  out.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0]));
  out.writable = !nb::cast<bool>(data[1]);
  out.space = memory_space::device;
  if (nb::cast<bool>(interface.attr("__contains__")("strides")) && !interface["strides"].is_none() && out.size > 1) {
    const auto strides = nb::cast<nb::tuple>(interface["strides"]);
    std::int64_t expected = out.bytes;
    for (std::size_t i = nb::len(shape); i-- > 0;) {
      const auto extent = nb::cast<std::int64_t>(shape[i]);
      if (extent > 1 && nb::cast<std::int64_t>(strides[i]) != expected) refuse(name, "is not contiguous");
      expected *= extent;
    }
  }
  return out;
}

}  // namespace

array array_of(nb::handle a, const char* name) {
  if (PyArray_Check(a.ptr())) return numpy_array(reinterpret_cast<PyArrayObject*>(a.ptr()), name);
  if (nb::hasattr(a, "__cuda_array_interface__")) return device_array(a, name);
  throw nb::type_error((std::string(name) + " is neither a NumPy array nor an array of a CUDA device").c_str());
}

scalar_type value_type_of(const array& a, const char* name) {
  for (const value_type& t : value_types) {
    if (t.kind == a.kind && t.bytes == a.bytes) return t.type;
  }
  std::string type = std::to_string(a.bytes);
  type.insert(type.begin(), a.kind);
  throw nb::type_error((std::string(name) + " has values of type " + type + ", which tulle does not take").c_str());
}

nb::object borrowed_array(int number, std::int64_t size, void* data, std::shared_ptr<const void> owner) {
  npy_intp n = size;
  if (size == 0) return empty_vector(number, 0);
  nb::object made = nb::steal(PyArray_SimpleNewFromData(1, &n, number, data));
  if (!made.is_valid()) nb::raise_python_error();
  auto* const kept = new std::shared_ptr<const void>(std::move(owner));
  nb::capsule base(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<const void>*>(p); });
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made.ptr()), base.release().ptr()) < 0) nb::raise_python_error();
  return made;
}

std::shared_ptr<const void> keep(nb::object o) {
  PyObject* const held = o.release().ptr();
  return {static_cast<const void*>(held), [](const void* p) {
            if (nb::is_alive()) {
              nb::gil_scoped_acquire gil;
              Py_DECREF(static_cast<PyObject*>(const_cast<void*>(p)));
            }
          }};
}

}  // namespace tulle::python

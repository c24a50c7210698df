// Exceptions by cause. Those that Python has no class for are made in tulle/_errors.py, which knows nothing of this module.
#include <new>
#include <tulle/core/status.hpp>

#include "bind.hpp"

namespace tulle::python {
namespace {

PyObject* class_of(status code, PyObject* const* own) {
  switch (code) {
    case status::invalid_structure: return own[0];
    case status::not_converged:
    case status::breakdown:
    case status::indefinite:
    case status::not_finite: return own[1];
    case status::null_pointer:
    case status::invalid_argument:
    case status::invalid_dimensions:
    case status::invalid_format: return PyExc_ValueError;
    case status::file_io: return PyExc_OSError;
    case status::out_of_memory:
    case status::device_out_of_memory: return PyExc_MemoryError;
    case status::overflow: return PyExc_OverflowError;
    case status::unsupported: return PyExc_NotImplementedError;
    default: return PyExc_RuntimeError;
  }
}

}  // namespace

void bind_errors(nb::module_& m) {
  const nb::object errors = nb::module_::import_("tulle._errors");
  static PyObject* own[2];  // as long as the process
  own[0] = errors.attr("InvalidStructure").inc_ref().ptr();
  own[1] = errors.attr("NotConverged").inc_ref().ptr();
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void* classes) {
        try {
          std::rethrow_exception(p);
        } catch (const error& e) {
          PyErr_SetString(class_of(e.code(), static_cast<PyObject* const*>(classes)), e.what());
        }
      },
      own);
  static_cast<void>(m);
}

}  // namespace tulle::python

// tulle for Python: the module.
#define TULLE_IMPORTS_NUMPY
#include "bind.hpp"

namespace {

bool import_numpy() {
  import_array1(false);
  return true;
}

}  // namespace

NB_MODULE(_tulle, m) {
  using namespace tulle::python;
  m.doc() = "The compiled part of tulle; import tulle instead.";
  if (!import_numpy()) nb::raise_python_error();
  bind_errors(m);
  bind_matrix(m);
  bind_operator(m);
  bind_products(m);
  bind_scipy(m);
  bind_scipy_formats(m);
  bind_system(m);
  bind_files(m);
  bind_solvers(m);
  bind_reorder(m);
  bind_report(m);
}

// The parts of the module.
#pragma once

#include "numpy.hpp"

namespace tulle::python {

void bind_errors(nb::module_& m);
void bind_matrix(nb::module_& m);
void bind_operator(nb::module_& m);
void bind_products(nb::module_& m);
void bind_scipy(nb::module_& m);
void bind_scipy_formats(nb::module_& m);
void bind_system(nb::module_& m);
void bind_files(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_reorder(nb::module_& m);
void bind_report(nb::module_& m);

}  // namespace tulle::python

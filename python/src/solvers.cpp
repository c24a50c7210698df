#include "bind.hpp"

namespace tulle::python {
void bind_solvers(nb::module_&) {}
}  // namespace tulle::python

#include "bind.hpp"

namespace tulle::python {
void bind_reorder(nb::module_&) {}
}  // namespace tulle::python

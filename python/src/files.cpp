#include "bind.hpp"

namespace tulle::python {
void bind_files(nb::module_&) {}
}  // namespace tulle::python

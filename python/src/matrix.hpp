// A matrix that Python or tulle owns, as tulle's erased classes take it.
#pragma once

#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>

#include "array.hpp"

namespace tulle::python {

struct matrix {
  matrix_ref ref;
};

/// The matrix, whose offsets ascend and whose indices are in range: for operations that trust these. Throws INVALID_STRUCTURE.
const matrix_ref& checked(const matrix& m);

/// Where work on this matrix runs: on the device that it is on, else on the CPU with as many threads as OpenMP would use.
/// One context for each thread and device.
const context& context_for(memory_space space, int device);
inline const context& context_for(const matrix_ref& a) { return context_for(a.space, a.device); }

}  // namespace tulle::python

// What operations on matrices of further types do with values alone; patterns are handled as for any other type.
#pragma once

#include <cstdint>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle {

/// Everything is in the backend's memory, in stream order; nothing allocates or waits.
struct further_kernels {
  /// to[i] = the conjugate of from[i]; a copy where the type is not complex. `to` may be `from`.
  void (*conjugate)(const context&, scalar_type type, std::int64_t count, const void* from, void* to);
  /// flags[i] = 1 where from[i] is not 0, else 0.
  void (*nonzero)(const context&, scalar_type type, std::int64_t count, const void* from, float* flags);
  /// numbers[i] = i.
  void (*number)(const context&, std::int64_t count, double* numbers);
  /// Whole numbers as positions.
  void (*positions)(const context&, std::int64_t count, const double* numbers, std::int64_t* positions);
};

/// Throws UNSUPPORTED when the backend is not built.
const further_kernels& further_kernels_of(backend_kind backend);

}  // namespace tulle

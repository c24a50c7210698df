// Measures kernels on a matrix.
#pragma once

#include <string>

#include "kernels/spmv.hpp"

namespace tulle {

/// Median microseconds of one application out of ten after three.
double measure_apply(const context& ctx, spmv_operator& op, const void* x, void* y);

/// A hash of dimensions, offsets and column indices, as 16 hex digits; the same wherever the matrix is stored.
std::string structure_hash(const context& ctx, const csr_ref& a);

}  // namespace tulle

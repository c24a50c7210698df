#include "kernels/spmv.hpp"

namespace tulle {

void spmv_operator::apply_many(double, const strided_vectors&, double, const strided_vectors&, stream_view) {
  throw error(status::unsupported, "this kernel takes one right-hand side at a time");
}

void spmv_operator::apply_dots(double, const void*, double, void*, const void*, void*, stream_view) {
  throw error(status::unsupported, "this kernel has no fused dot products");
}

void spmv_operator::apply_jacobi(double, const void*, const void*, const void*, void*, stream_view) {
  throw error(status::unsupported, "this kernel has no fused Jacobi step");
}

}  // namespace tulle

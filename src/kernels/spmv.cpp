#include "kernels/spmv.hpp"

namespace tulle {
namespace {

[[noreturn]] void denied(const char* what) {
  throw error(status::internal, std::string("a kernel was asked for what its entry denies: ") + what);
}

}  // namespace

void spmv_operator::apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                               stream_view stream) {
  apply_many_with(alpha, x, beta, y, {}, stream);
}
void spmv_operator::apply_many_with(double, const strided_vectors&, double, const strided_vectors&, const many_finish&,
                                    stream_view) {
  denied("several right-hand sides, or a fused bias and activation");
}
void spmv_operator::apply_dots(double, const void*, double, void*, const void*, const vector_ref&, stream_view) {
  denied("fused dot products");
}
void spmv_operator::apply_jacobi(double, const void*, const void*, const void*, void*, stream_view) {
  denied("a fused Jacobi step");
}

}  // namespace tulle

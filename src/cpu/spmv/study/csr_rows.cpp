// csr.rows: an equal number of rows per thread.
//
// Method: row-wise OpenMP (Williams et al., Parallel Computing 35, 2009, section 4). One thread takes rows / threads
// consecutive rows. Bytes per nonzero: sizeof(T) + 4, and per row one offset and one y. Taken by name
// alone: it shows what equal rows cost where they differ in length.
#include "cpu/spmv/csr_operator.hpp"

namespace tulle::cpu {
namespace {

template <class T, class V, class O>
class csr_rows final : public csr_operator<T, O> {
 public:
  csr_rows(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : csr_operator<T, O>(a, threads_for(ctx, a)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const std::int64_t rows = this->a_.rows;
    const int parts = this->threads_;
    for_each_part(parts, [&](int part) {
      const auto first = static_cast<index_t>(rows * part / parts);
      const auto last = static_cast<index_t>(rows * (part + 1) / parts);
      scaled<V> out{{alpha, beta}, static_cast<V*>(y)};
      multiply_rows(this->path_, this->a_, first, last, static_cast<const V*>(x), out);
    });
  }
};

}  // namespace

spmv_kernel csr_rows_entry() {
  return {
      .name = "csr.rows",
      .summary = "an equal number of rows per thread",
      .backend = backend_kind::cpu,
      .types = csr_types,
      .role = kernel_role::study,
      .needs_set_up = false,
      .make = make_operator<csr_rows, csr_types>,
  };
}

}  // namespace tulle::cpu

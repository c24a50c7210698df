// csr.serial: one thread, row after row. The control that every other kernel is compared with.
//
// Method: the definition (Saad, Iterative Methods for Sparse Linear Systems, 2003, section 3.5). One thread takes all
// rows. Bytes per nonzero: sizeof(T) + 4, and per row one offset and one y. Chosen for
// matrices too small to share.
#include "cpu/spmv/csr_further.hpp"
#include "cpu/spmv/csr_many.hpp"
#include "cpu/spmv/csr_operator.hpp"
#include "cpu/spmv/row_walk.hpp"

namespace tulle::cpu {
namespace {

template <class T, class V, class O>
class csr_serial final : public csr_operator<T, O, finishing_operator<csr_serial<T, V, O>, V>> {
 public:
  csr_serial(const context& ctx, csr_view<T, O> a, const csr_stats& stats, const spmv_options& told)
      : csr_operator<T, O, finishing_operator<csr_serial, V>>(a, 1, 1), many_(ctx, a, 1, told) {
    walk_ = row_walk::of(a, 0, a.rows, row_paths::of<V>(a, stats, 1), told.effort != spmv_effort::none);
    this->path_ = walk_.path();
  }

  template <class Finish, class Done>
  void multiply(Finish finish, const V* x, const Done& done) const {
    walk_.multiply(this->a_, 0, this->a_.rows, x, finish);
    done(0, finish);
  }
  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view) override {
    many_.run(this->a_, alpha, x, beta, y, finish);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return many_.panel_bytes() + walk_.bytes(); }

 private:
  row_walk walk_;
  csr_many<T, V, O> many_;
};

}  // namespace

spmv_kernel csr_serial_entry() {
  return {
      .name = "csr.serial",
      .summary = "one thread, row after row: the control",
      .backend = backend_kind::cpu,
      .types = csr_types | type_set::further,
      .needs_set_up = false,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .make = make_for_every_type<false, make_operator<csr_serial, csr_types>>,
  };
}

}  // namespace tulle::cpu

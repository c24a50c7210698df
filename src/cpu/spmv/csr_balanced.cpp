// csr.balanced: an equal share of rows and nonzeros per thread, whatever the row lengths.
//
// Method: merge-path split (Merrill, Garland: Merge-based Parallel Sparse Matrix-Vector Multiplication, SC16) at plan
// time; long rows are cut between threads and their pieces are added in the order of the parts, so the result depends
// on the number of parts alone, never on timing. One thread takes (rows + nnz) / threads steps.
// Bytes per nonzero: sizeof(T) + 4, and per row one offset and one y. Chosen by default: it costs no more than csr.rows
// where rows are alike.
#include <vector>

#include "cpu/spmv/csr_further.hpp"
#include "cpu/spmv/csr_many.hpp"
#include "cpu/spmv/csr_operator.hpp"
#include "cpu/spmv/cut_rows.hpp"
#include "cpu/spmv/row_walk.hpp"

namespace tulle::cpu {
namespace {

template <class T, class V, class O>
class csr_balanced final : public csr_operator<T, O, finishing_operator<csr_balanced<T, V, O>, V>> {
 public:
  csr_balanced(const context& ctx, csr_view<T, O> a, const csr_stats& stats, const spmv_options& told)
      : csr_operator<T, O, finishing_operator<csr_balanced, V>>(a, threads_for_product(ctx, a), threads_for_product(ctx, a) + 1),
        parts_(static_cast<std::size_t>(this->threads_)),
        many_(ctx, a, ctx.threads(), told) {
    const bool sorts = told.effort != spmv_effort::none;
    const auto paths = row_paths::of<V>(a, stats, this->threads_);
    for (int i = 0; i < this->threads_; ++i) {
      part<V>& p = parts_[i] = {merge_path_part(a, i, this->threads_)};
      walks_.push_back(row_walk::of(a, first_whole(p), p.last, paths, sorts));
    }
    this->path_ = walks_[0].path();
  }

  /// The rows that are cut between parts are the last share.
  template <class Finish, class Done>
  void multiply(Finish start, const V* x, const Done& done) {
    const int parts = this->threads_;
    for_each_part(parts, [&](int i) {
      Finish finish = start;
      take(parts_[i], walks_[i], x, finish);
      done(i, finish);
    });
    join<V>(parts_, start);
    done(parts, start);
  }

  void apply_many_with(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                       const many_finish& finish, stream_view) override {
    many_.run(this->a_, alpha, x, beta, y, finish);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    std::size_t bytes = parts_.size() * sizeof(part<V>) + many_.bytes();
    for (const row_walk& walk : walks_) bytes += walk.bytes();
    return bytes;
  }

 private:
  static index_t first_whole(const part_range& p) { return p.first < p.last && p.continues ? p.first + 1 : p.first; }

  template <class Finish>
  void take(part<V>& p, const row_walk& walk, const V* x, Finish& out) const {
    auto entry = static_cast<O>(p.begin);
    if (p.first < p.last) {
      if (p.continues) p.head = multiply_piece(this->path_, this->a_, entry, this->a_.rowptr[p.first + 1], x);
      walk.multiply(this->a_, first_whole(p), p.last, x, out);
      entry = this->a_.rowptr[p.last];
    }
    p.tail = multiply_piece(this->path_, this->a_, entry, static_cast<O>(p.end), x);
  }

  std::vector<part<V>> parts_;
  std::vector<row_walk> walks_;  // one a part
  csr_many<T, V, O> many_;
};

}  // namespace

spmv_kernel csr_balanced_entry() {
  return {
      .name = "csr.balanced",
      .summary = "equal rows + nonzeros per thread",
      .backend = backend_kind::cpu,
      .types = csr_types | type_set::further,
      .needs_set_up = false,
      .has = {.many = true, .dots = true, .jacobi = true, .finish = true},
      .make = make_for_every_type<true, make_operator<csr_balanced, csr_types>>,
  };
}

}  // namespace tulle::cpu

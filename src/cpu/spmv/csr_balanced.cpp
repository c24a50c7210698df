// csr.balanced: an equal share of rows and nonzeros a thread, whatever the row lengths.
//
// Method: merge-path split (Merrill, Garland, SC16) at plan time; long rows are cut between threads and their pieces
// are added in the order of the parts, so the result depends on the number of parts alone, never on timing.
// One thread takes (rows + nnz) / threads steps. Bytes a nonzero: sizeof(T) + 4, and per row one offset and one y.
// Chosen by default: it costs no more than csr.rows where rows are alike.
#include <vector>

#include "cpu/spmv/csr_operator.hpp"
#include "cpu/spmv/merge_path.hpp"

namespace tulle::cpu {
namespace {

template <class T, class O>
class csr_balanced final : public csr_operator<T, O> {
  using base = csr_operator<T, O>;

  /// The share of one thread, and the pieces of rows it leaves to `join`. One cache line each.
  struct alignas(64) part {
    merge_coordinate begin, end;
    sum_of<T> head = 0;  // of the row that began in an earlier part and ends here
    sum_of<T> tail = 0;  // of the row that does not end here
  };

 public:
  csr_balanced(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : base(ctx, a), parts_(static_cast<std::size_t>(this->threads_)) {
    const auto row_end = [&](index_t row) -> std::int64_t { return a.rowptr[row + 1]; };
    for (int p = 0; p < this->threads_; ++p) {
      parts_[p].begin = merge_path_split(p, this->threads_, a.rows, a.nnz, row_end);
      parts_[p].end = merge_path_split(p + 1, this->threads_, a.rows, a.nnz, row_end);
    }
  }

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const epilogue<T> out(alpha, beta);
    const int parts = this->threads_;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int p = 0; p < parts; ++p) take(parts_[p], out, static_cast<const T*>(x), static_cast<T*>(y));
    join(out, static_cast<T*>(y));
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return parts_.size() * sizeof(part); }

 private:
  void take(part& p, epilogue<T> out, const T* x, T* y) const {
    index_t row = p.begin.row;
    auto entry = static_cast<O>(p.begin.entry);
    if (row < p.end.row && begins_before(p)) {
      const O end = this->a_.rowptr[row + 1];
      p.head = piece(entry, end, x);
      entry = end;
      ++row;
    }
    this->multiply_rows(row, p.end.row, out, x, y);
    if (row < p.end.row) entry = this->a_.rowptr[p.end.row];
    p.tail = piece(entry, static_cast<O>(p.end.entry), x);
  }

  sum_of<T> piece(O begin, O end, const T* x) const {
    sum_of<T> sum = 0;
    with_isa(this->isa_, [&, a = this->a_]<isa Level>() __attribute__((always_inline)) {
      sum = row_sum<Level>(a.values, a.colind, x, begin, end);
    });
    return sum;
  }

  /// Adds the pieces of cut rows, in the order of the parts, and writes those rows.
  void join(epilogue<T> out, T* y) const {
    sum_of<T> sum = 0;
    for (const part& p : parts_) {
      const bool ends_row = p.end.row > p.begin.row;
      if (ends_row && begins_before(p)) out.store(y + p.begin.row, sum + p.head);
      sum = ends_row ? p.tail : sum + p.tail;
    }
  }

  /// Whether the first row of `p` has entries in an earlier part.
  [[nodiscard]] bool begins_before(const part& p) const { return p.begin.entry > this->a_.rowptr[p.begin.row]; }

  std::vector<part> parts_;
};

}  // namespace

std::unique_ptr<spmv_operator> make_csr_balanced(const context& ctx, const csr_ref& a, const csr_stats& stats,
                                                 const spmv_options& options) {
  return make_operator<csr_balanced, type_set::all>(ctx, a, stats, options);
}

}  // namespace tulle::cpu

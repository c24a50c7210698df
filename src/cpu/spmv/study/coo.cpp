// coo: one row index per nonzero instead of row offsets, an equal number of nonzeros per thread.
//
// Method: segmented sum over sorted coordinates (Blelloch, Heroux, Zagha: Segmented Operations for Sparse Matrix
// Computation on Vector Multiprocessors, CMU-CS-93-173). The column indices and values are those of the CSR, in place.
// One thread takes nnz / threads entries; rows cut between threads are joined in a fixed order.
// Bytes per nonzero: sizeof(T) + 8, and per row one y. Chosen only by name.
#include <vector>

#include "cpu/spmv/csr_operator.hpp"
#include "cpu/spmv/cut_rows.hpp"

namespace tulle::cpu {
namespace {

template <class T, class O>
class coo_kernel final : public csr_operator<T, O> {
 public:
  coo_kernel(const context& ctx, csr_view<T, O> a, const csr_stats&, const spmv_options&)
      : csr_operator<T, O>(a, threads_for(ctx, a)),
        rowind_(ctx, static_cast<std::size_t>(a.nnz)),
        parts_(static_cast<std::size_t>(this->threads_)) {
    index_t* rowind = rowind_.data();
    const int threads = this->threads_;
    parallel_for(threads, a.rows, [&](index_t row) {
      for (O k = a.rowptr[row]; k < a.rowptr[row + 1]; ++k) rowind[k] = row;
    });
    for (int i = 0; i < threads; ++i) parts_[i] = split(i);
  }

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    const epilogue<T> out(alpha, beta);
    const int parts = this->threads_;
    for_each_part(parts, [&](int i) { take(parts_[i], out, static_cast<const T*>(x), static_cast<T*>(y)); });
    scaled<T> joined{out, static_cast<T*>(y)};
    join<T>(parts_, joined);
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return rowind_.bytes() + parts_.size() * sizeof(part<T>);
  }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    return rowind_.size() * (sizeof(T) + 2 * sizeof(index_t));
  }

 private:
  [[nodiscard]] part<T> split(int i) const {
    const std::int64_t nnz = this->a_.nnz, parts = this->threads_;
    const auto start = [&](int p) { return nnz / parts * p + nnz % parts * p / parts; };
    const auto row = [&](int p) { return p == 0 ? 0 : start(p) == nnz ? this->a_.rows : rowind_.data()[start(p)]; };
    const std::int64_t begin = start(i);
    const bool continues = begin > 0 && begin < nnz && rowind_.data()[begin - 1] == rowind_.data()[begin];
    return {{row(i), i + 1 == parts ? this->a_.rows : row(i + 1), begin, start(i + 1), continues}};
  }

  void take(part<T>& p, epilogue<T> out, const T* x, T* y) const {
    const index_t* rowind = rowind_.data();
    auto entry = static_cast<O>(p.begin);
    const auto end = static_cast<O>(p.end);
    for (index_t row = p.first; row < p.last; ++row) {
      O row_end = entry;
      while (row_end < end && rowind[row_end] == row) ++row_end;
      const sum_of<T> sum = row_sum(this->a_.values, this->a_.colind, x, entry, row_end);
      if (p.continues && row == p.first) {
        p.head = sum;
      } else {
        out.store(y + row, sum);
      }
      entry = row_end;
    }
    p.tail = multiply_piece(this->path_, this->a_, entry, end, x);
  }

  buffer<index_t> rowind_;
  std::vector<part<T>> parts_;
};

}  // namespace

spmv_kernel coo_entry() {
  return {
      .name = "coo",
      .summary = "coordinates, equal nonzeros per thread",
      .backend = backend_kind::cpu,
      .types = type_set::floating,
      .role = kernel_role::study,
      .make = make_operator<coo_kernel, type_set::floating>,
  };
}

}  // namespace tulle::cpu

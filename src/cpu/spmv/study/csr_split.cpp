// csr.split_entries, csr.split_rows, csr.dual_rows, csr.composite_rows: CSR with values in f32 where a promise or a
// rule of size allows it (kernels/split_values.hpp), products and sums in f64.
//
// The forms of the mixed precision study that this library began with, but for what it kept twice: no value is stored
// in both types. A thread takes rows of equal work. Bytes per nonzero: 8 in f32 rows (or entries), 12 in others; and
// per row one y, one offset (split_entries: two; dual_rows: two), and its number where rows are sorted. Part of the
// kernel study: `packed` stores slices of rows in the same way with fewer bytes of columns.
#include "cpu/spmv/csr_operator.hpp"
#include "kernels/describe_stored.hpp"
#include "kernels/split_values.hpp"

namespace tulle::cpu {
namespace {

template <split_form Form, class O>
class csr_split final : public csr_operator<double, O> {
 public:
  csr_split(const context& ctx, csr_view<double, O> a, const csr_stats&, const spmv_options& options)
      : csr_operator<double, O>(a, threads_for(ctx, a)),
        options_(options),
        ctx_(ctx),
        values_(split(ctx, a, options_, Form)) {}

  void apply(double alpha, const void* x, double beta, void* y, stream_view) override {
    run(scaled<double>{{alpha, beta}, static_cast<double*>(y), order_}, static_cast<const double*>(x));
  }
  void update_values(const matrix_ref& a) override {
    csr_operator<double, O>::update_values(a);
    values_ = split(ctx_, this->a_, options_, Form);
  }
  bool store_in_order(const index_t* order, bool) override {
    if (Form == split_form::rows || Form == split_form::composite) return false;
    order_ = order;
    return true;
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return values_.bytes(); }
  [[nodiscard]] std::size_t matrix_bytes() const noexcept override {
    const auto borrowed = [this] {
      return static_cast<std::size_t>(this->a_.nnz) * sizeof(index_t) +
             (static_cast<std::size_t>(this->a_.rows) + 1) * sizeof(O);
    };
    return values_.bytes() + (Form == split_form::dual ? borrowed() : 0);
  }
  [[nodiscard]] bool narrows_values() const noexcept override { return !values_.narrow.values.empty(); }
  [[nodiscard]] stored_values stored() const override { return values_.stored; }
  [[nodiscard]] std::string parameters() const override {
    return csr_operator<double, O>::parameters() + parameters_of(values_.stored);
  }

 private:
  /// The rows of `count` rows from `rowptr` on whose values begin at `values`.
  template <class T>
  [[nodiscard]] csr_view<T, O> view(const O* rowptr, const index_t* colind, const T* values) const {
    return {this->a_.rows, this->a_.cols, this->a_.nnz, rowptr, colind, values};
  }
  template <class T>
  [[nodiscard]] csr_view<T, O> view(const csr_piece<T, O>& p) const {
    return view(p.rowptr.data(), p.colind.data(), p.values.data());
  }
  template <class T, class Finish>
  void multiply(csr_view<T, O> a, index_t first, index_t last, const double* x, Finish& out) const {
    if (first < last) multiply_rows(this->path_, a, first, last, x, out);
  }
  /// Row i of a piece is row order[first + i] of y.
  template <class T>
  void run_piece(const csr_piece<T, O>& piece, index_t first, scaled<double> start, const double* x) {
    start.order = values_.order.data() + first;
    parallel_rows(this->threads_, piece.rows, piece.rowptr.data(), [&, start](index_t begin, index_t end) {
      scaled<double> out = start;
      multiply(view(piece), begin, end, x, out);
    });
  }

  void run(const scaled<double>& start, const double* x) {
    if constexpr (Form == split_form::rows) {
      run_piece(values_.narrow, 0, start, x);
      run_piece(values_.wide, values_.narrow.rows, start, x);
      return;
    }
    const O* rowptr = Form == split_form::composite ? values_.narrow.rowptr.data() : this->a_.rowptr;
    parallel_rows(this->threads_, this->a_.rows, rowptr, [&](index_t begin, index_t end) {
      scaled<double> out = start;
      if constexpr (Form == split_form::entries) take_entries(begin, end, x, out);
      if constexpr (Form == split_form::dual) take_dual(begin, end, x, out);
      if constexpr (Form == split_form::composite) take_composite(begin, end, x, out);
    });
  }

  void take_entries(index_t begin, index_t end, const double* x, scaled<double>& out) const {
    constexpr index_t some = 256;  // rows whose sums over one piece wait for those over the other
    double sums[some];
    for (index_t first = begin; first < end; first += some) {
      const index_t last = std::min(end, first + some);
      const auto keep = [&](index_t row, double sum) __attribute__((always_inline)) { sums[row - first] = sum; };
      const auto add = [&](index_t row, double sum) __attribute__((always_inline)) {
        out(row, sums[row - first] + sum);
      };
      multiply(view(values_.narrow), first, last, x, keep);
      multiply(view(values_.wide), first, last, x, add);
    }
  }

  void take_dual(index_t begin, index_t end, const double* x, scaled<double>& out) const {
    const O* const before = values_.narrow.rowptr.data();
    const auto is_narrow = [&](index_t row) { return before[row + 1] > before[row]; };
    for (index_t first = begin; first < end;) {
      const bool narrow = is_narrow(first);
      index_t last = first + 1;
      while (last < end && is_narrow(last) == narrow) ++last;
      // Of the rows from `first` on the values lie side by side, as they do in A, but elsewhere.
      const std::int64_t moved = std::int64_t{this->a_.rowptr[first]} - std::int64_t{before[first]};
      if (narrow) {
        multiply(view(this->a_.rowptr, this->a_.colind, shifted(values_.narrow.values.data(), moved)), first, last, x,
                 out);
      } else {
        multiply(view(this->a_.rowptr, this->a_.colind, shifted(values_.wide.values.data(), before[first])), first,
                 last, x, out);
      }
      first = last;
    }
  }

  void take_composite(index_t begin, index_t end, const double* x, scaled<double> out) const {
    out.order = values_.order.data();
    const O* const rowptr = values_.narrow.rowptr.data();
    const index_t* const colind = values_.narrow.colind.data();
    const index_t narrow = values_.narrow.rows;
    multiply(view(rowptr, colind, values_.narrow.values.data()), begin, std::min(end, narrow), x, out);
    multiply(view(rowptr, colind, shifted(values_.wide.values.data(), rowptr[narrow])), std::max(begin, narrow), end, x,
             out);
  }

  /// p - by, which may lie outside of its array.
  template <class T>
  static const T* shifted(const T* p, std::int64_t by) {
    return reinterpret_cast<const T*>(reinterpret_cast<std::uintptr_t>(p) -
                                      static_cast<std::uintptr_t>(by) * sizeof(T));
  }

  spmv_options options_;
  context ctx_;
  split_values<O> values_;
  const index_t* order_ = nullptr;
};

template <split_form Form>
std::unique_ptr<spmv_operator> make_split(const context& ctx, const matrix_ref& a, const csr_stats& stats,
                                          const spmv_options& options) {
  return dispatch_operation<type_set::doubles>(
      types_of(a, options), [&]<class T, class V, class O>() -> std::unique_ptr<spmv_operator> {
        return std::make_unique<csr_split<Form, O>>(ctx, a.as<T, O>(), stats, options);
      });
}

template <split_form Form>
spmv_kernel entry(std::string_view name, std::string_view summary) {
  return {
      .name = name,
      .summary = summary,
      .backend = backend_kind::cpu,
      .types = type_set::doubles,
      .role = kernel_role::study,
      .listens_to = {.values = true},
      .make = make_split<Form>,
  };
}

}  // namespace

spmv_kernel csr_split_entries_entry() {
  return entry<split_form::entries>("csr.split_entries", "two matrices: entries in f32, entries in f64");
}
spmv_kernel csr_split_rows_entry() {
  return entry<split_form::rows>("csr.split_rows", "two matrices: rows in f32, rows in f64");
}
spmv_kernel csr_dual_rows_entry() {
  return entry<split_form::dual>("csr.dual_rows", "rows in place, each in f32 or f64");
}
spmv_kernel csr_composite_rows_entry() {
  return entry<split_form::composite>("csr.composite_rows", "rows in f32 before rows in f64, columns in one array");
}

}  // namespace tulle::cpu

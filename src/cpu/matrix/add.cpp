// C = alpha A + beta B, rows merged: once to count, once to write columns, once for the values, which alone are made
// again for other numbers. Compiled without contraction: a product is rounded before it is added.
#include <type_traits>

#include "cpu/matrix/further.hpp"
#include "cpu/matrix/matrix.hpp"
#include "cpu/spmv/arithmetic.hpp"

namespace tulle::cpu {
namespace {

/// f(column) for the union of row r of two patterns, in ascending order.
template <offset O, class F>
[[gnu::always_inline]] inline void for_each_of_either(const matrix_ref& a, const matrix_ref& b, index_t r, F f) {
  const O* a_rows = static_cast<const O*>(a.rowptr);
  const O* b_rows = static_cast<const O*>(b.rowptr);
  O i = a_rows[r], j = b_rows[r];
  while (i < a_rows[r + 1] || j < b_rows[r + 1]) {
    const bool from_a = j == b_rows[r + 1] || (i < a_rows[r + 1] && a.colind[i] <= b.colind[j]);
    const index_t column = from_a ? a.colind[i] : b.colind[j];
    f(column);
    i += from_a ? 1 : 0;
    j += j < b_rows[r + 1] && b.colind[j] == column ? 1 : 0;
  }
}

template <offset O>
entry_map add_pattern_typed(const context& ctx, const matrix_ref& a, const matrix_ref& b) {
  const int threads = threads_for(ctx.threads(), a.rows + a.nnz + b.nnz);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  O* offsets = rowptr.data();
  parallel_for(threads, a.rows, 1024, [&](index_t r) {
    O count = 0;
    for_each_of_either<O>(a, b, r, [&](index_t) { ++count; });
    offsets[r + 1] = count;
  });
  scan_counts(threads, offsets, a.rows);
  buffer<index_t> colind(ctx, static_cast<std::size_t>(offsets[a.rows]));
  parallel_for(threads, a.rows, 1024, [&](index_t r) {
    index_t* to = colind.data() + offsets[r];
    for_each_of_either<O>(a, b, r, [&](index_t column) { *to++ = column; });
  });
  return {std::move(rowptr), std::move(colind), {}};
}

/// The entries of one matrix's row, met in the order of their columns.
template <scalar T, offset O>
class row_reader {
 public:
  row_reader(double factor, const matrix_ref& m, index_t r)
      : factor_(static_cast<T>(factor)),
        colind_(m.colind),
        values_(static_cast<const T*>(m.values)),
        at_(static_cast<const O*>(m.rowptr)[r]),
        end_(static_cast<const O*>(m.rowptr)[r + 1]) {
    if (factor_ == 0) at_ = end_;
  }

  /// Whether the row has the column; columns are asked for in ascending order.
  bool has(index_t column) {
    while (at_ < end_ && colind_[at_] < column) ++at_;
    return at_ < end_ && colind_[at_] == column;
  }
  [[nodiscard]] sum_of<T> scaled() const {
    return static_cast<sum_of<T>>(factor_) * static_cast<sum_of<T>>(values_[at_]);
  }

 private:
  T factor_;
  const index_t* colind_;
  const T* values_;
  O at_, end_;
};

template <scalar T, offset O>
void add_values_typed(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                      const matrix_ref& c, T* values) {
  const O* rowptr = static_cast<const O*>(c.rowptr);
  parallel_for(threads_for(ctx, c), c.rows, 1024, [&](index_t r) {
    row_reader<T, O> of_a(alpha, a, r), of_b(beta, b, r);
    for (O k = rowptr[r]; k < rowptr[r + 1]; ++k) {
      const bool in_a = of_a.has(c.colind[k]), in_b = of_b.has(c.colind[k]);
      const sum_of<T> sum = in_a && in_b ? of_a.scaled() + of_b.scaled()
                            : in_a       ? of_a.scaled()
                            : in_b       ? of_b.scaled()
                                         : sum_of<T>{0};
      values[k] = static_cast<T>(sum);
    }
  });
}

}  // namespace

entry_map add_patterns(const context& ctx, const matrix_ref& a, const matrix_ref& b) {
  return dispatch<type_set::all>(pattern_types(a.types), [&]<class, class O>() { return add_pattern_typed<O>(ctx, a, b); });
}

void add_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                const matrix_ref& c, void* values) {
  if (is_further(c.types.value)) return add_further_values(ctx, alpha, a, beta, b, c, values);
  dispatch<type_set::all>(
      c.types, [&]<class T, class O>() { add_values_typed<T, O>(ctx, alpha, a, beta, b, c, static_cast<T*>(values)); });
}

}  // namespace tulle::cpu

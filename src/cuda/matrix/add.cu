// C = alpha A + beta B. Pattern: the entries of B that are not in A are marked; with U the scan of the marks, an entry
// k of A comes to k + U[first entry of B's row that is not before it], and one of B alone to its place in A's row + U.
// Values: every entry of C looks itself up in A and in B.
//
// One thread: an entry, with a binary search in its row, so that dense rows are no slower. Pattern: 8 bytes of scratch
// per nonzero of B. Values: 12 to 20 bytes per nonzero of C and the searches; no scratch.
#include "cuda/device/arithmetic.cuh"
#include "cuda/matrix/matrix.hpp"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class O>
struct pattern {
  const O* rowptr;
  const index_t* colind;

  explicit pattern(const matrix_ref& m) : rowptr(static_cast<const O*>(m.rowptr)), colind(m.colind) {}
  /// The first entry of a row whose column is not below `column`; the end of the row where there is none.
  __device__ std::int64_t find(index_t row, index_t column) const {
    const std::int64_t begin = rowptr[row];
    return begin + lower_bound(colind + begin, rowptr[row + 1] - begin, column);
  }
  __device__ bool has(index_t row, index_t column, std::int64_t at) const {
    return at < rowptr[row + 1] && colind[at] == column;
  }
};

template <class O>
__global__ void mark_missing(index_t rows, pattern<O> a, pattern<O> b, std::int64_t* marks) {
  for_each_entry(rows, b.rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active) marks[k] = !a.has(row, b.colind[k], a.find(row, b.colind[k]));
  });
}

template <class O>
__global__ void place_rows(index_t rows, pattern<O> a, pattern<O> b, const std::int64_t* missing, O* rowptr) {
  for (std::int64_t r = grid_thread(); r <= rows; r += grid_stride()) {
    rowptr[r] = static_cast<O>(a.rowptr[r] + missing[b.rowptr[r]]);
  }
}

template <class O>
__global__ void place_first(index_t rows, pattern<O> a, pattern<O> b, const std::int64_t* missing, index_t* colind) {
  for_each_entry(rows, a.rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active) colind[k + missing[b.find(row, a.colind[k])]] = a.colind[k];
  });
}

template <class O>
__global__ void place_missing(index_t rows, pattern<O> a, pattern<O> b, const std::int64_t* missing, index_t* colind) {
  for_each_entry(rows, b.rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (active && missing[k + 1] != missing[k]) colind[a.find(row, b.colind[k]) + missing[k]] = b.colind[k];
  });
}

template <class O>
entry_map add_pattern_typed(const context& ctx, const matrix_ref& ma, const matrix_ref& mb) {
  const pattern<O> a(ma), b(mb);
  auto missing = zero_counts(ctx, mb.nnz);
  launch_entries(ctx, "mark_missing", mark_missing<O>, mb.nnz, ma.rows, a, b, missing.data());
  exclusive_scan(ctx, missing);
  const std::int64_t nnz = ma.nnz + read_back(ctx, missing.data() + mb.nnz);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(ma.rows) + 1);
  buffer<index_t> colind(ctx, static_cast<std::size_t>(nnz));
  launch_items(ctx, "place_rows", place_rows<O>, std::int64_t{ma.rows} + 1, ma.rows, a, b, missing.data(),
               rowptr.data());
  launch_entries(ctx, "place_first", place_first<O>, ma.nnz, ma.rows, a, b, missing.data(), colind.data());
  launch_entries(ctx, "place_missing", place_missing<O>, mb.nnz, ma.rows, a, b, missing.data(), colind.data());
  return {std::move(rowptr), std::move(colind), {}};
}

template <class T, class O>
__global__ void add_values_kernel(T alpha, pattern<O> a, const T* a_values, T beta, pattern<O> b, const T* b_values,
                                  index_t rows, pattern<O> c, T* values) {
  for_each_entry(rows, c.rowptr, [=](index_t row, std::int64_t k, bool active) {
    if (!active) return;
    const index_t column = c.colind[k];
    T sum{0};
    bool in_a = false;
    if (alpha != T{0}) {
      const std::int64_t i = a.find(row, column);
      in_a = a.has(row, column, i);
      if (in_a) sum = rounded_product(alpha, a_values[i]);
    }
    if (beta != T{0}) {
      const std::int64_t j = b.find(row, column);
      if (b.has(row, column, j)) {
        const T other = rounded_product(beta, b_values[j]);
        sum = in_a ? add(sum, other) : other;
      }
    }
    values[k] = sum;
  });
}

}  // namespace

entry_map add_patterns(const context& ctx, const matrix_ref& a, const matrix_ref& b) {
  return dispatch<type_set::all>(a.types, [&]<class, class O>() { return add_pattern_typed<O>(ctx, a, b); });
}

void add_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                const matrix_ref& c, void* values) {
  dispatch<type_set::all>(c.types, [&]<class T, class O>() {
    launch_entries(ctx, "add_values", add_values_kernel<T, O>, c.nnz, static_cast<T>(alpha), pattern<O>(a),
                   static_cast<const T*>(a.values), static_cast<T>(beta), pattern<O>(b),
                   static_cast<const T*>(b.values), c.rows, pattern<O>(c), static_cast<T*>(values));
  });
}

}  // namespace tulle::cuda

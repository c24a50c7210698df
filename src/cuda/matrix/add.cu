// C = alpha A + beta B. Pattern: the entries of B that are not in A are marked; with U the scan of the marks, an entry
// k of A comes to k + U[first entry of B's row that is not before it], and one of B alone to its place in A's row + U.
// Values: every entry of C looks itself up in A and in B.
//
// One thread: an entry, with a binary search in its row, so that dense rows are no slower. Pattern: 8 bytes of scratch
// per nonzero of B. Values: 12 to 20 bytes per nonzero of C and the searches; no scratch.
#include "cuda/device/arithmetic.cuh"
#include "cuda/matrix/further.hpp"
#include "cuda/matrix/matrix.hpp"
#include "cuda/matrix/pattern.cuh"
#include "cuda/runtime/entries.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class O>
entry_map add_pattern_typed(const context& ctx, const matrix_ref& ma, const matrix_ref& mb) {
  const pattern<O> a(ma), b(mb);
  auto marks = zero_counts(ctx, mb.nnz);
  std::int64_t* const missing =
      marks.data();  // of each entry of B, whether A lacks it; after the scan, how many before it
  for_each_entry(ctx, "mark_missing", mb.nnz, ma.rows, b.rowptr, [=] __device__(index_t row, std::int64_t k) {
    missing[k] = !a.has(row, b.colind[k], a.find(row, b.colind[k]));
  });
  exclusive_scan(ctx, marks);
  const std::int64_t nnz = ma.nnz + read_back(ctx, missing + mb.nnz);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(ma.rows) + 1);
  buffer<index_t> colind(ctx, static_cast<std::size_t>(nnz));
  for_each_item(ctx, "place_rows", std::int64_t{ma.rows} + 1, [=, to = rowptr.data()] __device__(std::int64_t r) {
    to[r] = static_cast<O>(a.rowptr[r] + missing[b.rowptr[r]]);
  });
  const auto place_first = [=, to = colind.data()] __device__(index_t row, std::int64_t k) {
    to[k + missing[b.find(row, a.colind[k])]] = a.colind[k];
  };
  for_each_entry(ctx, "place_first", ma.nnz, ma.rows, a.rowptr, place_first);
  const auto place_missing = [=, to = colind.data()] __device__(index_t row, std::int64_t k) {
    if (missing[k + 1] != missing[k]) to[a.find(row, b.colind[k]) + missing[k]] = b.colind[k];
  };
  for_each_entry(ctx, "place_missing", mb.nnz, ma.rows, b.rowptr, place_missing);
  return {std::move(rowptr), std::move(colind), {}};
}

template <class T, class O>
void add_values_typed(const context& ctx, T alpha, const matrix_ref& ma, T beta, const matrix_ref& mb,
                      const matrix_ref& mc, T* values) {
  const pattern<O> a(ma), b(mb), c(mc);
  const T* const a_values = static_cast<const T*>(ma.values);
  const T* const b_values = static_cast<const T*>(mb.values);
  for_each_entry(ctx, "add_values", mc.nnz, mc.rows, c.rowptr, [=] __device__(index_t row, std::int64_t k) {
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
  return dispatch<type_set::all>(pattern_types(a.types),
                                 [&]<class, class O>() { return add_pattern_typed<O>(ctx, a, b); });
}

void add_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                const matrix_ref& c, void* values) {
  if (is_further(c.types.value)) return add_further_values(ctx, alpha, a, beta, b, c, values);
  dispatch<type_set::all>(c.types, [&]<class T, class O>() {
    add_values_typed<T, O>(ctx, static_cast<T>(alpha), a, static_cast<T>(beta), b, c, static_cast<T*>(values));
  });
}

}  // namespace tulle::cuda

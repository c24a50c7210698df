// Values of further types: moved and summed by positions, added, scaled, conjugated, told from 0. One thread: an entry,
// or for the diagonal a row. Compiled without contraction where a product is added: it is rounded first.
#include <algorithm>

#include "cuda/matrix/further.hpp"
#include "cuda/matrix/pattern.cuh"
#include "cuda/runtime/entries.cuh"
#include "kernels/backends.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cuda {
namespace {

using namespace further;

template <class N>
void map_typed(const context& ctx, const value_map& m, const N* from, N* to) {
  for_each_item(ctx, "map_values", m.count,
                [=, segments = m.segments, positions = m.positions] __device__(std::int64_t i) {
                  const std::int64_t begin = segments ? segments[i] : i, end = segments ? segments[i + 1] : i + 1;
                  N sum = from[positions ? positions[begin] : begin];
                  for (std::int64_t j = begin + 1; j < end; ++j) sum = add(sum, from[positions ? positions[j] : j]);
                  to[i] = sum;
                });
}

template <class N>
void conjugate_typed(const context& ctx, std::int64_t count, const N* from, N* to) {
  for_each_item(ctx, "conjugate", count, [=] __device__(std::int64_t i) { to[i] = conjugated(-1, from[i]); });
}

template <class N>
void nonzero_typed(const context& ctx, std::int64_t count, const N* from, float* flags) {
  for_each_item(ctx, "nonzero", count, [=] __device__(std::int64_t i) { flags[i] = is_zero(from[i]) ? 0.0f : 1.0f; });
}

template <class N, class O>
void add_typed(const context& ctx, double alpha, const matrix_ref& ma, double beta, const matrix_ref& mb,
               const matrix_ref& mc, N* values) {
  const pattern<O> a(ma), b(mb), c(mc);
  const auto* const a_values = static_cast<const N*>(ma.values);
  const auto* const b_values = static_cast<const N*>(mb.values);
  for_each_entry(ctx, "add_values", mc.nnz, mc.rows, c.rowptr, [=] __device__(index_t row, std::int64_t k) {
    const index_t column = c.colind[k];
    const std::int64_t i = a.find(row, column), j = b.find(row, column);
    const bool in_a = alpha != 0 && a.has(row, column, i), in_b = beta != 0 && b.has(row, column, j);
    const N of_a = in_a ? scaled(alpha, a_values[i]) : N::zero(), of_b = in_b ? scaled(beta, b_values[j]) : N::zero();
    values[k] = in_a && in_b ? add(of_a, of_b) : in_a ? of_a : of_b;
  });
}

template <class N, class O>
void diagonal_typed(const context& ctx, const matrix_ref& a, N* out, std::int64_t stride) {
  const auto* const values = static_cast<const N*>(a.values);
  for_each_item(ctx, "diagonal", std::min(a.rows, a.cols),
                [=, rowptr = static_cast<const O*>(a.rowptr), colind = a.colind] __device__(std::int64_t row) {
                  N sum = N::zero();
                  for (std::int64_t k = rowptr[row]; k < rowptr[row + 1]; ++k) {
                    if (colind[k] == row) sum = add(sum, values[k]);
                  }
                  out[row * stride] = sum;
                });
}

template <class N, class O>
void scale_typed(const context& ctx, const matrix_ref& a, const value_scaling& how, N* to) {
  const auto* const values = static_cast<const N*>(a.values);
  const auto* const factors = static_cast<const N*>(how.factors);
  for_each_entry(
      ctx, "scale", a.nnz, a.rows, static_cast<const O*>(a.rowptr),
      [=, by_column = how.by_column, stride = how.stride, colind = a.colind] __device__(index_t row, std::int64_t k) {
        to[k] = multiply_add(N::zero(), values[k], factors[(by_column ? colind[k] : row) * stride]);
      });
}

/// f.template operator()<N, O>() for the numbers and offsets of a matrix.
template <class F>
void dispatch_csr(type_key types, F&& f) {
  further::dispatch(types.value, [&]<class N>() {
    dispatch<type_set::all>(pattern_types(types), [&]<class, class O>() { f.template operator()<N, O>(); });
  });
}

template <class N>
void ones_typed(const context& ctx, std::int64_t count, N* to) {
  for_each_item(ctx, "ones", count, [=] __device__(std::int64_t i) { to[i] = N::one(); });
}

void conjugate(const context& ctx, scalar_type type, std::int64_t count, const void* from, void* to) {
  further::dispatch(type,
                    [&]<class N>() { conjugate_typed(ctx, count, static_cast<const N*>(from), static_cast<N*>(to)); });
}

void nonzero(const context& ctx, scalar_type type, std::int64_t count, const void* from, float* flags) {
  further::dispatch(type, [&]<class N>() { nonzero_typed(ctx, count, static_cast<const N*>(from), flags); });
}

void number(const context& ctx, std::int64_t count, double* numbers) {
  for_each_item(ctx, "number", count, [=] __device__(std::int64_t i) { numbers[i] = static_cast<double>(i); });
}

void positions(const context& ctx, std::int64_t count, const double* numbers, std::int64_t* to) {
  for_each_item(ctx, "positions", count,
                [=] __device__(std::int64_t i) { to[i] = static_cast<std::int64_t>(numbers[i]); });
}

}  // namespace

const further_kernels& further_values() {
  static constexpr further_kernels table = {conjugate, nonzero, number, positions};
  return table;
}

void map_further_values(const context& ctx, const value_map& m) {
  further::dispatch(m.type,
                    [&]<class N>() { map_typed(ctx, m, static_cast<const N*>(m.from), static_cast<N*>(m.to)); });
}

void add_further_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                        const matrix_ref& c, void* values) {
  dispatch_csr(c.types,
               [&]<class N, class O>() { add_typed<N, O>(ctx, alpha, a, beta, b, c, static_cast<N*>(values)); });
}

void further_diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride) {
  dispatch_csr(a.types, [&]<class N, class O>() { diagonal_typed<N, O>(ctx, a, static_cast<N*>(out), stride); });
}

void scale_further_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values) {
  dispatch_csr(a.types, [&]<class N, class O>() { scale_typed<N, O>(ctx, a, how, static_cast<N*>(values)); });
}

void fill_ones(const context& ctx, scalar_type type, std::int64_t count, void* values) {
  further::dispatch(type, [&]<class N>() { ones_typed(ctx, count, static_cast<N*>(values)); });
}

}  // namespace tulle::cuda

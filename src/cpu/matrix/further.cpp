// Values of further types: moved and summed by positions, added, scaled, conjugated. One thread takes consecutive
// entries or rows. Compiled without contraction: a product is rounded before it is added.
#include "cpu/matrix/further.hpp"

#include <algorithm>

#include "core/parallel.hpp"
#include "kernels/backends.hpp"
#include "kernels/further_types.hpp"

namespace tulle::cpu {
namespace {

using namespace further;

/// The sum of the entries of a row in `column`, from `at` on; columns are asked for in ascending order.
template <class N>
struct row_reader {
  const matrix_ref& m;
  double factor;
  std::int64_t at, end;

  row_reader(double f, const matrix_ref& of, index_t r) : m(of), factor(f) {
    const row_offsets rowptr(of.rowptr, of.types.offset);
    at = rowptr[r];
    end = f == 0 ? at : rowptr[r + 1];
  }
  bool has(index_t column) {
    while (at < end && m.colind[at] < column) ++at;
    return at < end && m.colind[at] == column;
  }
  [[nodiscard]] N value() const { return scaled(factor, static_cast<const N*>(m.values)[at]); }
};

void conjugate(const context& ctx, scalar_type type, std::int64_t count, const void* from, void* to) {
  further::dispatch(type, [&]<class N>() {
    parallel_for(threads_for(ctx.threads(), count), count, [&](std::int64_t i) {
      static_cast<N*>(to)[i] = conjugated(-1, static_cast<const N*>(from)[i]);
    });
  });
}

void nonzero(const context& ctx, scalar_type type, std::int64_t count, const void* from, float* flags) {
  further::dispatch(type, [&]<class N>() {
    parallel_for(threads_for(ctx.threads(), count), count,
                 [&](std::int64_t i) { flags[i] = is_zero(static_cast<const N*>(from)[i]) ? 0.0f : 1.0f; });
  });
}

void number(const context&, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(i);
}

void positions(const context&, std::int64_t count, const double* numbers, std::int64_t* to) {
  std::transform(numbers, numbers + count, to, [](double n) { return static_cast<std::int64_t>(n); });
}

}  // namespace

const further_kernels& further_values() {
  static constexpr further_kernels table = {conjugate, nonzero, number, positions};
  return table;
}

void map_further_values(const context& ctx, const value_map& m) {
  further::dispatch(m.type, [&]<class N>() {
    const auto* const from = static_cast<const N*>(m.from);
    auto* const to = static_cast<N*>(m.to);
    const auto at = [&](std::int64_t j) { return from[m.positions ? m.positions[j] : j]; };
    parallel_for(threads_for(ctx.threads(), m.count), m.count, [&](std::int64_t i) {
      const std::int64_t begin = m.segments ? m.segments[i] : i, end = m.segments ? m.segments[i + 1] : i + 1;
      N sum = at(begin);
      for (std::int64_t j = begin + 1; j < end; ++j) sum = add(sum, at(j));
      to[i] = sum;
    });
  });
}

void add_further_values(const context& ctx, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                        const matrix_ref& c, void* values) {
  further::dispatch(c.types.value, [&]<class N>() {
    const row_offsets rowptr(c.rowptr, c.types.offset);
    parallel_for(threads_for(ctx, c), c.rows, 1024, [&](index_t r) {
      row_reader<N> of_a(alpha, a, r), of_b(beta, b, r);
      for (std::int64_t k = rowptr[r], end = rowptr[r + 1]; k < end; ++k) {
        const bool in_a = of_a.has(c.colind[k]), in_b = of_b.has(c.colind[k]);
        static_cast<N*>(values)[k] = in_a && in_b ? add(of_a.value(), of_b.value())
                                     : in_a       ? of_a.value()
                                     : in_b       ? of_b.value()
                                                  : N::zero();
      }
    });
  });
}

void further_diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride) {
  further::dispatch(a.types.value, [&]<class N>() {
    const row_offsets rowptr(a.rowptr, a.types.offset);
    parallel_for(threads_for(ctx, a), std::min(a.rows, a.cols), 1024, [&](index_t r) {
      N sum = N::zero();
      for (std::int64_t k = rowptr[r], end = rowptr[r + 1]; k < end; ++k) {
        if (a.colind[k] == r) sum = add(sum, static_cast<const N*>(a.values)[k]);
      }
      static_cast<N*>(out)[r * stride] = sum;
    });
  });
}

void scale_further_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values) {
  further::dispatch(a.types.value, [&]<class N>() {
    const row_offsets rowptr(a.rowptr, a.types.offset);
    const auto* const factors = static_cast<const N*>(how.factors);
    parallel_for(threads_for(ctx, a), a.rows, 1024, [&](index_t r) {
      for (std::int64_t k = rowptr[r], end = rowptr[r + 1]; k < end; ++k) {
        static_cast<N*>(values)[k] = multiply_add(N::zero(), static_cast<const N*>(a.values)[k],
                                                  factors[(how.by_column ? a.colind[k] : r) * how.stride]);
      }
    });
  });
}

void fill_ones(const context&, scalar_type type, std::int64_t count, void* values) {
  further::dispatch(type, [&]<class N>() { std::fill_n(static_cast<N*>(values), count, N::one()); });
}

}  // namespace tulle::cpu

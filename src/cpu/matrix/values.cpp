// Values that follow a pattern, scaled values, the diagonal, and the identity.
#include <numeric>

#include "cpu/matrix/further.hpp"
#include "cpu/matrix/matrix.hpp"
#include "cpu/spmv/arithmetic.hpp"

namespace tulle::cpu {
namespace {

template <scalar T>
T product(T a, T b) {
  return static_cast<T>(static_cast<sum_of<T>>(a) * static_cast<sum_of<T>>(b));
}

template <scalar T, class At>
void map_typed(int threads, const value_map& m, At at) {
  const T* from = static_cast<const T*>(m.from);
  T* to = static_cast<T*>(m.to);
  parallel_for(threads, m.count, [&](std::int64_t i) {
    const std::int64_t begin = m.segments ? m.segments[i] : i, end = m.segments ? m.segments[i + 1] : i + 1;
    auto sum = static_cast<sum_of<T>>(from[at(begin)]);
    for (std::int64_t j = begin + 1; j < end; ++j) sum += static_cast<sum_of<T>>(from[at(j)]);
    to[i] = static_cast<T>(sum);
  });
}

}  // namespace

void map_values(const context& ctx, const value_map& m) {
  if (is_further(m.type)) return map_further_values(ctx, m);
  const int threads = threads_for(ctx.threads(), m.count);
  dispatch<type_set::all>({m.type}, [&]<class T, class>() {
    if (m.positions == nullptr) {
      map_typed<T>(threads, m, [](std::int64_t j) { return j; });
    } else {
      map_typed<T>(threads, m, [=](std::int64_t j) { return m.positions[j]; });
    }
  });
}

void diagonal(const context& ctx, const matrix_ref& a, void* out, std::int64_t stride) {
  if (is_further(a.types.value)) return further_diagonal(ctx, a, out, stride);
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const auto m = a.as<T, O>();
    T* to = static_cast<T*>(out);
    parallel_for(threads_for(ctx, a), std::min(a.rows, a.cols), 1024, [&](index_t r) {
      bool found = false;
      sum_of<T> sum = 0;
      for (O k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        if (m.colind[k] != r) continue;
        const auto value = static_cast<sum_of<T>>(m.values[k]);
        sum = found ? sum + value : value;  // a single -0 stays
        found = true;
      }
      to[r * stride] = static_cast<T>(sum);
    });
  });
}

void scale_values(const context& ctx, const matrix_ref& a, const value_scaling& how, void* values) {
  if (is_further(a.types.value)) return scale_further_values(ctx, a, how, values);
  dispatch<type_set::all>(a.types, [&]<class T, class O>() {
    const auto m = a.as<T, O>();
    const T* factors = static_cast<const T*>(how.factors);
    T* to = static_cast<T*>(values);
    parallel_for(threads_for(ctx, a), a.rows, 1024, [&](index_t r) {
      for (O k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        to[k] = product(m.values[k], factors[(how.by_column ? m.colind[k] : r) * how.stride]);
      }
    });
  });
}

void fill_identity(const context& ctx, index_t n, type_key types, void* rowptr, index_t* colind, void* values) {
  const bool further = is_further(types.value);
  if (further) fill_ones(ctx, types.value, n, values);
  dispatch<type_set::all>(pattern_types(types), [&]<class T, class O>() {
    std::iota(static_cast<O*>(rowptr), static_cast<O*>(rowptr) + n + 1, O{0});
    std::iota(colind, colind + n, index_t{0});
    if (!further) std::fill_n(static_cast<T*>(values), n, T{1});
  });
}

}  // namespace tulle::cpu

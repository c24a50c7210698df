// The reference y = alpha A x + beta y0 in higher precision, and the error of a result over its bound.
#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <tulle/ops/verify.hpp>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "formats/check.hpp"
#include "ops/exact_sum.hpp"

namespace tulle {

template <scalar T, offset O>
spmv_reference reference_spmv(const context& ctx, T alpha, csr_view<T, O> a, host_span<const T> x, T beta,
                              host_span<const T> y0) {
  check_csr("reference_spmv", a);
  if (a.space != memory_space::host) {
    throw error(status::invalid_argument, "reference_spmv: the matrix is in device memory; it must be on the host");
  }
  const auto rows = static_cast<std::size_t>(a.rows);
  if (x.size() != static_cast<std::size_t>(a.cols) || (y0.size() != rows && (beta != 0 || !y0.empty()))) {
    throw error(status::invalid_dimensions,
                fmt::format("reference_spmv: the matrix is {} x {}, x has {} elements and y0 {}", a.rows, a.cols,
                            x.size(), y0.size()));
  }
  constexpr bool has_low = std::same_as<T, double>;
  spmv_reference out{std::vector<double>(rows), std::vector<double>(has_low ? rows : 0), std::vector<double>(rows)};
  parallel_for(threads_for(ctx, a), a.rows, 512, [&](index_t r) {
    term_sum<T> product, d;
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k)
      product.add(a.values[k], x[static_cast<std::size_t>(a.colind[k])]);
    if (beta != 0) d.add(y0[static_cast<std::size_t>(r)], 1);
    const exact_element row = exact_of(product, d, alpha, beta);
    out.value[r] = row.value;
    if constexpr (has_low) out.value_low[r] = row.low;
    out.bound[r] = row.bound;
  });
  return out;
}

template <offset O>
void add_promise(spmv_reference& reference, double alpha, csr_view<double, O> a, host_span<const double> x,
                 const value_tolerance& promise) {
  std::vector<double> share(reference.bound.size());
  const bool by_entry = promise.bound == error_bound::componentwise;
  parallel_for(threads_for(context::cpu(), a), a.rows, 512, [&](index_t r) {
    for (O k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k)
      share[r] += std::fabs(by_entry ? a.values[k] * x[static_cast<std::size_t>(a.colind[k])] : a.values[k]);
  });
  double norm = 0, largest_x = 0;
  for (const double of_row : share) norm = std::max(norm, of_row);
  for (const double v : x) largest_x = std::max(largest_x, std::fabs(v));
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double of_row = by_entry ? share[i] : (promise.bound == error_bound::norm ? norm : share[i]) * largest_x;
    reference.bound[i] = reference.bound[i] * (1 + promise.tolerance) + std::fabs(alpha) * promise.tolerance * of_row;
  }
}

template <scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y) {
  if (y.size() != reference.value.size()) {
    throw error(status::invalid_dimensions,
                fmt::format("error_ratio: y has {} elements, the reference {}", y.size(), reference.value.size()));
  }
  const auto n = static_cast<std::int64_t>(y.size());
  const auto row = [&](std::int64_t r, double& worst) {
    const auto i = static_cast<std::size_t>(r);
    const double low = reference.value_low.empty() ? 0.0 : reference.value_low[i];
    worst = std::max(worst, error_ratio({reference.value[i], low, reference.bound[i]}, static_cast<double>(y[i])));
  };
  return parallel_reduce(threads_for(context::cpu().threads(), n), n, 4096, 0.0, row,
                         [](double& all, double mine) { all = std::max(all, mine); });
}

template void add_promise(spmv_reference&, double, csr_view<double, std::int32_t>, host_span<const double>,
                          const value_tolerance&);
template void add_promise(spmv_reference&, double, csr_view<double, std::int64_t>, host_span<const double>,
                          const value_tolerance&);

#define TULLE_INSTANTIATE(T, O) \
  template spmv_reference reference_spmv(const context&, T, csr_view<T, O>, host_span<const T>, T, host_span<const T>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#define TULLE_INSTANTIATE_VALUE(T) template double error_ratio(const spmv_reference&, host_span<const T>);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

}  // namespace tulle

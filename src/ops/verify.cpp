// The reference y = alpha A x + beta y0 in higher precision, and the error of a result over its bound.
//
// The bound is gamma(n_i + 2) (|alpha| |A| |x| + |beta| |y0|)_i with gamma(k) = k u / (1 - k u) (Higham, Accuracy and
// Stability of Numerical Algorithms, 2002, section 3.1), plus n_i + 2 of T's smallest numbers (times |alpha| where it
// is above 1) for products that underflow, which gamma does not cover. It is infinite, and holds for any result, where
// n_i + 2 >= 1 / u or where a partial sum of finite numbers may exceed T's largest number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <tulle/ops/verify.hpp>

#include "core/instantiate.hpp"
#include "formats/check.hpp"
#include "ops/double_double.hpp"

namespace tulle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct row_result {
  double value = 0;
  double low = 0;
  double bound = 0;
};

template <scalar T>
struct row_input {
  T alpha;
  const index_t* colind;
  const T* values;
  std::int64_t count;
  const T* x;
  T beta;
  T y0;  // 0 when beta is 0
};

/// Modulo 2^32, as the kernels compute it.
row_result reference_row(const row_input<std::int32_t>& row) {
  std::uint32_t sum = 0;
  for (std::int64_t k = 0; k < row.count; ++k) {
    sum += static_cast<std::uint32_t>(row.values[k]) * static_cast<std::uint32_t>(row.x[row.colind[k]]);
  }
  const std::uint32_t y = static_cast<std::uint32_t>(row.alpha) * sum +
                          static_cast<std::uint32_t>(row.beta) * static_cast<std::uint32_t>(row.y0);
  return {static_cast<double>(static_cast<std::int32_t>(y)), 0, 0};
}

/// In double-double for f64; in double for f32, whose products are exact in it.
template <std::floating_point T>
row_result reference_row(const row_input<T>& row) {
  double_double sum;
  double plain = 0;
  double magnitude = 0;
  bool finite = std::isfinite(row.alpha) && std::isfinite(row.beta) && std::isfinite(row.y0);
  for (std::int64_t k = 0; k < row.count; ++k) {
    const double a = row.values[k];
    const double x = row.x[row.colind[k]];
    finite = finite && std::isfinite(a) && std::isfinite(x);
    plain += a * x;
    magnitude += std::abs(a * x);
    if constexpr (std::same_as<T, double>) sum = sum + two_product(a, x);
  }
  const double alpha = row.alpha;
  const double beta_y = row.beta == 0 ? 0.0 : static_cast<double>(row.beta) * row.y0;
  const double value = row.beta == 0 ? alpha * plain : alpha * plain + beta_y;
  if (!finite) return {value, 0, 0};

  const double terms = static_cast<double>(row.count) + 2;
  const double ku = terms * std::numeric_limits<T>::epsilon() / 2;
  const double scaled = std::abs(alpha) * magnitude + std::abs(beta_y);
  if (ku >= 1 || !(std::max(magnitude, scaled) * (1 + ku) < std::numeric_limits<T>::max())) return {0, 0, infinity};

  row_result out{value, 0, ku / (1 - ku) * scaled};
  if (row.count > 0 || row.beta != 0) {
    out.bound += terms * std::max(1.0, std::abs(alpha)) * std::numeric_limits<T>::denorm_min();
  }
  if constexpr (std::same_as<T, double>) {
    const double_double exact = alpha * sum + two_product(row.beta, row.y0);
    out.value = exact.high;
    out.low = exact.low;
  }
  return out;
}

/// Whether `y` is what a row of stored or multiplied infinities and NaNs must give.
bool same_special(double reference, double y) { return std::isnan(reference) ? std::isnan(y) : y == reference; }

}  // namespace

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
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic, 512)
  for (index_t r = 0; r < a.rows; ++r) {
    const O begin = a.rowptr[r];
    const row_result row = reference_row(row_input<T>{alpha, a.colind + begin, a.values + begin,
                                                      static_cast<std::int64_t>(a.rowptr[r + 1] - begin), x.data(),
                                                      beta, beta == 0 ? T{0} : y0[r]});
    out.value[r] = row.value;
    if constexpr (has_low) out.value_low[r] = row.low;
    out.bound[r] = row.bound;
  }
  return out;
}

template <scalar T>
double error_ratio(const spmv_reference& reference, host_span<const T> y) {
  if (y.size() != reference.value.size()) {
    throw error(status::invalid_dimensions,
                fmt::format("error_ratio: y has {} elements, the reference {}", y.size(), reference.value.size()));
  }
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double bound = reference.bound[i];
    if (bound == infinity) continue;
    if (!std::isfinite(reference.value[i])) {
      if (!same_special(reference.value[i], y[i])) return infinity;
      continue;
    }
    const double low = reference.value_low.empty() ? 0.0 : reference.value_low[i];
    const double difference = std::abs((static_cast<double>(y[i]) - reference.value[i]) - low);
    if (difference == 0) continue;
    const double ratio = bound == 0 ? infinity : difference / bound;
    if (!(ratio <= worst)) worst = std::isnan(ratio) ? infinity : ratio;
  }
  return worst;
}

#define TULLE_INSTANTIATE(T, O) \
  template spmv_reference reference_spmv(const context&, T, csr_view<T, O>, host_span<const T>, T, host_span<const T>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)
#define TULLE_INSTANTIATE_VALUE(T) template double error_ratio(const spmv_reference&, host_span<const T>);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE_VALUE)

}  // namespace tulle

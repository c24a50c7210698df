#include "workload.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/split_mix.hpp"

namespace tulle::cli {
namespace {

/// One step of SplitMix64.
std::uint64_t mix(std::uint64_t z) { return split_mix(z + 0x9e3779b97f4a7c15u); }

}  // namespace

void add_workload_options(CLI::App& app, workload& w) {
  app.add_flag("--transpose", w.transpose, "Multiply by the transpose of A");
  add_count(app, "--rhs", w.rhs, 1, 4096, "Right-hand sides, multiplied at once");
  add_choice(app, "--order", w.order, {"row", "column"},
             "Storage of several vectors: row by row, or one vector after the other (column)");
}

template <scalar T>
std::vector<T> random_vector(std::size_t n, std::uint64_t seed) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = mix(mix(seed) + i);
    if constexpr (std::is_same_v<T, std::int32_t>) {
      x[i] = static_cast<T>(bits % 17) - 8;
    } else {
      constexpr int digits = std::numeric_limits<T>::digits;
      x[i] = std::ldexp(static_cast<T>(bits >> (64 - digits)), 1 - digits) - 1;
    }
  }
  return x;
}

template <scalar T>
std::vector<spmv_reference> references(const context& host, const workload& work, T alpha, csr_view<T, std::int64_t> a,
                                       const std::vector<T>& x, T beta, const std::vector<T>& y0) {
  std::vector<spmv_reference> all;
  for (index_t j = 0; j < work.rhs; ++j) {
    const std::vector<T> one_x = work.vector_of(x, j), one_y0 = work.vector_of(y0, j);
    all.push_back(reference_spmv(host, alpha, a, host_span<const T>(one_x), beta, host_span<const T>(one_y0)));
  }
  return all;
}

template <scalar T>
double worst_ratio(const std::vector<spmv_reference>& expected, const workload& work, const std::vector<T>& y) {
  double worst = 0;
  for (index_t j = 0; j < work.rhs; ++j) {
    const std::vector<T> one = work.vector_of(y, j);
    const double ratio = error_ratio(expected[static_cast<std::size_t>(j)], host_span<const T>(one));
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

#define TULLE_CLI_INSTANTIATE(T)                                                                                    \
  template std::vector<T> random_vector<T>(std::size_t, std::uint64_t);                                             \
  template std::vector<spmv_reference> references<T>(const context&, const workload&, T, csr_view<T, std::int64_t>, \
                                                     const std::vector<T>&, T, const std::vector<T>&);              \
  template double worst_ratio<T>(const std::vector<spmv_reference>&, const workload&, const std::vector<T>&);
TULLE_CLI_INSTANTIATE(float)
TULLE_CLI_INSTANTIATE(double)
TULLE_CLI_INSTANTIATE(std::int32_t)

}  // namespace tulle::cli

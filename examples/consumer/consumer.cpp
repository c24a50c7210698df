// y = A x with an installed tulle.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  const std::vector<std::int64_t> rowptr{0, 2, 3};
  const std::vector<tulle::index_t> colind{0, 1, 1};
  const std::vector<double> values{1, 2, 3}, x{10, 100};
  std::vector<double> y(2);
  const tulle::csr_view<double, std::int64_t> a{2, 2, 3, rowptr.data(), colind.data(), values.data()};
  tulle::spmv_plan plan(tulle::context::cpu(), a);
  plan.apply(1.0, x, 0.0, y);
  std::printf("tulle %s: %g %g\n", TULLE_VERSION_STRING, y[0], y[1]);
}

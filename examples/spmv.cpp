// y = A x in C++: tulle_example_spmv FILE.mtx, with x = (1, 2, 3, ...).
#include <cstdio>
#include <numeric>
#include <tulle/tulle.hpp>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FILE.mtx\n", argv[0]), 2;
  const tulle::csr<double> a = tulle::read_matrix_market<double>(argv[1]);
  const tulle::context ctx = tulle::context::best();  // the GPU if there is one, else all cores
  tulle::spmv_plan plan(ctx, a);                      // analyse once

  std::vector<double> ascending(static_cast<std::size_t>(a.cols));
  std::iota(ascending.begin(), ascending.end(), 1.0);
  const tulle::buffer<double> x = tulle::to_buffer(ctx, ascending);
  tulle::buffer<double> y(ctx, static_cast<std::size_t>(a.rows));
  plan.apply(1.0, x, 0.0, y);  // y = A x, as often as you like

  std::printf("%s\n", plan.explain().c_str());
  for (const double value : tulle::to_vector(ctx, y)) std::printf("%g\n", value);
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}

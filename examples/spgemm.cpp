// C = A B in C++: tulle_example_spgemm A.mtx B.mtx C.mtx
#include <cstdio>
#include <tulle/tulle.hpp>

int main(int argc, char** argv) try {
  if (argc != 4) return std::fprintf(stderr, "usage: %s A.mtx B.mtx C.mtx\n", argv[0]), 2;
  const tulle::csr<double> a = tulle::read_matrix_market<double>(argv[1]);
  const tulle::csr<double> b = tulle::read_matrix_market<double>(argv[2]);
  const tulle::context ctx = tulle::context::cpu();
  tulle::spgemm_plan<double> plan(ctx, a, b);   // analyse once
  const tulle::matrix_ref c = plan.multiply();  // C = A B
  plan.numeric(c, 2.0);                         // C = 2 A B: values only, as often as you like

  std::printf("%s\n%lld products, %lld nonzeros\n", plan.explain().c_str(), static_cast<long long>(plan.products()),
              static_cast<long long>(plan.nnz()));
  if (c.types.offset == tulle::offset_type::i32) {  // as where they fit
    tulle::write_matrix_market(argv[3], c.as<double, std::int32_t>());
  } else {
    tulle::write_matrix_market(argv[3], c.as<double, std::int64_t>());
  }
} catch (const tulle::error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}

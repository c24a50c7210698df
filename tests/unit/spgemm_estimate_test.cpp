// What estimate_spgemm promises: C is no larger.
#include <tulle/io/generate.hpp>

#include "support/backends.hpp"
#include "support/battery.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

template <scalar T, offset O>
void expect_promises_kept(const context& ctx, const plain_csr<T, O>& host_a, const plain_csr<T, O>& host_b,
                          const spgemm_options& options = {}) {
  const csr<T, O> a = host_a.on(ctx), b = host_b.on(ctx);
  const spgemm_estimate e = estimate_spgemm(ctx, a, b, options);
  spgemm_plan<T> plan(ctx, a.view(), b.view(), options);
  const matrix_ref c = plan.multiply();
  EXPECT_LE(bytes_of(c), e.c_bytes_bound);
  EXPECT_LE(plan.nnz(), e.nnz_bound);
  EXPECT_LE(e.nnz_bound, e.products);
  EXPECT_EQ(plan.products(), e.products);
  EXPECT_LE(e.nnz, e.nnz_bound);
  if (c.rows <= 500) {
    EXPECT_EQ(e.nnz, plan.nnz()) << "so few rows are counted";
  } else {
    EXPECT_GT(e.nnz, plan.nnz() / 3);
    EXPECT_LT(e.nnz, plan.nnz() * 3);
  }
}

class SpgemmEstimate : public on_backend {
 protected:
  template <class T, class O>
  void every_shape(const spgemm_options& options) {
    struct {
      index_t rows, inner, cols, in_a, in_b;
    } const all[] = {{0, 7, 5, 2, 2},     {7, 0, 5, 2, 2},       {7, 5, 0, 2, 2},        {1, 1, 1, 1, 1},
                     {300, 200, 1, 4, 1}, {200, 1, 300, 1, 90},  {1, 300, 2000, 90, 60}, {300, 200, 100'000, 9, 20},
                     {20, 300, 40, 0, 6}, {300, 300, 300, 1, 1}, {120, 200, 900, 60, 60}};
    for (const auto& s : all) {
      SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.inner) + " x " + std::to_string(s.cols));
      expect_promises_kept(ctx(), random_csr<T, O>(s.rows, s.inner, s.in_a, 1),
                           random_csr<T, O>(s.inner, s.cols, s.in_b, 2), options);
    }
  }
};
TULLE_ON_BACKENDS(SpgemmEstimate, "cpu1", "cpu2", "cpu16", "cuda");

TEST_P(SpgemmEstimate, EveryShape) {
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    every_shape<double, std::int32_t>({.kernel = kernel});
    every_shape<float, std::int32_t>({.kernel = kernel});
  }
  every_shape<double, std::int64_t>({});
}

/// Of generated matrices: more rows than are listed by class, and rows of many lengths.
TEST_P(SpgemmEstimate, Squares) {
  for (const char* spec :
       {"gen:stencil:n=17,points=7", "gen:stencil:n=16,points=27", "gen:rmat:scale=11", "gen:banded:n=5000"}) {
    SCOPED_TRACE(spec);
    const auto m = typed<double, std::int32_t>(plain(generate<double>(context::cpu(2), spec)));
    expect_promises_kept(ctx(), m, m);
  }
}

/// Operands that the plan copies, which are large beside the product: B unsorted or to be transposed, then A.
TEST_P(SpgemmEstimate, CopiedOperands) {
  const auto few = random_csr<double, std::int32_t>(9, 500, 3, 1);
  const auto many = random_csr<double, std::int32_t>(500, 900, 60, 2),
             repeating = random_csr<double, std::int32_t>(500, 900, 60, 2, rows_are::repeating);
  expect_promises_kept(ctx(), few, repeating);
  expect_promises_kept(ctx(), few, transposed(many), {.transpose_b = true});
  expect_promises_kept(ctx(), transposed(many), random_csr<double, std::int32_t>(900, 7, 1, 3), {.transpose_a = true});
}

}  // namespace
}  // namespace tulle::test

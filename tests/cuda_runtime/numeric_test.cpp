// The numeric phase of C = M o (alpha A B) + beta D neither allocates nor synchronises, and works inside a CUDA graph.
#include "fixture.hpp"
#include "kernels/backends.hpp"
#include "support/spgemm.hpp"

namespace tulle::test {
namespace {

class cuda_numeric_test : public cuda_test {
 protected:
  csr<double, std::int32_t> on_gpu(const char* name) const {
    const context cpu = context::cpu();
    const auto narrow = with_offsets<std::int32_t>(cpu, generate<double>(cpu, name).view());
    return clone(ctx(), narrow.view());
  }

  /// By what is called, and by what a graph of the same call leaves in C.
  void expect_numeric_only_launches(spgemm_plan<double>& plan, double beta) const {
    const std::vector<double> expected = values_of(ctx(), plan.multiply(2.5, beta));
    matrix_ref c = plan.multiply(1, beta);
    const auto numeric = [&] { plan.numeric(c, 2.5, beta); };
    expect_only_launches(ctx(), numeric);
    const auto graph = cuda_runtime()->capture(0, ctx().stream(), numeric);
    for (int run = 0; run < 2; ++run) {
      fill_bytes(ctx(), const_cast<void*>(c.values), memory_space::device, 0xff, expected.size() * sizeof(double));
      graph->launch(ctx().stream());
      EXPECT_EQ(values_of(ctx(), c), expected) << "launch " << run;
    }
  }
};

/// Rows that are sorted, hashed, long, and made of few long rows of B.
constexpr const char* squares[] = {"gen:fem:n=6", "gen:stencil:points=27,n=18", "gen:rmat:scale=13,degree=8",
                                   "gen:short:n=5000", "gen:arrow:n=3000,dense=4"};

TEST_F(cuda_numeric_test, only_launches_and_can_be_captured_in_a_graph) {
  for (const char* name : squares) {
    SCOPED_TRACE(name);
    const auto a = on_gpu(name);
    spgemm_plan<double> plan(ctx(), a.view(), a.view());
    expect_numeric_only_launches(plan, 0);
  }
}

TEST_F(cuda_numeric_test, with_a_mask_and_with_d) {
  const auto a = on_gpu("gen:stencil:points=7,n=12"), other = on_gpu("gen:stencil:points=27,n=12");
  for (const bool masked : {false, true}) {
    for (const bool adds : {false, true}) {
      SCOPED_TRACE(masked * 10 + adds);
      spgemm_terms terms;
      if (masked) terms.mask = other.view();
      if (adds) terms.d = other.view();
      spgemm_plan<double> plan(ctx(), a.view(), a.view(), {}, terms);
      expect_numeric_only_launches(plan, adds ? -0.5 : 0);
    }
  }
}

}  // namespace
}  // namespace tulle::test

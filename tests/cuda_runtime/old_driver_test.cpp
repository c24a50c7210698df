// cg.graph where the driver has no loops in graphs: `solve` looks from the host, one graph behind, and `enqueue` queues
// all iterations there may be. failing_cuda.cpp reports such a driver.
#include "fixture.hpp"

namespace tulle::test {
namespace {

class cuda_old_driver_test : public cuda_test {
 protected:
  static constexpr index_t rows = 192;  // few, for sanitizers
  const csr<double> host_ = generate<double>(context::cpu(), "gen:fem:dof=3,n=4,values=spd");
  const buffer<double> b_ = to_buffer(ctx(), std::vector<double>(rows, 1.0));

  static cg_options with(preconditioner_kind m, index_t block) {
    cg_options o;
    o.kernel = "cg.graph";
    o.preconditioner = m;
    o.block = block;
    o.rtol = 1e-6;
    o.max_iterations = 20;
    o.replace_interval = 7;
    o.zero_guess = true;
    return o;
  }
};

TEST_F(cuda_old_driver_test, is_what_these_tests_see) { EXPECT_LT(ctx().info().driver_version, 12040); }

TEST_F(cuda_old_driver_test, looking_and_queueing_solve_alike) {
  using enum preconditioner_kind;
  for (const auto& [m, block] : {std::pair(none, 1), {jacobi, 1}, {block_jacobi, 3}, {block_jacobi, 2}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(m) << " " << block);
    const cg_solver solver(ctx(), matrix_ref(host_), with(m, block));
    buffer<double> x(ctx(), rows);
    const cg_result looked = solver.solve(b_, x);
    EXPECT_EQ(looked.code, 0) << looked.residual << " after " << looked.iterations;
    EXPECT_LE(looked.residual, 1e-6 * looked.rhs);
    const std::vector<double> want = to_vector(ctx(), x);
    buffer<cg_record> record(ctx(), 1);
    const auto work = [&] { solver.enqueue(b_, x, record.data()); };
    const graph captured(ctx(), work);
    for (const bool in_graph : {false, true}) {
      fill_bytes(ctx(), x.data(), memory_space::device, 0xff, x.bytes());
      in_graph ? captured.launch() : work();
      const cg_record queued = to_vector(ctx(), record).front();
      EXPECT_EQ(queued.code, 0);
      EXPECT_EQ(queued.iterations, looked.iterations);
      EXPECT_EQ(queued.residual, looked.residual);
      EXPECT_EQ(to_vector(ctx(), x), want);
    }
  }
}

TEST_F(cuda_old_driver_test, mixed_precision_is_corrected_from_the_host) {
  for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
    cg_options o = with(m, 1);
    o.precision = solver_precision::mixed;
    o.rtol = 1e-10;
    o.max_iterations = 60;
    const cg_solver solver(ctx(), matrix_ref(host_), o);
    buffer<double> x(ctx(), rows);
    const cg_result end = solver.solve(b_, x);
    EXPECT_EQ(end.code, 0) << end.residual << " after " << end.iterations;
    EXPECT_LE(end.residual, 1e-10 * end.rhs);
    EXPECT_GE(end.corrections, 2);
    EXPECT_EQ(end.wide_iterations, 0);
  }
}

}  // namespace
}  // namespace tulle::test

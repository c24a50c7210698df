// A x = b through the C API, on both backends, and what it refuses.
#include <cmath>
#include <limits>

#include "handles.hpp"

namespace tulle::test {
namespace {

/// [4 1 0; 1 3 1; 0 1 2].
plain_csr<double, std::int32_t> definite() {
  return {3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, 3, 1, 1, 2}};
}

class capi_cg : public on_each_backend {
 protected:
  buffer_handle upload(const std::vector<double>& from) {
    auto made_buffer = made<buffer_handle>(tulle_buffer_create, context, from.size() * sizeof(double));
    TULLE_EXPECT_OK(tulle_buffer_copy_in(made_buffer.get(), from.data(), from.size() * sizeof(double)));
    return made_buffer;
  }
  static void* data(const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); }
  cg_handle solver_of(const tulle_cg_options& options) {
    return made<cg_handle>(tulle_cg_solver_create, context, placed(context, definite()), &options);
  }
  static std::vector<double> download(const buffer_handle& from, std::size_t n) {
    std::vector<double> to(n);
    TULLE_EXPECT_OK(tulle_buffer_copy_out(from.get(), to.data(), n * sizeof(double)));
    return to;
  }
  /// b = A (1, 2, 3) is (6, 10, 8).
  void expect_solution(const buffer_handle& x, double factor = 1) {
    const std::vector<double> got = download(x, 3);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(got[static_cast<std::size_t>(i)], factor * (i + 1), 1e-9);
  }
};
TULLE_ON_BOTH_BACKENDS(capi_cg);

TEST_P(capi_cg, solves_with_every_preconditioner_and_new_values) {
  for (tulle_preconditioner m = TULLE_PRECONDITIONER_JACOBI; m <= TULLE_PRECONDITIONER_CHEBYSHEV; ++m) {
    tulle_cg_options options{};
    options.rtol = 1e-12;
    options.preconditioner = m;
    const cg_handle solver = solver_of(options);
    const buffer_handle b = upload({6, 10, 8}), x = upload({0, 0, 0});
    tulle_cg_record record{};
    TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
    EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS);
    EXPECT_LE(record.residual, 1e-12 * record.rhs);
    EXPECT_DOUBLE_EQ(record.rhs, std::sqrt(200.0));
    expect_solution(x);
    const std::vector<double> halves{2, 0.5, 0.5, 1.5, 0.5, 0.5, 1};
    TULLE_EXPECT_OK(tulle_cg_solver_update_values(solver.get(), halves.data(), 7, TULLE_HOST));
    TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
    expect_solution(x, 2);
  }
}

TEST_P(capi_cg, a_queued_solve_leaves_its_record_in_the_memory_of_the_context) {
  tulle_cg_options options{};
  options.max_iterations = 20;
  options.zero_guess = 1;
  const cg_handle solver = solver_of(options);
  const buffer_handle b = upload({6, 10, 8}), x = upload({NAN, NAN, NAN}), there = upload({0, 0, 0, 0});
  TULLE_EXPECT_OK(
      tulle_cg_solver_enqueue(solver.get(), data(b), data(x), 3, static_cast<tulle_cg_record*>(data(there))));
  tulle_cg_record record{-1, -1, -1, -1, 0};
  static_assert(sizeof record == 4 * sizeof(double));
  TULLE_EXPECT_OK(tulle_buffer_copy_out(there.get(), &record, sizeof record));
  EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS);
  EXPECT_GT(record.iterations, 0);
  EXPECT_EQ(record.row, -1);
  expect_solution(x);
}

TEST_P(capi_cg, says_what_it_is_and_what_did_not_converge) {
  tulle_cg_options options{};
  options.max_iterations = -1;
  const cg_handle solver = solver_of(options);
  const auto sentence = got<const char*>(tulle_cg_solver_explain, solver);
  EXPECT_NE(std::string(sentence).find("jacobi"), std::string::npos) << sentence;
  EXPECT_GT(got<std::size_t>(tulle_cg_solver_workspace, solver), 0u);
  const buffer_handle b = upload({6, 10, 8}), x = upload({0, 0, 0});
  tulle_cg_record record{};
  TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_NOT_CONVERGED);
  EXPECT_EQ(record.iterations, 0);
}

TEST(capi_cg_arguments, are_refused_by_name) {
  const context_handle context = cpu_context();
  const auto a = definite();
  const csr_handle matrix = placed(context, a);
  tulle_cg_solver* made_solver = nullptr;
  null_in_turn(tulle_cg_solver_create, {"context", "matrix", "", "solver"}, context, matrix, nullptr, &made_solver);
  const auto refused_with = [&](auto set, tulle_status code, const char* words) {
    tulle_cg_options options{};
    set(options);
    refused(tulle_cg_solver_create(context.get(), matrix.get(), &options, &made_solver), code, words);
    EXPECT_EQ(made_solver, nullptr);
  };
  using o = tulle_cg_options;
  refused_with([](o& s) { s.rtol = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "rtol");
  refused_with([](o& s) { s.rtol = NAN; }, TULLE_STATUS_INVALID_ARGUMENT, "rtol");
  refused_with([](o& s) { s.atol = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "atol");
  refused_with([](o& s) { s.max_iterations = -2; }, TULLE_STATUS_INVALID_ARGUMENT, "max_iterations");
  refused_with([](o& s) { s.zero_guess = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "zero_guess");
  refused_with([](o& s) { s.preconditioner = 4; }, TULLE_STATUS_INVALID_ARGUMENT, "preconditioner");
  refused_with([](o& s) { s.block = 9; }, TULLE_STATUS_INVALID_ARGUMENT, "block");
  refused_with([](o& s) { s.kernel = "nothing"; }, TULLE_STATUS_INVALID_ARGUMENT, "nothing");
  auto negative = definite();
  negative.values[3] = -3;
  const csr_handle indefinite = placed(context, negative);
  refused(tulle_cg_solver_create(context.get(), indefinite.get(), nullptr, &made_solver), TULLE_STATUS_INDEFINITE, "1");
  const csr_handle wide = placed(context, small_matrix());
  refused(tulle_cg_solver_create(context.get(), wide.get(), nullptr, &made_solver), TULLE_STATUS_INVALID_DIMENSIONS,
          "3 x 4");

  const auto solver = made<cg_handle>(tulle_cg_solver_create, context, matrix, nullptr);
  std::array<double, 3> b{6, 10, 8}, x{};
  tulle_cg_record record{};
  null_in_turn(tulle_cg_solver_solve, {"solver", "b", "x", "record"}, solver, b.data(), x.data(), 3, &record);
  null_in_turn(tulle_cg_solver_enqueue, {"solver", "b", "x", "record"}, solver, b.data(), x.data(), 3, &record);
  refused(tulle_cg_solver_solve(solver.get(), b.data(), x.data(), 2, &record), TULLE_STATUS_INVALID_DIMENSIONS, "b");
  refused(tulle_cg_solver_solve(solver.get(), b.data(), x.data(), -1, &record), TULLE_STATUS_INVALID_DIMENSIONS,
          "size");
  refused(tulle_cg_solver_solve(solver.get(), x.data(), x.data(), 3, &record), TULLE_STATUS_INVALID_ARGUMENT, "x");
  null_in_turn(tulle_cg_solver_update_values, {"solver", "values"}, solver, a.values.data(), 7, TULLE_HOST);
  refused(tulle_cg_solver_update_values(solver.get(), a.values.data(), 6, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS,
          "values");
  refused(tulle_cg_solver_update_values(solver.get(), a.values.data(), 7, 2), TULLE_STATUS_INVALID_ARGUMENT, "space");
  const char* sentence = nullptr;
  std::size_t bytes = 0;
  null_in_turn(tulle_cg_solver_explain, {"solver", "sentence"}, solver, &sentence);
  null_in_turn(tulle_cg_solver_workspace, {"solver", "bytes"}, solver, &bytes);
  tulle_cg_solver_destroy(nullptr);
}

}  // namespace
}  // namespace tulle::test

// Jacobi's method through the C API, on both backends, and what it refuses.
#include <cmath>

#include "handles.hpp"

namespace tulle::test {
namespace {

/// [4 1 0; 1 -5 2; 0 1 3], and its rows in another order.
plain_csr<double, std::int32_t> dominant() {
  return {3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, -5, 2, 1, 3}};
}
plain_csr<double, std::int32_t> moved() { return {3, 3, {0, 3, 5, 7}, {0, 1, 2, 1, 2, 0, 1}, {1, -5, 2, 1, 3, 4, 1}}; }

class capi_jacobi : public on_each_backend {
 protected:
  buffer_handle upload(const std::array<double, 3>& from) {
    auto to = made<buffer_handle>(tulle_buffer_create, context, sizeof from);
    TULLE_EXPECT_OK(tulle_buffer_copy_in(to.get(), from.data(), sizeof from));
    return to;
  }
  static void* data(const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); }
  /// x = factor (1, 2, 3).
  void expect_solution(const jacobi_handle& solver, const std::array<double, 3>& b, double factor = 1) {
    const buffer_handle rhs = upload(b), x = upload({0, 0, 0});
    tulle_cg_record record{};
    TULLE_EXPECT_OK(tulle_jacobi_solver_solve(solver.get(), data(rhs), data(x), 3, &record));
    EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS);
    EXPECT_LE(record.residual, 1e-12 * record.rhs);
    EXPECT_EQ(record.row, -1);
    std::array<double, 3> got{};
    TULLE_EXPECT_OK(tulle_buffer_copy_out(x.get(), got.data(), sizeof got));
    // No singular value is below the least |a_ii| - (r_i + c_i) / 2 (Johnson, 1989): 1.5, and 0.75 of half of A.
    for (int i = 0; i < 3; ++i)
      EXPECT_LE(std::fabs(got[static_cast<std::size_t>(i)] - factor * (i + 1)), (record.residual + 1e-14) / 0.75);
  }
};
TULLE_ON_BOTH_BACKENDS(capi_jacobi);

TEST_P(capi_jacobi, solves_in_every_form_and_order_with_new_values) {
  const std::array<std::int32_t, 3> numbers{2, 0, 1};
  const auto order = made<permutation_handle>(tulle_permutation_create, context, numbers.data(), std::int64_t{3},
                                              tulle_memory_space{TULLE_HOST});
  for (tulle_jacobi_form form = TULLE_JACOBI_PLAIN; form <= TULLE_JACOBI_SYMMETRIC; ++form) {
    for (const tulle_permutation* p : {static_cast<tulle_permutation*>(nullptr), order.get()}) {
      for (const int match : {0, 1}) {
        tulle_jacobi_options options{};
        options.rtol = 1e-12;
        options.form = form;
        options.order = form == TULLE_JACOBI_PLAIN ? nullptr : p;
        options.match = match;
        const auto a = match == 0 ? dominant() : moved();
        const auto solver = made<jacobi_handle>(tulle_jacobi_solver_create, context, placed(context, a), &options);
        const std::array<double, 3> b =
            match == 0 ? std::array<double, 3>{6, -3, 11} : std::array<double, 3>{-3, 11, 6};
        expect_solution(solver, b);
        std::vector<double> halves = a.values;
        for (double& v : halves) v /= 2;
        TULLE_EXPECT_OK(tulle_jacobi_solver_update_values(solver.get(), halves.data(), 7, TULLE_HOST));
        expect_solution(solver, b, 2);
      }
    }
  }
}

TEST_P(capi_jacobi, solves_in_mixed_precision) {
  tulle_jacobi_options options{};
  options.rtol = 1e-12;
  options.precision = TULLE_SOLVER_PRECISION_MIXED;
  const auto solver = made<jacobi_handle>(tulle_jacobi_solver_create, context, placed(context, dominant()), &options);
  expect_solution(solver, {6, -3, 11});
}

TEST_P(capi_jacobi, says_what_it_is_and_what_did_not_converge) {
  tulle_jacobi_options options{};
  options.max_iterations = -1;
  options.omega = 0.5;
  const auto solver = made<jacobi_handle>(tulle_jacobi_solver_create, context, placed(context, dominant()), &options);
  const std::string said = got<const char*>(tulle_jacobi_solver_explain, solver);
  EXPECT_NE(said.find("0.5 D^-1"), std::string::npos) << said;
  EXPECT_GT(got<std::size_t>(tulle_jacobi_solver_workspace, solver), 0u);
  const buffer_handle b = upload({6, -3, 11}), x = upload({0, 0, 0});
  tulle_cg_record record{};
  TULLE_EXPECT_OK(tulle_jacobi_solver_solve(solver.get(), data(b), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_NOT_CONVERGED);
  EXPECT_EQ(record.iterations, 0);
}

TEST_P(capi_jacobi, values_may_be_narrower_than_vectors) {
  const tulle_scalar_type wide = TULLE_F64;
  tulle_jacobi_options options{};
  options.rtol = 1e-12;
  options.vector_type = &wide;
  const plain_csr<float, std::int32_t> narrow{3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, -5, 2, 1, 3}};
  expect_solution(made<jacobi_handle>(tulle_jacobi_solver_create, context, placed(context, narrow), &options),
                  {6, -3, 11});
}

TEST(capi_jacobi_arguments, are_refused_by_name) {
  const context_handle context = cpu_context();
  const auto a = dominant();
  const csr_handle matrix = placed(context, a);
  tulle_jacobi_solver* none = nullptr;
  null_in_turn(tulle_jacobi_solver_create, {"context", "matrix", "", "solver"}, context, matrix, nullptr, &none);
  const auto refused_with = [&](auto set, tulle_status code, const char* words) {
    tulle_jacobi_options options{};
    set(options);
    refused(tulle_jacobi_solver_create(context.get(), matrix.get(), &options, &none), code, words);
    EXPECT_EQ(none, nullptr);
  };
  using o = tulle_jacobi_options;
  refused_with([](o& s) { s.rtol = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "rtol");
  refused_with([](o& s) { s.precision = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "options->precision = 2");
  refused_with([](o& s) { s.tolerance = 1; }, TULLE_STATUS_INVALID_ARGUMENT, "options->tolerance = 1");
  refused_with([](o& s) { s.bound = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "options->bound = -1");
  refused_with([](o& s) { s.max_iterations = -2; }, TULLE_STATUS_INVALID_ARGUMENT, "max_iterations");
  refused_with([](o& s) { s.check_interval = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "check_interval");
  refused_with([](o& s) { s.omega = NAN; }, TULLE_STATUS_INVALID_ARGUMENT, "omega");
  refused_with([](o& s) { s.form = 3; }, TULLE_STATUS_INVALID_ARGUMENT, "options->form");
  refused_with([](o& s) { s.match = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "options->match");
  refused_with([](o& s) { s.kernel = "nothing"; }, TULLE_STATUS_INVALID_ARGUMENT, "nothing");
  const std::array<std::int32_t, 2> two{1, 0};
  const auto order = made<permutation_handle>(tulle_permutation_create, context, two.data(), std::int64_t{2},
                                              tulle_memory_space{TULLE_HOST});
  refused_with([&](o& s) { s.form = TULLE_JACOBI_ROWS, s.order = order.get(); }, TULLE_STATUS_INVALID_DIMENSIONS,
               "order is of 2 rows");
  refused_with([&](o& s) { s.order = order.get(); }, TULLE_STATUS_INVALID_ARGUMENT, "order");
  auto zero = a;
  zero.values[3] = 0;
  refused(tulle_jacobi_solver_create(context.get(), placed(context, zero).get(), nullptr, &none),
          TULLE_STATUS_INVALID_STRUCTURE, "row 1");

  const auto solver = made<jacobi_handle>(tulle_jacobi_solver_create, context, matrix, nullptr);
  std::array<double, 3> b{6, -3, 11}, x{};
  tulle_cg_record record{};
  null_in_turn(tulle_jacobi_solver_solve, {"solver", "b", "x", "record"}, solver, b.data(), x.data(), 3, &record);
  refused(tulle_jacobi_solver_solve(solver.get(), b.data(), x.data(), 2, &record), TULLE_STATUS_INVALID_DIMENSIONS,
          "b");
  refused(tulle_jacobi_solver_solve(solver.get(), x.data(), x.data(), 3, &record), TULLE_STATUS_INVALID_ARGUMENT, "x");
  null_in_turn(tulle_jacobi_solver_update_values, {"solver", "values"}, solver, a.values.data(), 7, TULLE_HOST);
  refused(tulle_jacobi_solver_update_values(solver.get(), a.values.data(), 6, TULLE_HOST),
          TULLE_STATUS_INVALID_DIMENSIONS, "values");
  refused(tulle_jacobi_solver_update_values(solver.get(), zero.values.data(), 7, TULLE_HOST),
          TULLE_STATUS_INVALID_STRUCTURE, "row 1");
  const char* sentence = nullptr;
  std::size_t bytes = 0;
  null_in_turn(tulle_jacobi_solver_explain, {"solver", "sentence"}, solver, &sentence);
  null_in_turn(tulle_jacobi_solver_workspace, {"solver", "bytes"}, solver, &bytes);
  tulle_jacobi_solver_destroy(nullptr);
}

}  // namespace
}  // namespace tulle::test

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
  /// How far x is from the solution at most, from the residual that was reported: ||A^-1|| (||r|| + the rounding of r),
  /// since no eigenvalue of A / factor is below 1 / factor (Gershgorin).
  static double distance(const tulle_cg_record& record, double factor = 1) {
    const double u = std::numeric_limits<double>::epsilon() / 2;
    return factor * (record.residual + 5 * u / (1 - 5 * u) * 2 * record.rhs);
  }
  /// b = A (1, 2, 3) is (6, 10, 8).
  void expect_solution(const buffer_handle& x, const tulle_cg_record& record, double factor = 1) {
    const std::vector<double> got = download(x, 3);
    EXPECT_LE(record.residual, 1e-8 * record.rhs);
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(got[static_cast<std::size_t>(i)], factor * (i + 1), distance(record, factor));
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
    expect_solution(x, record);
    const std::vector<double> halves{2, 0.5, 0.5, 1.5, 0.5, 0.5, 1};
    TULLE_EXPECT_OK(tulle_cg_solver_update_values(solver.get(), halves.data(), 7, TULLE_HOST));
    TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
    expect_solution(x, record, 2);
  }
}

TEST_P(capi_cg, solves_in_mixed_precision) {
  tulle_cg_options options{};
  options.rtol = 1e-12;
  options.precision = TULLE_SOLVER_PRECISION_MIXED;
  const cg_handle solver = solver_of(options);
  const buffer_handle b = upload({6, 10, 8}), x = upload({0, 0, 0});
  tulle_cg_record record{};
  TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS);
  EXPECT_LE(record.residual, 1e-12 * record.rhs);
  expect_solution(x, record);
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
  expect_solution(x, record);
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

TEST_P(capi_cg, a_tolerance_of_0_is_one_where_it_is_given) {
  tulle_cg_options options{};
  options.max_iterations = 2;
  options.rtol_given = 1;
  const cg_handle solver = solver_of(options);
  const buffer_handle b = upload({0, 0, 0}), x = upload({0, 0, 0}), other = upload({6, 10, 8});
  tulle_cg_record record{};
  TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(other), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_NOT_CONVERGED);
  EXPECT_EQ(record.iterations, 2);
  TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS) << "a residual of 0 reaches it";
}

TEST_P(capi_cg, residuals_are_kept_where_that_is_asked_for) {
  const double* residuals = nullptr;
  std::int64_t count = -1;
  tulle_cg_options options{};
  options.zero_guess = 1;
  for (const std::int32_t keep : {0, 1}) {
    options.keep_history = keep;
    const cg_handle solver = solver_of(options);
    TULLE_EXPECT_OK(tulle_cg_solver_history(solver.get(), &residuals, &count));
    EXPECT_EQ(count, 0) << "before a solve";
    const buffer_handle b = upload({6, 10, 8}), x = upload({0, 0, 0});
    tulle_cg_record record{};
    TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
    TULLE_EXPECT_OK(tulle_cg_solver_history(solver.get(), &residuals, &count));
    EXPECT_EQ(count, keep == 1 ? record.iterations + 1 : 0);
    if (keep == 1) EXPECT_DOUBLE_EQ(residuals[0], std::sqrt(200.0));
  }
}

TEST_P(capi_cg, several_right_hand_sides_are_solved_together) {
  tulle_cg_options options{};
  options.rtol = 1e-12;
  options.rhs = 2;
  const cg_handle solver = solver_of(options);
  const buffer_handle b = upload({6, 10, 8, 12, 20, 16}), x = upload(std::vector<double>(6));
  const tulle_multivector from{3, 2, 3, TULLE_COLUMN_MAJOR, data(b)}, to{3, 2, 3, TULLE_COLUMN_MAJOR, data(x)};
  std::array<tulle_cg_record, 2> records{};
  TULLE_EXPECT_OK(tulle_cg_solver_solve_many(solver.get(), &from, &to, records.data()));
  const std::vector<double> got = download(x, 6);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(got[i], (i / 3 + 1.0) * (static_cast<double>(i % 3) + 1), distance(records[i / 3]));
  for (const tulle_cg_record& r : records) EXPECT_EQ(r.code, TULLE_STATUS_SUCCESS);
  null_in_turn(tulle_cg_solver_solve_many, {"solver", "b", "x", "records"}, solver, &from, &to, records.data());
  tulle_multivector wrong = to;
  wrong.order = 7;
  refused(tulle_cg_solver_solve_many(solver.get(), &from, &wrong, records.data()), TULLE_STATUS_INVALID_ARGUMENT,
          "x->order");
}

TEST_P(capi_cg, values_may_be_narrower_than_vectors) {
  tulle_cg_options options{};
  const tulle_scalar_type wide = TULLE_F64;
  options.vector_type = &wide;
  options.rtol = 1e-12;
  const plain_csr<float, std::int32_t> narrow{3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, 3, 1, 1, 2}};
  const auto solver = made<cg_handle>(tulle_cg_solver_create, context, placed(context, narrow), &options);
  const buffer_handle b = upload({6, 10, 8}), x = upload({0, 0, 0});
  tulle_cg_record record{};
  TULLE_EXPECT_OK(tulle_cg_solver_solve(solver.get(), data(b), data(x), 3, &record));
  EXPECT_EQ(record.code, TULLE_STATUS_SUCCESS);
  expect_solution(x, record);
}

TEST_P(capi_cg, many_small_systems_are_solved_each_for_itself) {
  const csr_handle pattern = placed(context, definite());
  std::vector<double> all = definite().values;
  for (const double v : definite().values) all.push_back(v / 2);
  for (const double v : definite().values) all.push_back(-v);
  const buffer_handle values = upload(all), b = upload({6, 10, 8, 6, 10, 8, 6, 10, 8}),
                      x = upload(std::vector<double>(9));
  tulle_cg_options options{};
  options.rtol = 1e-12;
  const auto batch = made<batch_handle>(tulle_cg_batch_create, context, pattern, data(values), 3, &options);
  EXPECT_EQ(got<std::int64_t>(tulle_cg_batch_unknowns, batch), 9);
  EXPECT_NE(std::string(got<const char*>(tulle_cg_batch_explain, batch)).find("3 systems"), std::string::npos);
  EXPECT_GT(got<std::size_t>(tulle_cg_batch_workspace, batch), 0u);
  std::array<tulle_cg_record, 3> records{};
  const auto expect_outcome = [&] {
    EXPECT_EQ(records[0].code, TULLE_STATUS_SUCCESS);
    EXPECT_EQ(records[1].code, TULLE_STATUS_SUCCESS);
    EXPECT_EQ(records[2].code, TULLE_STATUS_INDEFINITE);
    EXPECT_EQ(records[2].row, 0);
    const std::vector<double> solution = download(x, 9);
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(solution[i], (i / 3 + 1.0) * (static_cast<double>(i % 3) + 1), distance(records[i / 3], i / 3 + 1.0));
    for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(solution[i], 0);
  };
  TULLE_EXPECT_OK(tulle_cg_batch_solve(batch.get(), data(b), data(x), 9, records.data()));
  expect_outcome();
  TULLE_EXPECT_OK(tulle_cg_batch_update_values(batch.get(), all.data(), 21, TULLE_HOST));
  const buffer_handle there = upload(std::vector<double>(12));
  static_assert(sizeof(tulle_cg_record) == 4 * sizeof(double));
  TULLE_EXPECT_OK(tulle_cg_batch_enqueue(batch.get(), data(b), data(x), 9, static_cast<tulle_cg_record*>(data(there))));
  TULLE_EXPECT_OK(tulle_buffer_copy_out(there.get(), records.data(), sizeof records));
  expect_outcome();
  const std::array<const tulle_csr*, 2> matrices{pattern.get(), pattern.get()};
  const auto many = made<batch_handle>(tulle_cg_batch_create_many, context, matrices.data(), 2, &options);
  TULLE_EXPECT_OK(tulle_cg_batch_solve(many.get(), data(b), data(x), 6, records.data()));
  EXPECT_EQ(records[1].code, TULLE_STATUS_SUCCESS);
}

TEST(capi_cg_arguments, of_batches_are_refused_by_name) {
  const context_handle context = cpu_context();
  const csr_handle pattern = placed(context, definite());
  const std::vector<double> values = definite().values;
  tulle_cg_batch* none = nullptr;
  null_in_turn(tulle_cg_batch_create, {"context", "pattern", "values", "", "batch"}, context, pattern, values.data(), 1,
               nullptr, &none);
  const tulle_csr* const matrices[] = {pattern.get(), nullptr};
  null_in_turn(tulle_cg_batch_create_many, {"context", "matrices", "", "batch"}, context, matrices, 1, nullptr, &none);
  refused(tulle_cg_batch_create_many(context.get(), matrices, 2, nullptr, &none), TULLE_STATUS_NULL_POINTER,
          "matrices[1]");
  refused(tulle_cg_batch_create_many(context.get(), matrices, -1, nullptr, &none), TULLE_STATUS_INVALID_DIMENSIONS,
          "count");
  refused(tulle_cg_batch_create(context.get(), pattern.get(), values.data(), -1, nullptr, &none),
          TULLE_STATUS_INVALID_DIMENSIONS, "count");
  tulle_cg_options options{};
  const auto unsupported = [&](const char* words) {
    refused(tulle_cg_batch_create(context.get(), pattern.get(), values.data(), 1, &options, &none),
            TULLE_STATUS_UNSUPPORTED, words);
    options = {};
  };
  options.rhs = 2;
  unsupported("rhs");
  options.precision = TULLE_SOLVER_PRECISION_MIXED;
  unsupported("precision");
  options.tolerance = 1e-3;
  unsupported("values");
  EXPECT_EQ(none, nullptr);
  const auto batch = made<batch_handle>(tulle_cg_batch_create, context, pattern, values.data(), 1, nullptr);
  std::array<double, 3> b{6, 10, 8}, x{};
  tulle_cg_record record{};
  null_in_turn(tulle_cg_batch_solve, {"batch", "b", "x", "records"}, batch, b.data(), x.data(), 3, &record);
  null_in_turn(tulle_cg_batch_enqueue, {"batch", "b", "x", "records"}, batch, b.data(), x.data(), 3, &record);
  null_in_turn(tulle_cg_batch_update_values, {"batch", "values"}, batch, values.data(), 7, TULLE_HOST);
  refused(tulle_cg_batch_solve(batch.get(), b.data(), x.data(), -3, &record), TULLE_STATUS_INVALID_DIMENSIONS, "size");
  refused(tulle_cg_batch_update_values(batch.get(), values.data(), 6, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS,
          "values");
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
  refused_with([](o& s) { s.precision = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "options->precision = 2");
  refused_with([](o& s) { s.tolerance = 1; }, TULLE_STATUS_INVALID_ARGUMENT, "options->tolerance = 1");
  refused_with([](o& s) { s.bound = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "options->bound = -1");
  refused_with([](o& s) { s.rtol = NAN; }, TULLE_STATUS_INVALID_ARGUMENT, "rtol");
  refused_with([](o& s) { s.atol = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "atol");
  refused_with([](o& s) { s.max_iterations = -2; }, TULLE_STATUS_INVALID_ARGUMENT, "max_iterations");
  refused_with([](o& s) { s.zero_guess = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "zero_guess");
  refused_with([](o& s) { s.rtol_given = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "rtol_given");
  refused_with([](o& s) { s.keep_history = -1; }, TULLE_STATUS_INVALID_ARGUMENT, "keep_history");
  refused_with([](o& s) { s.whole_blocks = 2; }, TULLE_STATUS_INVALID_ARGUMENT, "whole_blocks");
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
  const double* residuals = nullptr;
  std::int64_t count = 0;
  null_in_turn(tulle_cg_solver_history, {"solver", "residuals", "count"}, solver, &residuals, &count);
  null_in_turn(tulle_cg_solver_explain, {"solver", "sentence"}, solver, &sentence);
  null_in_turn(tulle_cg_solver_workspace, {"solver", "bytes"}, solver, &bytes);
  tulle_cg_solver_destroy(nullptr);
}

}  // namespace
}  // namespace tulle::test

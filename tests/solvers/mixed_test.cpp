// Conjugate gradients in mixed precision: what f64 solves this solves too, to the same residual of b - A x itself.
#include <algorithm>

#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

class mixed_test : public solver_fixture {
 protected:
  static cg_options mixed(double rtol = 1e-10) {
    cg_options o;
    o.precision = solver_precision::mixed;
    o.rtol = rtol;
    return o;
  }
  static cg_options uniform(cg_options o) {
    o.precision = solver_precision::uniform;
    return o;
  }
  solved<double> solve_with(const plain_csr<double>& a, const cg_options& o, const std::vector<double>& b) {
    return solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
  }
  status refusal(const plain_csr<double>& a, const cg_options& o) {
    return failure_of([&] { cg_solver(ctx(), matrix_ref(a.view()), o); }).first;
  }
};
TULLE_ON_SOLVERS(mixed_test);

/// The path 0 - 1 - ... - n-1 with a conductance of 1 and `shift` to the ground from each: the condition is 4 / shift.
plain_csr<double> path(index_t n, double shift) {
  plain_csr<double> a{0, n};
  for (index_t i = 0; i < n; ++i) {
    std::vector<index_t> columns;
    for (index_t j = std::max<index_t>(0, i - 1); j <= std::min<index_t>(n - 1, i + 1); ++j) {
      columns.push_back(j);
      a.values.push_back(i == j ? (i > 0) + (i + 1 < n) + shift : -1);
    }
    a.add_row(columns);
  }
  return a;
}

plain_csr<double> scaled(plain_csr<double> a, double by) {
  for (double& v : a.values) v *= by;
  return a;
}

TEST_P(mixed_test, generated_systems_take_hardly_more_iterations_than_f64) {
  for (const char* spec :
       {"gen:stencil:points=5,n=40,values=spd", "gen:stencil:points=7,n=14,values=spd", "gen:fem:dof=3,n=6,values=spd",
        "gen:banded:n=777,width=9,values=spd", "gen:diagonal:n=100,values=spd"}) {
    SCOPED_TRACE(spec);
    const plain_csr<double> a = generated<double>(spec);
    const std::vector<double> b = random_rhs<double>(a.rows);
    for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
      cg_options o = mixed();
      o.preconditioner = m;
      const auto narrow = solve_with(a, o, b), wide = solve_with(a, uniform(o), b);
      EXPECT_EQ(status_of(narrow.result), "SUCCESS") << narrow.result.residual;
      expect_true_report(a, b, narrow, o);
      EXPECT_LE(narrow.result.iterations, wide.result.iterations + wide.result.iterations / 5 + 1);
      EXPECT_GE(narrow.result.corrections, 1);
      EXPECT_EQ(narrow.result.wide_iterations, 0);
      EXPECT_EQ(wide.result.corrections, 0);
    }
  }
}

/// With one copy of A on a device, whose high words iterations read.
TEST_P(mixed_test, by_high_words) {
  if (ctx().backend() == backend_kind::cpu) GTEST_SKIP() << "a CPU has a copy in f32";
  for (const char* spec : {"gen:stencil:points=5,n=40,values=spd", "gen:stencil:points=7,n=14,values=spd",
                           "gen:fem:dof=3,n=6,values=spd", "gen:banded:n=777,width=9,values=spd"}) {
    SCOPED_TRACE(spec);
    plain_csr<double> a = generated<double>(spec);
    for (double& v : a.values) v /= 3;  // no floats
    const std::vector<double> b = random_rhs<double>(a.rows);
    for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
      cg_options o = mixed();
      o.preconditioner = m;
      const auto wide = solve_with(a, uniform(o), b);
      o.spmv.high_words = true;
      cg_solver solver(ctx(), matrix_ref(a.view()), o);
      const auto s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
      expect_true_report(a, b, s, o);
      EXPECT_LE(s.result.iterations, wide.result.iterations + wide.result.iterations / 5 + 1);
      EXPECT_GE(s.result.corrections, 1);
      EXPECT_EQ(s.result.wide_iterations, 0);
      EXPECT_NE(solver.explain().find("values=words"), std::string::npos) << solver.explain();
      EXPECT_EQ(solve(solver, b).x, s.x) << "the same bits again";
      std::vector<double> other = a.values;
      for (double& v : other) v *= 1.0 / 7;
      solver.update_values(const_vector_ref(scalar_type::f64, other.data(), static_cast<std::int64_t>(other.size()),
                                            memory_space::host));
      plain_csr<double> changed = a;
      changed.values = other;
      const auto again = solve(solver, b), fresh = solve_with(changed, o, b);
      expect_true_report(changed, b, again, o);
      EXPECT_EQ(again.x, fresh.x);
    }
  }
}

TEST_P(mixed_test, by_high_words_what_f64_solves_is_solved_whatever_the_condition) {
  if (ctx().backend() == backend_kind::cpu) GTEST_SKIP() << "a CPU has a copy in f32";
  for (const double shift : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12}) {
    SCOPED_TRACE(shift);
    plain_csr<double> a = path(600, shift);
    const std::vector<double> random = random_numbers(601, 3);  // of conductances, which are no floats
    for (index_t i = 0; i < a.rows; ++i) {
      for (auto k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
        const index_t j = a.colind[k];
        const auto conductance = [&](index_t e) { return e == 0 || e == a.rows ? 0 : 1.5 + random[e]; };
        a.values[k] = j == i ? conductance(i) + conductance(i + 1) + shift : -conductance(std::max(i, j));
      }
    }
    const std::vector<double> b = random_rhs<double>(a.rows);
    cg_options o = mixed();
    const auto wide = solve_with(a, uniform(o), b);
    o.spmv.high_words = true;
    const auto s = solve_with(a, o, b);
    expect_true_report(a, b, s, o);
    EXPECT_GE(s.result.converged(), wide.result.converged()) << s.result.residual;
  }
}

TEST_P(mixed_test, blocks_have_none) {
  cg_options o = mixed();
  o.preconditioner = preconditioner_kind::block_jacobi;
  o.block = 3;
  EXPECT_EQ(refusal(generated<double>("gen:fem:dof=3,n=7,values=spd"), o), status::unsupported);
}

TEST_P(mixed_test, what_f64_solves_is_solved_whatever_the_condition) {
  for (const double shift : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14}) {
    SCOPED_TRACE(shift);
    const plain_csr<double> a = path(600, shift);
    const std::vector<double> b = random_rhs<double>(a.rows);
    const auto wide = solve_with(a, uniform(mixed()), b), narrow = solve_with(a, mixed(), b);
    expect_true_report(a, b, narrow, mixed());
    EXPECT_GE(narrow.result.converged(), wide.result.converged()) << narrow.result.residual;
  }
}

/// In f32 the shift is gone, and with it what makes A definite.
TEST_P(mixed_test, what_f32_cannot_hold_goes_on_in_f64) {
  const plain_csr<double> a = path(300, 1e-9);
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const preconditioner_kind m : {preconditioner_kind::jacobi, preconditioner_kind::none}) {
    cg_options o = mixed(1e-6);
    o.preconditioner = m;
    const cg_solver solver(ctx(), matrix_ref(a.view()), o);
    const auto narrow = solve(solver, b);
    EXPECT_EQ(status_of(narrow.result), "SUCCESS");
    expect_true_report(a, b, narrow, o);
    EXPECT_GT(narrow.result.wide_iterations, 0);
    EXPECT_LE(narrow.result.wide_iterations, narrow.result.iterations);
    EXPECT_NE(solver.explain().find("in f64"), std::string::npos);
    EXPECT_EQ(solve(solver, b).x, narrow.x);
  }
}

TEST_P(mixed_test, the_scale_of_a_does_not_matter) {
  const plain_csr<double> a = path(300, 1e-2);
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const preconditioner_kind m : {preconditioner_kind::jacobi, preconditioner_kind::none}) {
    cg_options o = mixed();
    o.preconditioner = m;
    const auto plain_result = solve_with(a, o, b).result;
    for (const double by : {0x1p-600, 0x1p-300, 0x1p300, 0x1p600}) {
      const plain_csr<double> far = scaled(a, by);
      const auto narrow = solve_with(far, o, b);
      EXPECT_EQ(status_of(narrow.result), "SUCCESS");
      expect_true_report(far, b, narrow, o);
      EXPECT_EQ(narrow.result.iterations, plain_result.iterations);
      EXPECT_EQ(narrow.result.wide_iterations, 0);
    }
  }
}

/// Rows and columns times powers of two from 2^-5 to 2^5: so are those of D^1/2.
TEST_P(mixed_test, a_diagonal_of_many_sizes) {
  plain_csr<double> a = path(500, 1e-2);
  const auto size = [](index_t i) { return std::ldexp(1, static_cast<int>(i * 7 % 11) - 5); };
  for (index_t i = 0; i < a.rows; ++i) {
    for (auto k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) a.values[k] *= size(i) * size(a.colind[k]);
  }
  const std::vector<double> b = random_rhs<double>(a.rows);
  const auto wide = solve_with(a, uniform(mixed()), b), narrow = solve_with(a, mixed(), b);
  EXPECT_EQ(status_of(wide.result), "SUCCESS");
  EXPECT_EQ(status_of(narrow.result), "SUCCESS");
  expect_true_report(a, b, narrow, mixed());
}

/// Small as A is, a direction's sum is not: it would be beyond f32 in A's own scale.
TEST_P(mixed_test, long_solutions_stay_within_f32) {
  const plain_csr<double> a = scaled(path(600, 1e-6), 2e-38);
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o = mixed(1e-8);
  o.preconditioner = preconditioner_kind::none;
  const auto s = solve_with(a, o, b);
  EXPECT_EQ(status_of(s.result), "SUCCESS");
  expect_true_report(a, b, s, o);
}

TEST_P(mixed_test, how_solves_end) {
  const plain_csr<double> a = path(300, 1e-1);
  std::vector<double> b = random_rhs<double>(a.rows);
  const std::vector<double> zeros(b.size());
  std::vector<double> guess = random_rhs<double>(a.rows, 9);
  const cg_solver solver(ctx(), matrix_ref(a.view()), mixed());
  EXPECT_EQ(status_of(solve(solver, b, guess).result), "SUCCESS");
  const auto first = solve(solver, b);
  EXPECT_EQ(solve(solver, b, first.x).result.iterations, 0);
  EXPECT_EQ(solve(solver, b, first.x).x, first.x);
  guess[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(status_of(solve(solver, b, guess).result), "NOT_FINITE");
  EXPECT_EQ(solve(solver, zeros, guess).x, zeros);
  b[5] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(status_of(solve(solver, b).result), "NOT_FINITE");

  plain_csr<double> broken = a;
  broken.values[10] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(status_of(solve_with(broken, mixed(), first.x).result), "NOT_FINITE");
  const plain_csr<double> indefinite{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
  EXPECT_EQ(status_of(solve_with(indefinite, mixed(), {1, -1}).result), "INDEFINITE");
  EXPECT_EQ(refusal(diagonal_matrix<double>({4, 0}), mixed()), status::indefinite);
  EXPECT_EQ(status_of(solve_with({}, mixed(), {}).result), "SUCCESS");
  EXPECT_EQ(solve_with(diagonal_matrix<double>({4}), mixed(), {2}).x, std::vector<double>{0.5});
  for (const int most : {0, 1, 40}) {
    cg_options o = mixed(0);
    o.max_iterations = most;
    const auto cut = solve_with(a, o, first.x);
    EXPECT_EQ(cut.result.iterations, most);
    expect_true_report(a, first.x, cut, o);
  }
}

TEST_P(mixed_test, a_guess_that_is_not_to_be_read_is_not) {
  const plain_csr<double> a = path(300, 1e-1);
  const std::vector<double> b = random_rhs<double>(a.rows);
  const std::vector<double> unset(b.size(), std::numeric_limits<double>::quiet_NaN());
  cg_options o = mixed();
  o.zero_guess = true;
  const cg_solver solver(ctx(), matrix_ref(a.view()), o);
  EXPECT_EQ(solve(solver, b, unset).x, solve_with(a, mixed(), b).x);
}

/// In f32 a solve goes as far as it goes; then there may be half of the iterations that f64 would take.
/// f32 goes as far as it goes, which is not for a test to say; then there are half of the iterations that f64 needs.
TEST_P(mixed_test, iterations_in_f64_count_to_the_most_there_may_be) {
  const plain_csr<double> a = path(300, 1e-9);
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o = mixed(1e-6);
  o.keep_history = true;
  const cg_result whole = solve_with(a, o, b).result;
  ASSERT_GT(whole.wide_iterations, 1);
  o.max_iterations = whole.iterations - whole.wide_iterations / 2;
  const auto s = solve_with(a, o, b);
  EXPECT_EQ(status_of(s.result), "NOT_CONVERGED") << s.result.residual;
  EXPECT_EQ(s.result.iterations, o.max_iterations);
  EXPECT_EQ(s.result.wide_iterations, whole.wide_iterations - whole.wide_iterations / 2);
  expect_true_report(a, b, s, o);
  ASSERT_EQ(s.result.history.size(), static_cast<std::size_t>(o.max_iterations) + 1);
  for (const double v : s.result.history) EXPECT_TRUE(v >= 0 && std::isfinite(v));
}

TEST_P(mixed_test, progress_is_told_in_the_residual_of_b) {
  const plain_csr<double> a = scaled(path(400, 1e-2), 0x1p40);
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const preconditioner_kind m : {preconditioner_kind::jacobi, preconditioner_kind::none}) {
    cg_options o = mixed();
    o.preconditioner = m;
    const auto silent = solve_with(a, o, b);
    std::vector<std::pair<int, double>> told;
    o.progress = [&](int iterations, double residual) { told.emplace_back(iterations, residual); };
    const auto said = solve_with(a, o, b);
    EXPECT_EQ(said.x, silent.x);
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(std::ranges::is_sorted(told, {}, &std::pair<int, double>::first));
    EXPECT_LE(told.back().first, said.result.iterations);
    EXPECT_LE(told.back().second, 2 * o.rtol * said.result.rhs);
  }
}

TEST_P(mixed_test, the_history_has_every_iteration_and_ends_where_the_solve_does) {
  const plain_csr<double> a = path(300, 1e-2);
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o = mixed();
  o.keep_history = true;
  const auto s = solve_with(a, o, b);
  ASSERT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations) + 1);
  for (const double v : s.result.history) EXPECT_TRUE(v > 0 && std::isfinite(v));
  EXPECT_LE(s.result.history.back(), 2 * o.rtol * s.result.rhs);
}

TEST_P(mixed_test, new_values_and_another_order) {
  const plain_csr<double> a = path(400, 1e-2), other = scaled(path(400, 1e-1), 3);
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const spmv_reorder reorder : {spmv_reorder::never, spmv_reorder::always}) {
    cg_options o = mixed();
    o.spmv.reorder = reorder;
    const csr<double, std::int64_t> there = a.on(ctx());
    cg_solver solver(ctx(), there, o);
    EXPECT_EQ(status_of(solve(solver, b).result), "SUCCESS");
    const buffer<double> values = to_buffer(ctx(), other.values);
    solver.update_values(values);
    const auto s = solve(solver, b);
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    expect_true_report(other, b, s, o);
    EXPECT_EQ(solve(solver, b).x, s.x);
    EXPECT_GT(solver.workspace_bytes(), other.values.size() * 4);
  }
}

/// Values that need all their bits, then ones that a byte numbers: the residual is of A itself all the same.
TEST_P(mixed_test, an_error_that_plans_are_allowed_is_not_taken) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=7,n=10,values=spd"),
                          even = scaled(path(1000, 1e-1), 3);
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const bool by_size : {false, true}) {
    for (const plain_csr<double>* of : {&a, &even}) {
      cg_options o = mixed();
      o.spmv.kernel = "packed";
      if (by_size) {
        o.spmv.value_rule = magnitude_rule{.below = 1e30};
      } else {
        o.spmv.values = {1e-3, error_bound::row};
      }
      cg_solver solver(ctx(), matrix_ref(of->view()), o);
      const auto s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "SUCCESS");
      expect_true_report(*of, b, s, o);
      plain_csr<double> other = *of;
      for (index_t r = 0; r < other.rows; ++r) {
        for (auto k = other.rowptr[r]; k < other.rowptr[r + 1]; ++k)
          other.values[k] = other.colind[k] == r ? 7.0 : -1.0;
      }
      const buffer<double> values = to_buffer(ctx(), other.values);
      solver.update_values(values);
      const auto again = solve(solver, b);
      EXPECT_EQ(status_of(again.result), "SUCCESS");
      expect_true_report(other, b, again, o);
    }
  }
}

TEST_P(mixed_test, what_has_no_mixed_precision_says_so) {
  const plain_csr<double> a = path(30, 1e-1);
  cg_options o = mixed();
  o.rhs = 2;
  EXPECT_EQ(refusal(a, o), status::unsupported);
  o = mixed();
  o.preconditioner = preconditioner_kind::chebyshev;
  EXPECT_EQ(refusal(a, o), status::unsupported);
  o = mixed();
  o.kernel = "cg.operations";
  EXPECT_EQ(refusal(a, o), status::unsupported);
  o = mixed();
  o.precision = static_cast<solver_precision>(7);
  EXPECT_EQ(refusal(a, o), status::invalid_argument);
  const plain_csr<float> narrow = generated<float>("gen:stencil:points=5,n=5,values=spd");
  EXPECT_EQ(failure_of([&] { cg_solver(ctx(), matrix_ref(narrow.view()), mixed()); }).first, status::unsupported);
  const any_spmv_plan plan(ctx(), a.on(ctx()));
  EXPECT_EQ(failure_of([&] { cg_solver(plan, nullptr, mixed()); }).first, status::unsupported);
  const cg_solver solver(ctx(), matrix_ref(a.view()), mixed());
  const buffer<double> b(ctx(), 30);
  buffer<double> x(ctx(), 30);
  buffer<cg_record> record(ctx(), 1);
  EXPECT_EQ(failure_of([&] { solver.enqueue(b, x, record.data()); }).first, status::unsupported);
}

TEST(mixed_threads, do_not_show_in_the_bits) {
  const matrix_ref a = generate<double>(context::cpu(2), "gen:stencil:points=7,n=28,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  std::vector<double> one;
  for (const int threads : {1, 2, 5}) {
    cg_options o;
    o.precision = solver_precision::mixed;
    o.rtol = 1e-12;
    std::vector<double> x(b.size());
    EXPECT_TRUE(cg_solver(context::cpu(threads), a, o).solve(b, x).converged());
    if (threads == 1) one = x;
    EXPECT_EQ(x, one);
  }
}

}  // namespace
}  // namespace tulle::test

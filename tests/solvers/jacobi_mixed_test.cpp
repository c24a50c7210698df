// Jacobi's method in mixed precision: sweeps in f32 that f64 corrects reach what sweeps in f64 reach, as soon.
#include "jacobi_fixture.hpp"

namespace tulle::test {
namespace {

class jacobi_mixed_test : public jacobi_fixture {
 protected:
  static jacobi_options mixed(jacobi_form form = jacobi_form::plain) {
    jacobi_options o;
    o.precision = solver_precision::mixed;
    o.form = form;
    o.rtol = 1e-11;
    return o;
  }
  static jacobi_options uniform(jacobi_options o) {
    o.precision = solver_precision::uniform;
    return o;
  }
};
TULLE_ON_SOLVERS(jacobi_mixed_test);

TEST_P(jacobi_mixed_test, every_form_takes_as_many_sweeps_as_in_f64) {
  for (const char* spec : {"gen:stencil:points=7,n=12,values=spd", "gen:banded:n=777,width=9,values=spd"}) {
    SCOPED_TRACE(spec);
    const plain_csr<double> a = generated<double>(spec);
    const std::vector<double> b = random_rhs<double>(a.rows), guess = random_rhs<double>(a.rows, 3);
    for (const jacobi_form form : forms) {
      for (const double omega : {1.0, 0.7}) {
        jacobi_options o = mixed(form);
        o.omega = omega;
        const auto narrow = run(jacobi_solver(ctx(), matrix_ref(a.view()), o), b, guess);
        const auto wide = run(jacobi_solver(ctx(), matrix_ref(a.view()), uniform(o)), b, guess);
        expect_solved(a, b, narrow, o);
        EXPECT_LE(std::abs(narrow.result.iterations - wide.result.iterations), o.check_interval);
        EXPECT_EQ(narrow.result.corrections, (narrow.result.iterations + o.check_interval - 1) / o.check_interval);
        EXPECT_EQ(narrow.result.wide_iterations, 0);
      }
    }
  }
}

TEST_P(jacobi_mixed_test, the_scale_of_a_does_not_matter) {
  plain_csr<double> a = generated<double>("gen:stencil:points=5,n=20,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const double by : {0x1p-600, 0x1p600}) {
    plain_csr<double> far = a;
    for (double& v : far.values) v *= by;
    const auto s = run(far, b, mixed());
    expect_solved(far, b, s, mixed());
    EXPECT_EQ(s.result.wide_iterations, 0);
  }
}

TEST_P(jacobi_mixed_test, what_f32_cannot_hold_goes_on_in_f64) {
  plain_csr<double> a = generated<double>("gen:stencil:points=5,n=20,values=spd");
  std::vector<double> b = random_rhs<double>(a.rows);
  for (index_t r = 0; r < a.rows; r += 2) {
    for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) a.values[k] *= 1e60;
    b[static_cast<std::size_t>(r)] *= 1e60;
  }
  const auto s = run(a, b, mixed());
  expect_solved(a, b, s, mixed());
  EXPECT_GT(s.result.wide_iterations, 0);
}

TEST_P(jacobi_mixed_test, how_solves_end) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=20,values=spd");
  std::vector<double> b = random_rhs<double>(a.rows);
  for (const int most : {0, 1, 25}) {
    jacobi_options o = mixed();
    o.max_iterations = most;
    o.keep_history = true;
    const auto s = run(a, b, o);
    EXPECT_EQ(status_of(s.result), "NOT_CONVERGED");
    EXPECT_EQ(s.result.iterations, most);
    EXPECT_EQ(s.result.history.size(), 1U + (static_cast<unsigned>(most) + 9) / 10);
  }
  const plain_csr<double> diverges{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 3, 3, 1}};
  EXPECT_EQ(status_of(run(diverges, {1, 2}, mixed()).result), "NOT_FINITE");
  b[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(status_of(run(a, b, mixed()).result), "NOT_FINITE");
  const plain_csr<float> narrow = generated<float>("gen:stencil:points=5,n=5,values=spd");
  EXPECT_EQ(failure_of([&] { jacobi_solver(ctx(), matrix_ref(narrow.view()), mixed()); }).first, status::unsupported);
}

TEST_P(jacobi_mixed_test, new_values_are_swept_with) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=20,values=spd");
  plain_csr<double> other = a;
  for (double& v : other.values) v *= -1e3;
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const jacobi_form form : forms) {
    const csr<double, std::int64_t> there = a.on(ctx());
    jacobi_solver solver(ctx(), there, mixed(form));
    expect_solved(a, b, run(solver, b), mixed());
    const buffer<double> values = to_buffer(ctx(), other.values);
    solver.update_values(values);
    expect_solved(other, b, run(solver, b), mixed());
    EXPECT_NE(solver.explain().find("f32"), std::string::npos);
  }
}

}  // namespace
}  // namespace tulle::test

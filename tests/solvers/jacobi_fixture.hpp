// What the tests of Jacobi's method share.
#pragma once

#include "solver_fixture.hpp"

namespace tulle::test {

inline constexpr jacobi_form forms[] = {jacobi_form::plain, jacobi_form::rows, jacobi_form::symmetric};

class jacobi_fixture : public solver_fixture {
 protected:
  template <class T>
  solved<T> run(const jacobi_solver& solver, const std::vector<T>& b, const std::vector<T>& guess) {
    const buffer<T> rhs = to_buffer(ctx(), b);
    buffer<T> x = to_buffer(ctx(), guess);
    const cg_result result = solver.solve(rhs, x);
    return {result, to_vector(ctx(), x)};
  }
  template <class T>
  solved<T> run(const jacobi_solver& solver, const std::vector<T>& b) {
    return run(solver, b, std::vector<T>(b.size()));
  }
  template <class T>
  solved<T> run(const plain_csr<T>& a, const std::vector<T>& b, const jacobi_options& options) {
    return run(jacobi_solver(ctx(), matrix_ref(a.view()), options), b);
  }
  template <class T>
  static void expect_solved(const plain_csr<T>& a, const std::vector<T>& b, const solved<T>& s,
                            const jacobi_options& o) {
    EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
    cg_options same;
    same.rtol = o.rtol;
    same.atol = o.atol;
    expect_true_report(a, b, s, same);
  }
};

}  // namespace tulle::test

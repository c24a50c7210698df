// Jacobi's method with new numbers in the same pattern.
#include "jacobi_fixture.hpp"

namespace tulle::test {
namespace {

class jacobi_values_test : public jacobi_fixture {};
TULLE_ON_SOLVERS(jacobi_values_test);

/// A matrix in some formats, on the host and where the solver is, and its values as they are there.
template <class T>
std::vector<std::pair<matrix_ref, std::vector<T>>> in_formats(const context& where, const plain_csr<T>& a) {
  const context ctx = context::cpu(2);
  std::vector<std::pair<matrix_ref, std::vector<T>>> all{{matrix_ref(a.on(where)), a.values}};
  const auto add = [&](auto m) {
    std::vector<T> values = to_vector(ctx, m.values);
    all.emplace_back(matrix_ref(std::move(m)), std::move(values));
  };
  add(to_bsr(ctx, a.view(), 2));
  add(to_bin_bsr(ctx, a.view(), 2));
  add(to_csc(ctx, a.view()));
  add(to_sell(ctx, a.view()));
  add(to_coo(ctx, a.view()));
  return all;
}

TEST_P(jacobi_values_test, new_values_are_as_those_of_a_new_solver) {
  for_types<float, double>([&]<class T>() {
    const plain_csr<T> first = generated<T>("gen:stencil:points=5,n=20,values=spd");
    plain_csr<T> second = first;
    for (T& v : second.values) v *= T{-0.75};
    const std::vector<T> b = random_rhs<T>(first.rows);
    const auto before = in_formats(ctx(), first), after = in_formats(ctx(), second);
    for (const jacobi_form form : forms) {
      for (const bool match : {false, true}) {
        for (std::size_t f = 0; f < before.size(); ++f) {
          SCOPED_TRACE(fmt::format("{}{}, format {}", name(form), match ? ", matched" : "", f));
          jacobi_options o;
          o.form = form;
          o.match = match;
          o.rtol = std::is_same_v<T, float> ? 1e-5 : 1e-10;
          jacobi_solver solver(ctx(), before[f].first, o);
          expect_solved(first, b, run(solver, b), o);
          const auto expect_as_of = [&](const auto& other, const plain_csr<T>& a) {
            solver.update_values(other.second);
            const solved<T> got = run(solver, b);
            EXPECT_EQ(got.x, run(jacobi_solver(ctx(), other.first, o), b).x);
            expect_solved(a, b, got, o);
          };
          expect_as_of(after[f], second);
          expect_as_of(before[f], first);
        }
      }
    }
  });
}

TEST_P(jacobi_values_test, new_values_without_a_diagonal_are_refused_by_row_until_others_come) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=17,values=spd");
  plain_csr<double> zero = a;
  for (auto k = zero.rowptr[123]; k < zero.rowptr[124]; ++k) {
    if (zero.colind[k] == 123) zero.values[k] = 0;
  }
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const jacobi_form form : forms) {
    jacobi_options o;
    o.form = form;
    jacobi_solver solver(ctx(), matrix_ref(a.view()), o);
    expect_error(status::invalid_structure, "row 123", [&] { solver.update_values(zero.values); });
    expect_error(status::invalid_dimensions, "values", [&] { solver.update_values(b); });
    solver.update_values(a.values);
    expect_solved(a, b, run(solver, b), o);
  }
}

}  // namespace
}  // namespace tulle::test

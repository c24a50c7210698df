// Conjugate gradients by every kernel of the table: generated systems, and how solves end.
#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

class cg_test : public solver_fixture {};
TULLE_ON_SOLVERS(cg_test);

const std::vector<std::string>& specs() {
  static const std::vector<std::string> all{"gen:stencil:points=5,n=40,values=spd",
                                            "gen:stencil:points=7,n=12,values=spd",
                                            "gen:fem:dof=3,n=6,values=spd",
                                            "gen:fem:dof=6,n=4,values=spd",
                                            "gen:banded:n=777,width=9,values=spd",
                                            "gen:diagonal:n=100,values=spd",
                                            "gen:arrow:n=500,dense=1,columns=1,values=spd"};
  return all;
}

TEST_P(cg_test, generated_systems_are_solved_to_what_was_asked_for) {
  for_types<float, double>([&]<class T>() {
    for (const std::string& spec : specs()) {
      SCOPED_TRACE(spec);
      const plain_csr<T> a = generated<T>(spec);
      const std::vector<T> b = random_rhs<T>(a.rows);
      for (const preconditioner_kind m : preconditioners()) {
        cg_options options;
        options.preconditioner = m;
        options.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-10;
        for_kernels(a, options, [&](const cg_solver& solver) {
          const solved<T> s = solve(solver, b);
          EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
          expect_true_report(a, b, s, options);
        });
      }
    }
  });
}

TEST_P(cg_test, the_history_falls_to_where_the_solve_ends) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options options;
  options.keep_history = true;
  for_kernels(a, options, [&](const cg_solver& solver) {
    const auto s = solve(solver, b);
    ASSERT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations) + 1);
    // The guess is 0.
    EXPECT_LE(std::fabs(s.result.history.front() - s.result.rhs), 2 * norm_error(b.size()) * s.result.rhs);
    EXPECT_LE(s.result.history.back(), options.rtol * s.result.rhs);
  });
}

TEST_P(cg_test, every_entry_of_the_history_is_a_residual) {
  if (ctx().backend() == backend_kind::cuda) GTEST_SKIP() << "device_test compares histories with the classical one";
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options options;
  options.keep_history = true;
  options.rtol = 0;
  for (const int most : {0, 1, 2, 5, 9}) {
    options.max_iterations = most;
    for_kernels(a, options, [&](const cg_solver& solver) {
      const auto s = solve(solver, b);
      ASSERT_EQ(s.result.history.size(), static_cast<std::size_t>(most) + 1);
      // Every iteration rounds a product and two updates (Greenbaum, SIAM J. Matrix Anal. Appl. 18 (1997) 535-551).
      const residual_norm truth = residual_of(a, b, s.x);
      EXPECT_LE(std::fabs(s.result.history.back() - truth.value), 4 * (most + 1) * truth.rounding);
    });
  }
}

TEST_P(cg_test, a_target_of_zero_ends_where_rounding_does) {
  if (ctx().backend() == backend_kind::cuda) GTEST_SKIP() << "where a GPU stops is for its own loops to say";
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=10,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options options;
  options.max_iterations = 10'000;
  for (const preconditioner_kind m : preconditioners()) {
    options.preconditioner = m;
    options.rtol = 0;
    for_kernels(a, options, [&](const cg_solver& solver) {
      const auto s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "NOT_CONVERGED");
      EXPECT_LT(s.result.iterations, 1000);
      // The attainable residual is rounding of b - A x times a small factor (Greenbaum, see above).
      EXPECT_LE(s.result.residual, 4 * (s.result.iterations + 1) * residual_of(a, b, s.x).rounding);
    });
  }
}

TEST_P(cg_test, too_few_iterations_are_not_converged_and_end_where_they_end) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const int most : {0, 1, 5}) {
    cg_options options;
    options.max_iterations = most;
    for_kernels(a, options, [&](const cg_solver& solver) {
      const auto s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "NOT_CONVERGED");
      EXPECT_EQ(s.result.iterations, most);
      expect_true_report(a, b, s, options);
    });
  }
}

TEST_P(cg_test, a_right_hand_side_of_zeros_has_the_solution_zero) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b(static_cast<std::size_t>(a.rows));
  std::vector<double> guess = random_rhs<double>(a.rows);
  guess[3] = std::numeric_limits<double>::quiet_NaN();
  for_kernels(a, {}, [&](const cg_solver& solver) {
    const auto s = solve(solver, b, guess);
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    EXPECT_EQ(s.result.iterations, 0);
    EXPECT_EQ(s.result.residual, 0);
    EXPECT_EQ(s.x, b);
  });
}

TEST_P(cg_test, a_guess_that_is_good_enough_is_the_solution) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for_kernels(a, {}, [&](const cg_solver& solver) {
    const auto first = solve(solver, b);
    const auto again = solve(solver, b, first.x);
    EXPECT_EQ(status_of(again.result), "SUCCESS");
    EXPECT_EQ(again.result.iterations, 0);
    EXPECT_EQ(again.x, first.x);
  });
}

TEST_P(cg_test, a_guess_is_not_read_where_it_is_said_to_be_zero) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  const std::vector<double> no_guess(b.size(), std::numeric_limits<double>::quiet_NaN());
  cg_options options;
  options.zero_guess = true;
  for_kernels(a, options, [&](const cg_solver& solver) {
    const auto s = solve(solver, b, no_guess);
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    expect_true_report(a, b, s, options);
  });
}

TEST_P(cg_test, no_unknowns_and_one) {
  for_kernels(plain_csr<double>{}, {}, [&](const cg_solver& solver) {
    const auto s = solve<double>(solver, {});
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    EXPECT_EQ(s.result.iterations, 0);
  });
  for_kernels(diagonal_matrix<double>({4}), {}, [&](const cg_solver& solver) {
    const auto s = solve<double>(solver, {2});
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    EXPECT_EQ(s.x, std::vector<double>{0.5});
  });
}

/// 3 positive eigenvalues, one negative that the first direction sees at once.
plain_csr<double> indefinite() {
  plain_csr<double> a{0, 2};
  a.add_row({0, 1});
  a.add_row({0, 1});
  a.values = {1, 2, 2, 1};
  return a;
}

TEST_P(cg_test, an_indefinite_matrix_is_found_with_the_iteration) {
  for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
    cg_options options;
    options.preconditioner = m;
    options.keep_history = true;
    for_kernels(indefinite(), options, [&](const cg_solver& solver) {
      const auto s = solve<double>(solver, {1, -1});  // the eigenvector of -1
      EXPECT_EQ(status_of(s.result), "INDEFINITE");
      EXPECT_EQ(s.result.iterations, 1);
      EXPECT_EQ(s.x, (std::vector<double>{0, 0}));
      EXPECT_EQ(s.result.residual, std::sqrt(2));
      EXPECT_EQ(s.result.history, std::vector<double>{std::sqrt(2)});
    });
    // A direction that is positive first: found at the second.
    for_kernels(indefinite(), options, [&](const cg_solver& solver) {
      const auto s = solve<double>(solver, {1, 0.5});
      EXPECT_EQ(status_of(s.result), "INDEFINITE");
      EXPECT_EQ(s.result.iterations, 2);
      ASSERT_EQ(s.result.history.size(), 2u);
      EXPECT_GT(s.result.history[1], 0);
    });
  }
}

TEST_P(cg_test, a_diagonal_that_is_not_positive_is_named) {
  plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  for (auto k = a.rowptr[400]; k < a.rowptr[401]; ++k) {
    if (a.colind[k] == 400) a.values[k] = -1;
  }
  cg_options options;
  EXPECT_NE(expect_error(status::indefinite, "400", [&] { cg_solver(ctx(), matrix_ref(a.view()), options); }), "");
  options.preconditioner = preconditioner_kind::block_jacobi;
  options.block = 4;
  expect_error(status::indefinite, "block 100", [&] { cg_solver(ctx(), matrix_ref(a.view()), options); });
}

TEST_P(cg_test, a_singular_system_that_has_a_solution_is_solved) {
  // The Laplacian of a ring: constants are its kernel, and b has none of them.
  constexpr index_t n = 200;
  plain_csr<double> a{0, n};
  std::vector<double> b(n);
  for (index_t i = 0; i < n; ++i) {
    std::vector<index_t> columns{(i + n - 1) % n, i, (i + 1) % n};
    std::ranges::sort(columns);
    a.add_row(columns);
    for (const index_t c : columns) a.values.push_back(c == i ? 2 : -1);
    b[i] = i < n / 2 ? 1 : -1;
  }
  for_kernels(a, {}, [&](const cg_solver& solver) {
    const auto s = solve(solver, b);
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    expect_true_report(a, b, s, {});
  });
  // And one that has none ends, whatever it says, with what is true.
  std::vector<double> ones(n, 1);
  for_kernels(a, {}, [&](const cg_solver& solver) {
    const auto s = solve(solver, ones);
    EXPECT_FALSE(s.result.converged());
  });
}

TEST_P(cg_test, what_is_not_finite_is_found) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const plain_csr<double> sound = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(sound.rows);
  for (const double what : {nan, std::numeric_limits<double>::infinity()}) {
    std::vector<double> broken = b;
    broken[17] = what;
    for_kernels(sound, {}, [&](const cg_solver& solver) {
      const auto s = solve(solver, broken);
      EXPECT_EQ(status_of(s.result), "NOT_FINITE");
      EXPECT_LE(s.result.iterations, 1);
    });
  }
  for (const std::int64_t at : {sound.rowptr[400], sound.rowptr[400] + 2}) {  // off the diagonal, and on it
    plain_csr<double> a = sound;
    a.values[static_cast<std::size_t>(at)] = nan;
    for_kernels(a, {}, [&](const cg_solver& solver) {
      const auto s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "NOT_FINITE");
      EXPECT_LE(s.result.iterations, 1);
    });
  }
}

TEST_P(cg_test, new_values_make_the_solver_that_they_would_have_made) {
  const plain_csr<double> first = generated<double>("gen:fem:dof=3,n=6,values=spd,seed=1");
  const plain_csr<double> then = generated<double>("gen:fem:dof=3,n=6,values=spd,seed=2");
  const std::vector<double> b = random_rhs<double>(first.rows);
  const buffer<double> values = to_buffer(ctx(), then.values);
  for (const preconditioner_kind m : preconditioners()) {
    cg_options options;
    options.preconditioner = m;
    for_kernels(first, options, [&](cg_solver& solver) {
      solve(solver, b);
      const auto fresh = solve(cg_solver(ctx(), matrix_ref(then.view()),
                                         [&] {
                                           cg_options same = options;
                                           same.kernel = std::string(solver.kernel());
                                           return same;
                                         }()),
                               b);
      solver.update_values(values);
      const auto updated = solve(solver, b);
      EXPECT_EQ(updated.x, fresh.x);
      EXPECT_EQ(updated.result.iterations, fresh.result.iterations);
    });
  }
}

TEST_P(cg_test, high_words_precondition_as_all_bits_do) {
  plain_csr<double> a = generated<double>("gen:stencil:points=27,n=14,values=spd"), other = a;
  for (double& v : a.values) v /= 3;
  for (double& v : other.values) v /= 7;
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o;
  o.preconditioner = preconditioner_kind::chebyshev;
  o.rtol = 1e-12;
  const auto plain = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
  o.spmv.high_words = true;
  cg_solver solver(ctx(), matrix_ref(a.view()), o);
  EXPECT_NE(solver.explain().find("values=words"), std::string::npos) << solver.explain();
  const auto s = solve(solver, b);
  EXPECT_EQ(status_of(s.result), "SUCCESS");
  expect_true_report(a, b, s, o);
  EXPECT_NEAR(s.result.iterations, plain.result.iterations, 1);
  EXPECT_FALSE(same_numbers(s.x, plain.x)) << "the preconditioner has all bits";
  const buffer<double> values = to_buffer(ctx(), other.values);
  solver.update_values(values);
  const auto again = solve(solver, b);
  expect_true_report(other, b, again, o);
  EXPECT_TRUE(same_numbers(again.x, solve(cg_solver(ctx(), matrix_ref(other.view()), o), b).x));
}

TEST_P(cg_test, high_words_precondition_large_systems) {
  const std::string n = ctx().backend() == backend_kind::cuda ? "80" : "36";
  plain_csr<double> a = generated<double>("gen:stencil:points=27,n=" + n + ",values=spd");
  for (double& v : a.values) v /= 3;
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o;
  for (const preconditioner_kind m : {preconditioner_kind::chebyshev, preconditioner_kind::jacobi}) {
    o.preconditioner = m;
    const cg_solver solver(ctx(), matrix_ref(a.view()), o);
    const bool expected = m == preconditioner_kind::chebyshev;
    EXPECT_EQ(solver.explain().find("values=words") != std::string::npos, expected) << solver.explain();
    const auto s = solve(solver, b);
    EXPECT_EQ(status_of(s.result), "SUCCESS");
    expect_true_report(a, b, s, o);
  }
}

TEST_P(cg_test, rows_in_any_order_and_duplicates_are_the_same_matrix) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=20,values=spd");
  plain_csr<double> other{0, a.cols};
  for (index_t r = 0; r < a.rows; ++r) {
    std::vector<index_t> columns;
    for (auto k = a.rowptr[r + 1]; k-- > a.rowptr[r];) {
      for (int half = 0; half < 2; ++half) {
        columns.push_back(a.colind[k]);
        other.values.push_back(a.values[k] / 2);
      }
    }
    other.add_row(columns);
  }
  const std::vector<double> b = random_rhs<double>(a.rows);
  for_kernels(a, {}, [&](const cg_solver& solver) {
    const auto want = solve(solver, b);
    cg_options options;
    options.kernel = std::string(solver.kernel());
    const auto got = solve(cg_solver(ctx(), matrix_ref(other.view()), options), b);
    EXPECT_EQ(got.x, want.x);
  });
}

TEST_P(cg_test, the_same_bits_twice) {
  const plain_csr<double> a = generated<double>("gen:fem:dof=3,n=9,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const preconditioner_kind m : preconditioners()) {
    cg_options options;
    options.preconditioner = m;
    for_kernels(a, options, [&](const cg_solver& solver) {
      const auto first = solve(solver, b), again = solve(solver, b);
      EXPECT_EQ(first.x, again.x);
      EXPECT_EQ(first.result.iterations, again.result.iterations);
    });
  }
}

TEST_P(cg_test, enqueue_is_a_whole_solve) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  const buffer<double> rhs = to_buffer(ctx(), b);
  cg_options options;
  options.max_iterations = 300;
  options.zero_guess = true;
  for_kernels(a, options, [&](const cg_solver& solver) {
    const auto want = solve(solver, b);
    buffer<double> x(ctx(), b.size());
    buffer<cg_record> record(ctx(), 1);
    const auto work = [&] { solver.enqueue(rhs, x, record.data()); };
    if (ctx().backend() == backend_kind::cuda) {
      const graph g(ctx(), work);
      g.launch();
      g.launch();
      ctx().synchronize();
    } else {
      work();
    }
    const cg_record got = to_vector(ctx(), record).front();
    EXPECT_EQ(got.code, 0);
    EXPECT_EQ(got.iterations, want.result.iterations);
    EXPECT_EQ(got.residual, want.result.residual);
    EXPECT_EQ(to_vector(ctx(), x), want.x);
  });
}

TEST_P(cg_test, several_right_hand_sides_are_each_solved) {
  for_types<float, double>([&]<class T>() {
    const plain_csr<T> a = generated<T>("gen:fem:dof=3,n=8,values=spd");
    constexpr index_t count = 5;
    std::vector<T> b, one;
    for (index_t j = 0; j < count; ++j) {
      one = random_rhs<T>(a.rows, static_cast<std::uint64_t>(j) + 1);
      if (j == 2) std::ranges::fill(one, T{0});
      if (j == 3) one[5] = std::numeric_limits<T>::quiet_NaN();
      b.insert(b.end(), one.begin(), one.end());
    }
    for (const preconditioner_kind m : preconditioners()) {
      cg_options options;
      options.rhs = count;
      options.preconditioner = m;
      options.rtol = 1e-5;
      for_kernels(a, options, [&](const cg_solver& solver) {
        const buffer<T> rhs = to_buffer(ctx(), b);
        buffer<T> x = to_buffer(ctx(), std::vector<T>(b.size()));
        const auto columns = [&](auto& v) {
          using data = std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(v)>>, const_multivector_ref,
                                          multivector_ref>;
          return data(scalar_type_of<T>, a.rows, count, a.rows, vector_order::column_major, v.data(), ctx().space(),
                      ctx().device());
        };
        const std::vector<cg_result> results = solver.solve_many(columns(rhs), columns(x));
        const std::vector<T> all = to_vector(ctx(), x);
        ASSERT_EQ(results.size(), static_cast<std::size_t>(count));
        for (index_t j = 0; j < count; ++j) {
          SCOPED_TRACE(j);
          const auto part = [&](const std::vector<T>& v) {
            return std::vector<T>(v.begin() + j * a.rows, v.begin() + (j + 1) * a.rows);
          };
          const cg_result& result = results[static_cast<std::size_t>(j)];
          EXPECT_EQ(status_of(result), j == 3 ? "NOT_FINITE" : "SUCCESS");
          if (j == 3) continue;
          expect_true_report(a, part(b), solved<T>{result, part(all)}, options);
          EXPECT_TRUE(j != 2 || part(all) == part(b));
        }
      });
    }
  });
}

TEST_P(cg_test, refuses_right_hand_sides_that_it_was_not_made_for) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=5,values=spd");
  cg_options options;
  options.rhs = 0;
  expect_error(status::invalid_argument, "rhs", [&] { cg_solver(ctx(), matrix_ref(a.view()), options); });
  options.rhs = 2;
  const cg_solver solver(ctx(), matrix_ref(a.view()), options);
  buffer<double> b(ctx(), 75), x(ctx(), 75);
  const auto solve_of = [&](index_t rows, index_t count, vector_order order) {
    const multivector_ref to(scalar_type::f64, rows, count, 25, order, x.data(), ctx().space(), ctx().device());
    multivector_ref from = to;
    from.data = b.data();
    return [&solver, from, to] { (void)solver.solve_many(from, to); };
  };
  expect_error(status::invalid_argument, "3 vectors", solve_of(25, 3, vector_order::column_major));
  expect_error(status::unsupported, "column-major", solve_of(25, 2, vector_order::row_major));
  expect_error(status::invalid_dimensions, "24", solve_of(24, 2, vector_order::column_major));
}

}  // namespace
}  // namespace tulle::test

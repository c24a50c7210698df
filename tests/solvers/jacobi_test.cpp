// Jacobi's method in its three forms, and the order of rows that its diagonal may need.
#include <algorithm>
#include <numeric>
#include <random>

#include "jacobi_fixture.hpp"

namespace tulle::test {
namespace {

std::vector<index_t> shuffled(index_t n, std::uint64_t seed) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

/// Rows of 1 to 13 entries, the diagonal twice what the others are together.
template <class T>
plain_csr<T> dominant(index_t n) {
  std::mt19937_64 engine(3);
  plain_csr<T> a{0, n};
  for (index_t i = 0; i < n; ++i) {
    std::vector<index_t> columns{i};
    for (std::uint64_t k = engine() % 13; k > 0; --k)
      columns.push_back(static_cast<index_t>(engine() % static_cast<std::uint64_t>(n)));
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    a.add_row(columns);
    const std::size_t first = a.values.size();
    for (const index_t c : columns) a.values.push_back(c == i ? T{0} : static_cast<T>(engine() % 1000) / T{500} - T{1});
    T sum = 1;
    for (std::size_t k = first; k < a.values.size(); ++k) sum += std::fabs(a.values[k]);
    a.values[first + static_cast<std::size_t>(std::ranges::find(columns, i) - columns.begin())] =
        (i % 2 == 0 ? 2 : -2) * sum;
  }
  return a;
}

/// Iterates in long double, and how far those of T may be from them.
template <class T>
struct bounded_iterate {
  std::vector<long double> x, error;
};
template <class T>
bounded_iterate<T> sweeps_of(const plain_csr<T>& a, const std::vector<T>& b, const std::vector<T>& guess,
                             long double omega, int count) {
  const long double u = std::numeric_limits<T>::epsilon();
  bounded_iterate<T> now{{guess.begin(), guess.end()}, std::vector<long double>(guess.size())};
  for (int s = 0; s < count; ++s) {
    bounded_iterate<T> next = now;
    for (index_t i = 0; i < a.rows; ++i) {
      long double sum = b[i], size = std::fabs(sum), spread = 0;
      const long double d = value_at(a, i, i);
      for (auto k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
        const long double v = a.values[k];
        sum -= v * now.x[a.colind[k]];
        size += std::fabs(v) * (std::fabs(now.x[a.colind[k]]) + now.error[a.colind[k]]);
        spread += std::fabs((a.colind[k] == i ? 1 : 0) - omega * v / d) * now.error[a.colind[k]];
        if (a.colind[k] != i) continue;
        next.error[i] = std::fabs(now.x[i]) * u;
      }
      next.x[i] = now.x[i] + omega / d * sum;
      next.error[i] += spread + std::fabs(omega / d) * size * u * static_cast<long double>(a.length(i) + 6);
    }
    now = std::move(next);
  }
  return now;
}

class jacobi_test : public jacobi_fixture {};
TULLE_ON_SOLVERS(jacobi_test);

TEST_P(jacobi_test, the_forms_give_the_same_iterates) {
  for_types<float, double>([&]<class T>() {
    const plain_csr<T> a = dominant<T>(1000);
    const std::vector<T> b = random_rhs<T>(a.rows), guess = random_rhs<T>(a.rows, 3);
    for (const double omega : {1.0, 0.6}) {
      for (const int count : {0, 1, 2, 7, 24}) {
        const bounded_iterate<T> want = sweeps_of(a, b, guess, omega, count);
        for (const jacobi_form form : forms) {
          for (const int order : {0, 1, 2}) {
            SCOPED_TRACE(fmt::format("{} order {}, omega {}, {} sweeps", name(form), order, omega, count));
            jacobi_options o;
            o.form = form;
            o.omega = omega;
            o.rtol = 0;
            o.max_iterations = count;
            o.check_interval = 5;
            if (form == jacobi_form::plain && order > 0) continue;
            if (order == 1) o.order = ordering::random;
            if (order == 2) o.order = shuffled(a.rows, 5);
            const solved<T> got = run(jacobi_solver(ctx(), matrix_ref(a.view()), o), b, guess);
            EXPECT_EQ(status_of(got.result), "NOT_CONVERGED");
            EXPECT_EQ(got.result.iterations, count);
            for (std::size_t i = 0; i < want.x.size(); ++i) {
              ASSERT_LE(std::fabs(got.x[i] - want.x[i]), want.error[i]) << "element " << i;
            }
          }
        }
      }
    }
  });
}

TEST_P(jacobi_test, rows_in_an_order_change_no_bit) {
  const plain_csr<double> a = dominant<double>(700);
  const std::vector<double> b = random_rhs<double>(a.rows);
  jacobi_options o;
  o.spmv.kernel = ctx().backend() == backend_kind::cpu ? "csr.serial" : "csr.thread";
  const solved<double> plain = run(a, b, o);
  for (const ordering by : {ordering::length, ordering::random, ordering::natural}) {
    o.form = jacobi_form::rows;
    o.order = by;
    const solved<double> rows = run(a, b, o);
    EXPECT_EQ(rows.x, plain.x);
    EXPECT_EQ(rows.result.iterations, plain.result.iterations);
  }
}

TEST_P(jacobi_test, reports_what_is_true_and_can_be_asked_again) {
  for_types<float, double>([&]<class T>() {
    const plain_csr<T> a = dominant<T>(2000);
    for (const jacobi_form form : forms) {
      for (const int interval : {1, 4, 7, 100}) {
        SCOPED_TRACE(fmt::format("{} looks every {}", name(form), interval));
        jacobi_options o;
        o.form = form;
        o.rtol = std::is_same_v<T, float> ? 1e-5 : 1e-10;
        o.check_interval = interval;
        o.keep_history = true;
        const jacobi_solver solver(ctx(), matrix_ref(a.view()), o);
        solved<T> first;
        for (int again = 0; again < 3; ++again) {
          const std::vector<T> b = random_rhs<T>(a.rows, static_cast<std::uint64_t>(7 + again % 2));
          const solved<T> s = run(solver, b, std::vector<T>(b.size()));
          expect_solved(a, b, s, o);
          EXPECT_EQ(s.result.iterations % interval, 0);
          EXPECT_EQ(s.result.history.size(), static_cast<std::size_t>(s.result.iterations / interval) + 1);
          if (again == 0) first = s;
          if (again == 2) {
            EXPECT_EQ(s.x, first.x);
          }
        }
        EXPECT_NE(solver.explain().find(name(form)), std::string::npos) << solver.explain();
      }
    }
  });
}

TEST_P(jacobi_test, reorder_makes_the_plain_form_symmetric) {
  const plain_csr<double> a = dominant<double>(500);
  const std::vector<double> b = random_rhs<double>(a.rows);
  jacobi_options o;
  o.spmv.reorder = spmv_reorder::always;
  const jacobi_solver solver(ctx(), matrix_ref(a.view()), o);
  EXPECT_NE(solver.explain().find("form symmetric, reverse Cuthill-McKee order"), std::string::npos)
      << solver.explain();
  expect_solved(a, b, run(solver, b, std::vector<double>(b.size())), o);
  o.spmv.reorder_method = ordering::degree;
  const jacobi_solver by_degree(ctx(), matrix_ref(a.view()), o);
  EXPECT_NE(by_degree.explain().find("form symmetric, degree order"), std::string::npos) << by_degree.explain();
  expect_solved(a, b, run(by_degree, b, std::vector<double>(b.size())), o);
}

TEST_P(jacobi_test, a_diagonal_entry_that_is_0_or_missing_is_an_error_that_names_the_row_of_a) {
  plain_csr<double> zero = dominant<double>(300);
  for (auto k = zero.rowptr[123]; k < zero.rowptr[124]; ++k) {
    if (zero.colind[k] == 123) zero.values[k] = 0;
  }
  plain_csr<double> missing{0, 3};
  missing.add_row({0, 1});
  missing.add_row({0, 2});
  missing.add_row({1, 2});
  missing.values = {4, 1, 1, 1, 1, 4};
  for (const jacobi_form form : forms) {
    jacobi_options o;
    o.form = form;
    if (form != jacobi_form::plain) o.order = ordering::random;
    expect_error(status::invalid_structure, "row 123", [&] { jacobi_solver(ctx(), matrix_ref(zero.view()), o); });
    expect_error(status::invalid_structure, "row 1,", [&] { jacobi_solver(ctx(), matrix_ref(missing.view()), o); });
  }
}

TEST_P(jacobi_test, match_solves_what_has_its_large_entries_elsewhere) {
  for_types<float, double>([&]<class T>() {
    const plain_csr<T> sound = dominant<T>(1500);
    const context host = context::cpu(2);
    const plain_csr<T> a =
        plain<T>(host, permute_rows(host, matrix_ref(sound.view()), permutation(host, shuffled(sound.rows, 9))));
    const std::vector<T> b = random_rhs<T>(a.rows);
    for (const jacobi_form form : forms) {
      SCOPED_TRACE(name(form));
      jacobi_options o;
      o.form = form;
      o.rtol = std::is_same_v<T, float> ? 1e-5 : 1e-10;
      o.match = true;
      const solved<T> s = run(a, b, o);
      expect_solved(a, b, s, o);
      EXPECT_LT(s.result.iterations, 100);
    }
  });
}

TEST_P(jacobi_test, match_names_a_row_of_a_structurally_singular_matrix) {
  plain_csr<double> a{0, 4};  // rows 0, 1 and 3 share two columns
  a.add_row({0, 1});
  a.add_row({0, 1});
  a.add_row({0, 2, 3});
  a.add_row({0, 1});
  a.values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string said = expect_error(status::invalid_structure, "structurally singular", [&] {
    jacobi_options o;
    o.match = true;
    jacobi_solver(ctx(), matrix_ref(a.view()), o);
  });
  EXPECT_EQ(said.find("row 2"), std::string::npos) << said;
  plain_csr<double> empty = diagonal_matrix<double>({1, 0, 3});  // a stored 0 is no entry
  expect_error(status::invalid_structure, "row 1", [&] { match_diagonal(ctx(), matrix_ref(empty.view())); });
  plain_csr<double> unused{0, 2};
  unused.add_row({0});
  unused.add_row({0});
  unused.values = {1, 2};
  expect_error(status::invalid_structure, "column 1", [&] { match_diagonal(ctx(), matrix_ref(unused.view())); });
}

TEST_P(jacobi_test, match_takes_the_greatest_product) {
  std::mt19937_64 engine(17);
  int matched = 0;
  for (int trial = 0; trial < 60; ++trial) {
    constexpr index_t n = 6;
    plain_csr<double> a{0, n};
    for (index_t i = 0; i < n; ++i) {
      std::vector<index_t> columns;
      for (index_t j = 0; j < n; ++j) {
        if (engine() % 2 == 0) columns.push_back(j);
      }
      a.add_row(columns);
      for (std::size_t k = 0; k < columns.size(); ++k)
        a.values.push_back(std::ldexp(1.0 + static_cast<double>(engine() % 7), static_cast<int>(engine() % 20)));
    }
    const auto product = [&](const std::vector<index_t>& order) {
      double sum = 0;
      for (index_t j = 0; j < n; ++j) sum += std::log(value_at(a, order[static_cast<std::size_t>(j)], j));
      return sum;
    };
    std::vector<index_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    double best = -std::numeric_limits<double>::infinity();
    do best = std::max(best, product(order));
    while (std::ranges::next_permutation(order).found);
    std::optional<permutation> found;
    const status code = test::status_of([&] { found = match_diagonal(ctx(), matrix_ref(a.view())); });
    EXPECT_EQ(name(code), name(std::isinf(best) ? status::invalid_structure : status::success));
    if (!found) continue;
    ++matched;
    // Logarithms up to log(2^23) are added up, and differ by their rounding where products are the same.
    EXPECT_GE(product(found->to_vector()), best - 16 * n * (n + 1) * std::numeric_limits<double>::epsilon());
  }
  EXPECT_GT(matched, 10);
}

TEST_P(jacobi_test, small_systems) {
  for (const jacobi_form form : forms) {
    for (const bool match : {false, true}) {
      jacobi_options o;
      o.form = form;
      o.match = match;
      EXPECT_EQ(status_of(run(plain_csr<double>{}, {}, o).result), "SUCCESS");
      const solved<double> one = run(diagonal_matrix<double>({-4}), {2}, o);
      EXPECT_EQ(status_of(one.result), "SUCCESS");
      EXPECT_EQ(one.x, std::vector<double>{-0.5});
      // A guess that is the solution already, and no iteration allowed.
      o.max_iterations = 0;
      EXPECT_EQ(status_of(run(diagonal_matrix<double>({-4}), {0}, o).result), "SUCCESS");
      EXPECT_EQ(status_of(run(diagonal_matrix<double>({-4}), {1}, o).result), "NOT_CONVERGED");
    }
  }
}

TEST_P(jacobi_test, what_is_not_finite_is_found) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  plain_csr<double> a = dominant<double>(200);
  const std::vector<double> b = random_rhs<double>(a.rows);
  std::vector<double> broken = b;
  broken[17] = nan;
  for (const jacobi_form form : forms) {
    jacobi_options o;
    o.form = form;
    const solved<double> s = run(a, broken, o);
    EXPECT_EQ(status_of(s.result), "NOT_FINITE");
    EXPECT_EQ(s.result.iterations, 0);
  }
  plain_csr<double> diverges{0, 2};
  diverges.add_row({0, 1});
  diverges.add_row({0, 1});
  diverges.values = {1, 1e9, 1e9, 1};
  EXPECT_EQ(status_of(run(diverges, {1, 1}, {}).result), "NOT_FINITE");
  a.values[static_cast<std::size_t>(a.rowptr[50])] = nan;
  EXPECT_EQ(status_of(run(a, b, {}).result), "NOT_FINITE");
  jacobi_options match;
  match.match = true;
  expect_error(status::not_finite, "row 50", [&] { jacobi_solver(ctx(), matrix_ref(a.view()), match); });
}

TEST_P(jacobi_test, what_cannot_be_is_refused) {
  const plain_csr<double> a = dominant<double>(20);
  const auto make = [&](const auto& set) {
    return [&, set] {
      jacobi_options o;
      set(o);
      jacobi_solver(ctx(), matrix_ref(a.view()), o);
    };
  };
  expect_error(status::invalid_argument, "rtol", make([](jacobi_options& o) { o.rtol = -1; }));
  expect_error(status::invalid_argument, "rtol",
               make([](jacobi_options& o) { o.rtol = std::numeric_limits<double>::infinity(); }));
  expect_error(status::invalid_argument, "atol", make([](jacobi_options& o) { o.atol = std::nan(""); }));
  expect_error(status::invalid_argument, "omega", make([](jacobi_options& o) { o.omega = std::nan(""); }));
  expect_error(status::invalid_argument, "check_interval", make([](jacobi_options& o) { o.check_interval = 0; }));
  expect_error(status::invalid_argument, "max_iterations", make([](jacobi_options& o) { o.max_iterations = -1; }));
  expect_error(status::invalid_argument, "transpose", make([](jacobi_options& o) { o.spmv.transpose = true; }));
  expect_error(status::invalid_argument, "order", make([](jacobi_options& o) { o.order = ordering::rcm; }));
  expect_error(status::invalid_dimensions, "order", make([](jacobi_options& o) {
                 o.form = jacobi_form::rows;
                 o.order = std::vector<index_t>{1, 0};
               }));
  plain_csr<double> wide{0, 3};
  wide.add_row({0});
  wide.values = {1};
  expect_error(status::invalid_dimensions, "1 x 3", [&] { jacobi_solver(ctx(), matrix_ref(wide.view())); });
  expect_error(status::invalid_dimensions, "1 x 3", [&] { match_diagonal(ctx(), matrix_ref(wide.view())); });
  const jacobi_solver solver(ctx(), matrix_ref(a.view()));
  const buffer<double> b = to_buffer(ctx(), std::vector<double>(20));
  buffer<double> x = to_buffer(ctx(), std::vector<double>(19));
  expect_error(status::invalid_dimensions, "x", [&] { solver.solve(b, x); });
}

}  // namespace
}  // namespace tulle::test

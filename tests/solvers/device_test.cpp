// What only the solvers of a GPU promise: whole solves in a caller's graph, limits that are told, f32 that loses
// nothing.
#include <algorithm>
#include <cmath>
#include <optional>

#include "solver_fixture.hpp"
#include "support/battery.hpp"

namespace tulle::test {
namespace {

class device_solvers : public solver_fixture {
 protected:
  static constexpr const char* own[] = {"cg.cluster", "cg.persistent", "cg.graph"};
  static cg_options with(const char* kernel, preconditioner_kind m = preconditioner_kind::jacobi) {
    cg_options o;
    o.kernel = kernel;
    o.preconditioner = m;
    return o;
  }
};
TULLE_ON_BACKENDS(device_solvers, "cuda");

TEST_P(device_solvers, a_whole_solve_in_a_graph_gives_the_same_bits_each_time) {
  const std::string spec = "gen:fem:dof=3,n=6,values=spd";
  const plain_csr<double> a = generated<double>(spec);
  const std::vector<double> rhs = random_rhs<double>(a.rows);
  for (const preconditioner_kind m : {preconditioner_kind::jacobi, preconditioner_kind::block_jacobi}) {
    for (const char* kernel : own) {
      SCOPED_TRACE(kernel);
      cg_options o = with(kernel, m);
      o.block = 3;
      const matrix_ref blocks = to_bsr(context::cpu(2), generate<double>(context::cpu(2), spec).view(), 3);
      const cg_solver solver(ctx(), m == preconditioner_kind::jacobi ? matrix_ref(a.view()) : blocks, o);
      const auto direct = solve(solver, rhs);
      EXPECT_EQ(status_of(direct.result), "SUCCESS");
      const buffer<double> b = to_buffer(ctx(), rhs);
      buffer<double> x = to_buffer(ctx(), std::vector<double>(rhs.size()));
      buffer<cg_record> record(ctx(), 1);
      const graph g(ctx(), [&] { solver.enqueue(b, x, record.data()); });
      for (int again = 0; again < 3; ++again) {
        fill_bytes(ctx(), x.data(), memory_space::device, 0, x.bytes());
        g.launch();
        EXPECT_EQ(to_vector(ctx(), record)[0].iterations, direct.result.iterations);
        EXPECT_EQ(to_vector(ctx(), x), direct.x);
      }
    }
  }
}

TEST_P(device_solvers, progress_is_told_on_the_way_and_changes_no_bits) {
  const std::string spec = "gen:stencil:points=7,n=24,values=spd";
  const std::vector<double> rhs = random_rhs<double>(24 * 24 * 24);
  const matrix_ref a = generate<double>(context::cpu(2), spec);
  for (const preconditioner_kind m :
       {preconditioner_kind::none, preconditioner_kind::jacobi, preconditioner_kind::block_jacobi}) {
    cg_options o = with("cg.graph", m);
    o.block = 2;
    o.rtol = 1e-12;
    const auto silent = solve(cg_solver(ctx(), a, o), rhs);
    std::vector<std::pair<int, double>> told;
    o.progress = [&](int iterations, double residual) { told.emplace_back(iterations, residual); };
    const auto said = solve(cg_solver(ctx(), a, o), rhs);
    EXPECT_EQ(said.result.iterations, silent.result.iterations);
    EXPECT_EQ(said.x, silent.x);
    ASSERT_FALSE(told.empty());
    EXPECT_TRUE(std::ranges::is_sorted(told, {}, &std::pair<int, double>::first));
    EXPECT_LE(told.back().first, said.result.iterations);
    for (const auto& [iterations, residual] : told)
      EXPECT_TRUE(iterations >= 0 && residual > 0 && std::isfinite(residual));
    EXPECT_LT(told.back().second, 1e-3 * norm_of(rhs));
  }
}

TEST_P(device_solvers, single_precision_converges_as_classical_double_does) {
  for (const char* spec : {"gen:stencil:points=5,n=48,values=spd", "gen:fem:dof=3,n=8,values=spd"}) {
    const plain_csr<float> a = generated<float>(spec);
    const plain_csr<double> wide = generated<double>(spec);
    const std::vector<float> b = random_rhs<float>(a.rows);
    const std::vector<double> wide_b(b.begin(), b.end());
    for (const char* kernel : own) {
      for (const int iterations : {10, 40, 160, 320}) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, kernel, iterations));
        cg_options o = with(kernel);
        o.rtol = 0;
        o.max_iterations = iterations;
        const auto narrow = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
        // Rounding delays f32 by a quarter of the iterations at most.
        cg_options classical = with("cg.operations");
        classical.rtol = 0;
        classical.max_iterations = iterations * 3 / 4;
        classical.replace_interval = -1;
        std::vector<double> wide_x(wide_b.size());
        const cg_result reference =
            cg_solver(context::cpu(1), matrix_ref(wide.view()), classical).solve(wide_b, wide_x);
        const residual_norm truth = residual_of(a, b, narrow.x);
        EXPECT_LE(truth.value, 2 * static_cast<long double>(reference.residual) + 4 * truth.rounding);
      }
    }
  }
}

/// A grid of n x n with conductances from 1 to 10^-decades.
template <class T>
plain_csr<T> uneven_grid(index_t n, double decades) {
  const std::vector<double> draws = random_rhs<double>(2 * n * n, 11);
  const auto conductance = [&](index_t cell, bool down) {
    return std::pow(10.0, -decades * std::fabs(draws[static_cast<std::size_t>(2 * cell + down)]));
  };
  plain_csr<T> a{0, n * n};
  for (index_t i = 0; i < n * n; ++i) {
    std::vector<std::pair<index_t, double>> others;
    if (i >= n) others.emplace_back(i - n, conductance(i - n, true));
    if (i % n > 0) others.emplace_back(i - 1, conductance(i - 1, false));
    others.emplace_back(i, std::pow(10.0, -decades));
    if (i % n < n - 1) others.emplace_back(i + 1, conductance(i, false));
    if (i < n * n - n) others.emplace_back(i + n, conductance(i, true));
    double sum = 0;
    std::vector<index_t> columns;
    for (const auto& [column, value] : others) {
      sum += value;
      columns.push_back(column);
    }
    a.add_row(columns);
    for (const auto& [column, value] : others) a.values.push_back(static_cast<T>(column == i ? sum : -value));
  }
  return a;
}

TEST_P(device_solvers, what_is_predicted_costs_no_iterations) {
  for_types<float, double>([&]<class T>() {
    for (const double decades : {1.0, 3.0, 6.0}) {
      if (std::is_same_v<T, float> && decades > 1) continue;  // no method gets there
      const plain_csr<T> a = uneven_grid<T>(40, decades);
      const std::vector<T> b = random_rhs<T>(a.rows);
      for (const preconditioner_kind m : {preconditioner_kind::none, preconditioner_kind::jacobi}) {
        for (const int replace : {-1, 50}) {
          SCOPED_TRACE(fmt::format("{} decades, {}, {}", decades, name(m), replace));
          cg_options o = with("cg.operations", m);
          o.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-9;
          o.max_iterations = 20'000;
          o.replace_interval = replace;
          const solved<T> classical = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
          for (const char* kernel : own) {
            SCOPED_TRACE(kernel);
            o.kernel = kernel;
            const solved<T> s = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
            EXPECT_EQ(status_of(s.result), status_of(classical.result));
            expect_true_report(a, b, s, o);
            EXPECT_LE(s.result.iterations, classical.result.iterations * 1.1 + 5);
            RecordProperty(
                fmt::format("{}_{}_{}_{}_{}_{}", kernel, sizeof(T), decades, name(m), replace, s.result.iterations),
                classical.result.iterations);
          }
        }
      }
    }
  });
}

/// By how much the residual that k iterations have updated may differ from b - A x at most, where x began as 0, so that
/// it was never longer (Greenbaum: Estimating the attainable accuracy of recursively computed residual methods, SIAM J.
/// Matrix Anal. Appl. 18, 1997, theorem 2.2).
long double recursion_error(const plain_csr<double>& a, const std::vector<double>& b, const std::vector<double>& x,
                            int k) {
  const long double u = std::numeric_limits<double>::epsilon() / 2;
  long double norm = 0, longest = 0;
  for (index_t r = 0; r < a.rows; ++r) {
    long double sum = 0;
    for (auto e = a.rowptr[r]; e < a.rowptr[r + 1]; ++e) sum += std::fabs(a.values[static_cast<std::size_t>(e)]);
    norm = std::max(norm, sum);
    longest = std::max(longest, static_cast<long double>(a.length(r)));
  }
  const long double c = longest * std::sqrt(static_cast<long double>(a.rows));  // of a product with A
  return u * ((k + 1) * norm_of(b) + (1 + c + k * (10 + 2 * c)) * norm * norm_of(x));
}

TEST_P(device_solvers, a_direction_left_for_later_reaches_x_wherever_a_solve_ends) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const int replace : {-1, 3}) {
    std::vector<long double> truth{norm_of(b)}, slack{truth[0] * norm_error(b.size())};  // after so many iterations
    for (int most = 1; most <= 19; ++most) {
      SCOPED_TRACE(fmt::format("{} iterations, {}", most, replace));
      cg_options o = with("cg.graph");
      o.rtol = 0;
      o.max_iterations = most;
      o.replace_interval = replace;
      o.keep_history = true;
      const auto s = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
      EXPECT_EQ(s.result.iterations, most);
      expect_true_report(a, b, s, o);
      ASSERT_EQ(s.result.history.size(), static_cast<std::size_t>(most) + 1);
      const residual_norm residual = residual_of(a, b, s.x);
      truth.push_back(residual.value);
      slack.push_back(recursion_error(a, b, s.x, most) + residual.rounding + residual.value * norm_error(b.size()));
      o.kernel = "cg.operations";
      const auto classical = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
      for (std::size_t i = 0; i <= static_cast<std::size_t>(most); ++i) {
        EXPECT_LE(std::fabs(s.result.history[i] - truth[i]), slack[i]) << i;
        EXPECT_LE(std::fabs(std::log2(s.result.history[i] / classical.result.history[i])), 1) << i;
      }
    }
  }
}

TEST_P(device_solvers, blocks_that_are_folded_away_follow_new_values) {
  const char* const spec = "gen:fem:dof=3,n=6,values=spd,seed=";
  const csr<double> first = generate<double>(context::cpu(2), fmt::format("{}1", spec));
  const csr<double> then = generate<double>(context::cpu(2), fmt::format("{}2", spec));
  const std::vector<double> b = random_rhs<double>(first.view().rows);
  for (const bool as_blocks : {false, true}) {
    const auto matrix = [&](const csr<double>& a) {
      return as_blocks ? matrix_ref(to_bsr(context::cpu(2), a.view(), 3)) : matrix_ref(a);
    };
    cg_options o = with("cg.graph", preconditioner_kind::block_jacobi);
    o.block = 3;
    cg_solver solver(ctx(), matrix(first), o);
    EXPECT_NE(solver.explain().find("folded=3"), std::string::npos) << solver.explain();
    EXPECT_EQ(status_of(solve(solver, b).result), "SUCCESS");
    const matrix_ref other = matrix(then);
    const std::int64_t count = as_blocks ? other.stored * 9 : other.nnz;
    solver.update_values(const_vector_ref(scalar_type::f64, other.values, count, memory_space::host));
    const auto updated = solve(solver, b), fresh = solve(cg_solver(ctx(), other, o), b);
    EXPECT_EQ(updated.x, fresh.x);
    EXPECT_EQ(updated.result.iterations, fresh.result.iterations);
    std::vector<double> broken(static_cast<const double*>(other.values),
                               static_cast<const double*>(other.values) + count);
    std::ranges::fill(broken, -1.0);
    expect_error(status::indefinite, "block 0", [&] { solver.update_values(broken); });
  }
}

/// Updates store the values elsewhere and in other forms, so that a graph that was captured before would read what is
/// no more. Rows of the band are alike, those of the small grid are not.
TEST_P(device_solvers, values_in_fewer_bits_follow_new_values) {
  struct kind {
    double diagonal, other, spread;
    const char *band, *grid;
    bool floats = false;
  };
  constexpr const char* whole = "";
  constexpr kind kinds[] = {{7.3, -1.1, 0, "values=repeated", "values=listed"},
                            {8.3, -1.2, 0, "values=repeated", "values=listed"},
                            {6.5, -1, 0, "values=repeated", "values=bf16"},
                            {7.1, -1.15, 0, "values=repeated", "values=listed"},
                            {8.3, -1, 0.1, "values=f32", "values=f32", true},
                            {6.7, -0.9, 0, "values=repeated", "values=listed"},
                            {9.3, -1.2, 0.1, whole, whole}};
  for (const bool is_band : {true, false}) {
    plain_csr<double> a =
        is_band ? typed<double>(banded("", 40000, 3)) : generated<double>("gen:stencil:points=7,n=12");
    const std::vector<double> b = random_rhs<double>(a.rows);
    const auto set = [&](const kind& of) {
      for (index_t r = 0; r < a.rows; ++r) {
        for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
          const index_t c = a.colind[k];
          const double other = of.other * (1 + of.spread * std::sin(std::min(r, c) + 2.0 * std::max(r, c)));
          a.values[k] = c == r ? of.diagonal : other;
          if (of.floats) a.values[k] = static_cast<float>(a.values[k]);
        }
      }
    };
    cg_options o = with("cg.graph", preconditioner_kind::none);
    o.spmv.kernel = "packed";
    std::optional<cg_solver> solver;
    for (const kind& k : kinds) {
      SCOPED_TRACE(fmt::format("{} rows, {} and {}", a.rows, k.diagonal, k.other));
      set(k);
      const cg_solver fresh(ctx(), matrix_ref(a.view()), o);
      const buffer<double> values = to_buffer(ctx(), a.values);
      if (solver) {
        solver->update_values(values);
      } else {
        solver.emplace(ctx(), matrix_ref(a.view()), o);
      }
      const std::string how = solver->explain(), form = is_band ? k.band : k.grid;
      EXPECT_EQ(form == whole, how.find("values=") == std::string::npos) << how;
      EXPECT_NE(how.find(form), std::string::npos) << how;
      const auto s = solve(*solver, b);
      EXPECT_EQ(status_of(s.result), "SUCCESS");
      expect_true_report(a, b, s, o);
      EXPECT_LE(std::abs(s.result.iterations - solve(fresh, b).result.iterations), 1);
    }
  }
}

TEST_P(device_solvers, folding_blocks_that_are_nearly_singular_costs_no_accuracy) {
  plain_csr<double> a = generated<double>("gen:fem:dof=3,n=6,values=spd");
  const double scale[] = {1, 1e2, 1e-2};  // of the unknowns of a node
  for (index_t r = 0; r < a.rows; ++r) {
    for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) a.values[k] *= scale[r % 3] * scale[a.colind[k] % 3];
  }
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options o = with("cg.operations", preconditioner_kind::block_jacobi);
  o.block = 3;
  const auto classical = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
  o.kernel = "cg.graph";
  for (const bool history : {false, true}) {
    o.keep_history = history;
    const auto s = solve(cg_solver(ctx(), matrix_ref(a.view()), o), b);
    EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
    expect_true_report(a, b, s, o);
    EXPECT_LE(s.result.iterations, classical.result.iterations * 1.1 + 5);
  }
}

/// Block rows of 3 with their neighbours, enough for several thread blocks and few enough for sanitizers; `bad`: a
/// scalar row whose diagonal is negative.
struct block_chain {
  static constexpr index_t rows = 40, block = 3, n = rows * block;
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;

  explicit block_chain(index_t bad = -1) {
    for (index_t r = 0; r < rows; ++r) {
      for (index_t c = std::max(0, r - 1); c <= std::min(rows - 1, r + 1); ++c) {
        colind.push_back(c);
        for (index_t e = 0; e < block * block; ++e) {
          const index_t i = e / block, j = e % block;
          const double diagonal = r * block + i == bad ? -8 : 8;
          values.push_back(r == c ? (i == j ? diagonal : 1) : -0.5);
        }
      }
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
  }
};

TEST_P(device_solvers, new_values_that_are_not_positive_are_named_by_the_solve) {
  const block_chain sound, broken(17);
  const buffer<std::int64_t> rowptr = to_buffer(ctx(), sound.rowptr);
  const buffer<index_t> colind = to_buffer(ctx(), sound.colind);
  buffer<double> values = to_buffer(ctx(), sound.values);
  const buffer<double> bad = to_buffer(ctx(), broken.values);
  const auto blocks = static_cast<std::int64_t>(sound.colind.size());
  const bsr_view<double, std::int64_t> view{block_chain::n,    block_chain::n, 9 * blocks,          3,
                                            block_chain::rows, blocks,         rowptr.data(),       colind.data(),
                                            values.data(),     nullptr,        memory_space::device};
  const std::vector<double> b = random_rhs<double>(block_chain::n);
  for (const preconditioner_kind m : {preconditioner_kind::jacobi, preconditioner_kind::block_jacobi}) {
    for (const char* kernel : {"cg.cluster", "cg.persistent"}) {
      SCOPED_TRACE(fmt::format("{} {}", kernel, name(m)));
      cg_options o = with(kernel, m);
      o.block = 3;
      cg_solver solver(ctx(), matrix_ref(view), o);
      const auto before = solve(solver, b);
      EXPECT_EQ(status_of(before.result), "SUCCESS");
      EXPECT_EQ(before.result.row, -1);
      solver.update_values(bad);
      const auto failed = solve(solver, b);
      EXPECT_EQ(status_of(failed.result), "INDEFINITE");
      EXPECT_EQ(failed.result.iterations, 0);
      EXPECT_EQ(failed.result.row, m == preconditioner_kind::jacobi ? 17 : 15);
      EXPECT_EQ(failed.x, std::vector<double>(block_chain::n));
      solver.update_values(values);
      EXPECT_EQ(solve(solver, b).x, before.x);
      // What was lent is read anew.
      copy_bytes(ctx(), values.data(), memory_space::device, bad.data(), memory_space::device, values.bytes());
      EXPECT_EQ(status_of(solve(solver, b).result), "INDEFINITE");
      copy_bytes(ctx(), values.data(), memory_space::device, sound.values.data(), memory_space::host, values.bytes());
      EXPECT_EQ(solve(solver, b).x, before.x);
    }
  }
}

TEST_P(device_solvers, one_solve_alone_does_not_pay_for_a_long_set_up) {
  const csr<double> a = generate<double>(context::cpu(2), "gen:stencil:points=7,n=40,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  for (const bool once : {false, true}) {
    cg_options o;
    o.once = once;
    cg_solver solver(ctx(), a.view(), o);
    EXPECT_NE(solver.kernel(), once ? "cg.persistent" : "cg.graph");
    EXPECT_EQ(status_of(solve(solver, b).result), "SUCCESS");
    o.kernel = "cg.persistent";  // what is named is taken
    EXPECT_EQ(cg_solver(ctx(), a.view(), o).kernel(), "cg.persistent");
  }
}

TEST_P(device_solvers, limits_are_told) {
  const csr<double> large = generate<double>(context::cpu(2), "gen:stencil:points=7,n=100,values=spd");
  for (const char* kernel : {"cg.cluster", "cg.persistent"}) {
    const auto [code, message] = failure_of([&] { cg_solver(ctx(), matrix_ref(large), with(kernel)); });
    EXPECT_EQ(name(code), "UNSUPPORTED");
    EXPECT_NE(message.find("shared memory"), std::string::npos) << message;
  }
  const plain_csr<double> small = generated<double>("gen:stencil:points=5,n=10,values=spd");
  for (const char* kernel : own) {
    const auto [code, message] =
        failure_of([&] { cg_solver(ctx(), matrix_ref(small.view()), with(kernel, preconditioner_kind::chebyshev)); });
    EXPECT_EQ(name(code), "UNSUPPORTED");
    EXPECT_NE(message.find("chebyshev"), std::string::npos) << message;
  }
}

TEST_P(device_solvers, what_is_chosen_says_why) {
  const plain_csr<double> small = generated<double>("gen:stencil:points=5,n=10,values=spd");
  const cg_solver solver(ctx(), matrix_ref(small.view()));
  EXPECT_NE(solver.explain().find("shared memory"), std::string::npos) << solver.explain();
  const csr<double> large = generate<double>(context::cpu(2), "gen:stencil:points=7,n=100,values=spd");
  EXPECT_EQ(cg_solver(ctx(), matrix_ref(large)).kernel(), "cg.graph");
}

TEST_P(device_solvers, blocks_of_every_size_are_solved_with) {
  for_types<float, double>([&]<class T>() {
    for (index_t block = 1; block <= 8; ++block) {
      const std::string spec = fmt::format("gen:fem:dof={},n=5,values=spd", block);
      const plain_csr<T> a = generated<T>(spec);
      const csr<T> host = generate<T>(context::cpu(2), spec);
      const std::vector<T> b = random_rhs<T>(a.rows);
      for (const char* kernel : own) {
        for (const bool as_blocks : {false, true}) {
          if (as_blocks && block == 1) continue;
          SCOPED_TRACE(fmt::format("{} {} {}", spec, kernel, as_blocks ? "bsr" : "csr"));
          cg_options o = with(kernel, preconditioner_kind::block_jacobi);
          o.block = block;
          o.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-10;
          const matrix_ref matrix =
              as_blocks ? matrix_ref(to_bsr(context::cpu(2), host.view(), block)) : matrix_ref(a.view());
          std::optional<cg_solver> solver;
          const auto [code, message] = failure_of([&] { solver.emplace(ctx(), matrix, o); });
          if (!as_blocks && code == status::unsupported) continue;  // how many blocks a CSR has is not known
          ASSERT_EQ(name(code), "SUCCESS") << message;
          const solved<T> s = solve(*solver, b);
          EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
          expect_true_report(a, b, s, o);
        }
      }
    }
  });
}

/// More than a cluster of 16 has threads for.
TEST_P(device_solvers, rows_beyond_those_in_registers_are_solved_with) {
  for_types<float, double>([&]<class T>() {
    for (const auto& [spec, block] :
         {std::pair{"gen:stencil:points=5,n=72,values=spd", 1}, std::pair{"gen:fem:dof=3,n=10,values=spd", 3}}) {
      const plain_csr<T> a = generated<T>(spec);
      const csr<T> host = generate<T>(context::cpu(2), spec);
      const std::vector<T> b = random_rhs<T>(a.rows);
      for (const bool zero_guess : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {}", spec, zero_guess));
        cg_options o = with("cg.cluster", preconditioner_kind::block_jacobi);
        o.block = block;
        o.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-10;
        o.zero_guess = zero_guess;
        o.replace_interval = 7;
        const matrix_ref matrix =
            block > 1 ? matrix_ref(to_bsr(context::cpu(2), host.view(), block)) : matrix_ref(host);
        const solved<T> s = solve(cg_solver(ctx(), matrix, o), b);
        EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
        expect_true_report(a, b, s, o);
      }
    }
  });
}

}  // namespace
}  // namespace tulle::test

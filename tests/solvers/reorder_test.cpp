// Solvers that keep the unknowns in another order: the caller sees none of it.
#include <algorithm>
#include <numeric>
#include <random>

#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

class reorder_test : public solver_fixture {
 protected:
  /// The blocks of a generated matrix numbered at random.
  template <class T>
  plain_csr<T> renumbered(const std::string& spec, index_t block = 1) const {
    const context host = context::cpu(2);
    const matrix_ref a(generate<T>(host, spec));
    std::vector<index_t> blocks(static_cast<std::size_t>(a.rows / block)), order;
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(11));
    for (const index_t b : blocks) {
      for (index_t i = 0; i < block; ++i) order.push_back(b * block + i);
    }
    return plain<T>(host, permute_symmetric(host, a, permutation(host, order)));
  }
  static cg_options reordering() {
    cg_options options;
    options.spmv.reorder = spmv_reorder::always;
    return options;
  }
};
TULLE_ON_SOLVERS(reorder_test);

TEST_P(reorder_test, answers_are_in_the_callers_order) {
  for_types<float, double>([&]<class T>() {
    for (const auto& [spec, block] :
         {std::pair{"gen:stencil:points=5,n=40,values=spd", 1}, {"gen:fem:dof=3,n=6,values=spd", 3}}) {
      SCOPED_TRACE(spec);
      const plain_csr<T> a = renumbered<T>(spec, block);
      const std::vector<T> b = random_rhs<T>(a.rows);
      for (const preconditioner_kind m : preconditioners()) {
        cg_options options = reordering();
        options.preconditioner = m;
        options.rtol = std::is_same_v<T, float> ? 1e-4 : 1e-10;
        for_kernels(a, options, [&](const cg_solver& solver) {
          EXPECT_NE(solver.explain().find("in reverse Cuthill-McKee order"), std::string::npos) << solver.explain();
          // A of its own, in that order.
          EXPECT_GE(solver.workspace_bytes(), static_cast<std::size_t>(a.nnz()) * (sizeof(T) + sizeof(index_t)));
          const solved<T> s = solve(solver, b, random_rhs<T>(a.rows, 3));
          EXPECT_EQ(status_of(s.result), "SUCCESS") << s.result.residual << " after " << s.result.iterations;
          expect_true_report(a, b, s, options);
        });
      }
    }
  });
}

TEST_P(reorder_test, blocks_of_the_preconditioner_stay_what_they_are) {
  const plain_csr<double> a = renumbered<double>("gen:fem:dof=6,n=5,values=spd", 6);
  const std::vector<double> b = random_rhs<double>(a.rows);
  cg_options options;
  options.preconditioner = preconditioner_kind::block_jacobi;
  options.block = 6;
  options.kernel = "cg.operations";
  const int plain = solve(cg_solver(ctx(), matrix_ref(a.view()), options), b).result.iterations;
  options.spmv.reorder = spmv_reorder::always;
  const int reordered = solve(cg_solver(ctx(), matrix_ref(a.view()), options), b).result.iterations;
  EXPECT_NEAR(reordered, plain, 1) << "the same iterates but for rounding";
}

TEST_P(reorder_test, new_values_several_right_hand_sides_history_and_queued_solves) {
  const plain_csr<double> a = renumbered<double>("gen:stencil:points=5,n=30,values=spd");
  plain_csr<double> twice = a;
  for (double& v : twice.values) v *= 2;
  cg_options options = reordering();
  options.rhs = 3;
  options.keep_history = true;
  for_kernels(a, options, [&](cg_solver& solver) {
    const std::vector<double> b = random_rhs<double>(3 * a.rows);
    const std::vector<double> first(b.begin(), b.begin() + a.rows);
    const solved<double> one = solve(solver, first);
    EXPECT_EQ(one.result.history.size(), static_cast<std::size_t>(one.result.iterations) + 1);

    const buffer<double> all_b = to_buffer(ctx(), b);
    buffer<double> all_x = to_buffer(ctx(), std::vector<double>(b.size()));
    const auto vectors = [&](auto& v) {
      return multivector_ref(scalar_type::f64, a.rows, 3, a.rows, vector_order::column_major,
                             const_cast<double*>(v.data()), ctx().space());
    };
    for (const cg_result& r : solver.solve_many(vectors(all_b), vectors(all_x))) EXPECT_TRUE(r.converged());
    const std::vector<double> x = to_vector(ctx(), all_x);
    for (index_t j = 0; j < 3; ++j) {
      const auto part = [&](const std::vector<double>& v) {
        return std::vector<double>(v.begin() + j * a.rows, v.begin() + (j + 1) * a.rows);
      };
      const residual_norm truth = residual_of(a, part(b), part(x));
      EXPECT_LE(truth.value, options.rtol * norm_of(part(b)) + truth.rounding);
    }

    solver.update_values(twice.values);
    const buffer<double> one_b = to_buffer(ctx(), first);
    buffer<double> one_x = to_buffer(ctx(), std::vector<double>(first.size()));
    buffer<cg_record> record(ctx(), 1);
    solver.enqueue(one_b, one_x, record.data());
    ctx().synchronize();
    const solved<double> queued{{to_vector(ctx(), record).front(), {}}, to_vector(ctx(), one_x)};
    EXPECT_EQ(status_of(queued.result), "SUCCESS");
    expect_true_report(twice, first, queued, options);
  });
}

TEST_P(reorder_test, a_diagonal_that_is_not_positive_is_an_error_that_names_the_row_of_a) {
  const plain_csr<double> good = renumbered<double>("gen:stencil:points=5,n=10,values=spd");
  plain_csr<double> bad = good;
  for (auto k = bad.rowptr[17]; k < bad.rowptr[18]; ++k) {
    if (bad.colind[static_cast<std::size_t>(k)] == 17) bad.values[static_cast<std::size_t>(k)] = -1;
  }
  cg_options options = reordering();
  const auto expect_row = [](const std::string& message) {
    EXPECT_NE(message.find("17"), std::string::npos) << message;
    EXPECT_EQ(message.find("order"), std::string::npos) << message;
  };
  for_kernels(good, options, [&](cg_solver& solver) {
    const auto [code, message] = failure_of([&] { solver.update_values(bad.values); });
    if (code == status::indefinite) return expect_row(message);
    const solved<double> s = solve(solver, random_rhs<double>(good.rows));
    EXPECT_EQ(status_of(s.result), "INDEFINITE");
    EXPECT_EQ(s.result.row, 17);
  });
}

TEST_P(reorder_test, a_block_that_is_not_positive_definite_is_named_as_a_has_it) {
  plain_csr<double> bad = renumbered<double>("gen:fem:dof=3,n=4,values=spd", 3);
  const index_t row = 3 * 17 + 1;
  for (auto k = bad.rowptr[row]; k < bad.rowptr[row + 1]; ++k) {
    if (bad.colind[static_cast<std::size_t>(k)] == row) bad.values[static_cast<std::size_t>(k)] = 1e-3;
  }
  cg_options options = reordering();
  options.kernel = "cg.operations";
  options.preconditioner = preconditioner_kind::block_jacobi;
  options.block = 3;
  const std::string message =
      expect_error(status::indefinite, "block 17", [&] { cg_solver(ctx(), matrix_ref(bad.view()), options); });
  EXPECT_EQ(message.find("order"), std::string::npos) << message;
}

TEST_P(reorder_test, auto_finds_a_hidden_order_in_a_system_large_enough_to_repay_it) {
  cg_options options;
  options.spmv.reorder = spmv_reorder::automatic;
  const plain_csr<double> a = renumbered<double>("gen:stencil:points=7,n=67,values=spd");
  const auto expect_said = [&](const char* words) {
    const std::string sentence = cg_solver(ctx(), matrix_ref(a.view()), options).explain();
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
  };
  expect_said("in reverse Cuthill-McKee order: ");
  expect_said("another order pays after 200 iterations, 201 are expected");
  options.max_iterations = 10;
  expect_said("in A's order: another order pays after 200 iterations, 10 are expected");
}

TEST_P(reorder_test, the_order_may_be_named_or_given) {
  const plain_csr<double> a = renumbered<double>("gen:stencil:points=5,n=20,values=spd");
  const std::vector<double> b = random_rhs<double>(a.rows);
  std::vector<index_t> backwards(static_cast<std::size_t>(a.rows));
  std::iota(backwards.rbegin(), backwards.rend(), 0);
  for (const auto& [how, said] : {std::pair<order_choice, const char*>{ordering::degree, "in degree order"},
                                  {backwards, "in the order that was given"}}) {
    cg_options options = reordering();
    options.spmv.reorder_method = how;
    for_kernels(a, options, [&](const cg_solver& solver) {
      EXPECT_NE(solver.explain().find(said), std::string::npos) << solver.explain();
      const solved<double> s = solve(solver, b);
      EXPECT_EQ(status_of(s.result), "SUCCESS");
      expect_true_report(a, b, s, options);
    });
  }
  cg_options options;
  options.spmv.reorder_method = ordering::degree;
  expect_error(status::invalid_argument, "reorder_method", [&] { cg_solver(ctx(), matrix_ref(a.view()), options); });
  options = reordering();
  options.spmv.reorder_method = std::vector<index_t>{1, 0};
  expect_error(status::invalid_dimensions, "order is of 2 rows",
               [&] { cg_solver(ctx(), matrix_ref(a.view()), options); });
}

TEST_P(reorder_test, auto_leaves_alone_what_has_no_hidden_order) {
  cg_options options;
  options.spmv.reorder = spmv_reorder::automatic;
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=30,values=spd");
  const std::string sentence = cg_solver(ctx(), matrix_ref(a.view()), options).explain();
  EXPECT_EQ(sentence.find("Cuthill"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("in A's order: "), std::string::npos) << sentence;
}

}  // namespace
}  // namespace tulle::test

// Conjugate gradients with a caller's own operator and preconditioner, and what the solver refuses.
#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

class cg_operators_test : public solver_fixture {};
TULLE_ON_SOLVERS(cg_operators_test);

/// factor (3 I - S - S^T), where S shifts cyclically, by vector operations alone: no matrix anywhere.
class shifts final : public linear_operator {
 public:
  shifts(const context& ctx, index_t n) : ops_(ctx), n_(n), moved_(ctx, static_cast<std::size_t>(n)) {
    std::vector<std::int32_t> there(static_cast<std::size_t>(n)), back(there.size());
    for (index_t i = 0; i < n; ++i) {
      there[i] = (i + 1) % n;
      back[i] = (i + n - 1) % n;
    }
    up_ = to_buffer(ctx, there);
    down_ = to_buffer(ctx, back);
  }
  [[nodiscard]] const context& ctx() const noexcept override { return ops_.ctx(); }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return scalar_type::f64; }

 private:
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    ops_.axpby(3 * alpha, x, beta, y, how.stream);
    for (const auto* permutation : {&up_, &down_}) {
      ops_.gather(*permutation, x, moved_, how.stream);
      ops_.axpby(-alpha, moved_, 1, y, how.stream);
    }
  }
  vector_ops ops_;
  index_t n_;
  mutable buffer<double> moved_;
  buffer<std::int32_t> up_, down_;
};

class scaling final : public linear_operator {
 public:
  scaling(const context& ctx, index_t n, double by) : ops_(ctx), n_(n), by_(by) {}
  [[nodiscard]] const context& ctx() const noexcept override { return ops_.ctx(); }
  [[nodiscard]] shape dimensions() const noexcept override { return {n_, n_}; }
  [[nodiscard]] scalar_type vector_type() const noexcept override { return scalar_type::f64; }

 private:
  void do_apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y, call how) const override {
    ops_.axpby(alpha * by_, x, beta, y, how.stream);
  }
  vector_ops ops_;
  index_t n_;
  double by_;
};

TEST_P(cg_operators_test, no_matrix_is_needed) {
  constexpr index_t n = 20000;
  const shifts a(ctx(), n);
  const scaling m(ctx(), n, 1.0 / 3);
  const std::vector<double> b = random_rhs<double>(n);
  const buffer<double> rhs = to_buffer(ctx(), b);
  for (const linear_operator* preconditioner :
       {static_cast<const linear_operator*>(nullptr), static_cast<const linear_operator*>(&m)}) {
    const cg_solver solver(a, preconditioner);
    const auto s = solve(solver, b);
    EXPECT_EQ(solver_fixture::status_of(s.result), "SUCCESS");
    const buffer<double> x = to_buffer(ctx(), s.x);
    buffer<double> r = clone(ctx(), rhs), norm(ctx(), 1);
    a.apply(-1, x, 1, r);
    vector_ops(ctx()).norm2(r, norm);
    EXPECT_EQ(to_vector(ctx(), norm)[0], s.result.residual);
    EXPECT_LE(s.result.residual, 1e-8 * s.result.rhs);
  }
}

TEST_P(cg_operators_test, any_format_is_solved_with) {
  const context host = context::cpu(2);
  const plain_csr<double> a = generated<double>("gen:fem:dof=2,n=4,values=spd");  // rows of up to 54
  const auto view = a.view();
  const matrix_ref formats[] = {view,
                                to_csc(host, view),
                                to_coo(host, view),
                                to_ell(host, view),
                                to_sell(host, view),
                                to_bsr(host, view, 2),
                                to_bsr(host, view, 8),
                                to_bin_bsr(host, view, 3),
                                // 27 slots of a row, which divide the 216 rows, are no blocks.
                                to_ell(host, generated<double>("gen:stencil:points=27,n=6,values=spd").view())};
  using enum preconditioner_kind;
  for (const matrix_ref& given : formats) {
    const plain_csr<double> system = plain<double>(host, to_csr(host, given));
    const std::vector<double> rhs = random_rhs<double>(system.rows);
    for (const preconditioner_kind m : {jacobi, block_jacobi}) {
      for (const spmv_reorder reorder : {spmv_reorder::never, spmv_reorder::always}) {
        SCOPED_TRACE(fmt::format("format {}, {}, reorder {}", static_cast<int>(given.format), name(m), name(reorder)));
        cg_options options;
        options.preconditioner = m;
        options.spmv.reorder = reorder;
        const auto s = solve(cg_solver(ctx(), given, options), rhs);
        EXPECT_EQ(solver_fixture::status_of(s.result), "SUCCESS");
        expect_true_report(system, rhs, s, options);
      }
    }
  }
}

TEST_P(cg_operators_test, a_preconditioner_that_is_not_positive_breaks_down) {
  const shifts a(ctx(), 1000);
  const scaling m(ctx(), 1000, -1);
  const cg_solver solver(a, &m);
  EXPECT_EQ(solver_fixture::status_of(solve(solver, random_rhs<double>(1000)).result), "BREAKDOWN");
}

TEST_P(cg_operators_test, a_residual_that_drifts_is_set_right) {
  // In f32 the recursive residual falls far below the true one: it is not to be believed.
  const auto a = generated<float>("gen:stencil:points=5,n=60,values=spd");
  const std::vector<float> b = random_rhs<float>(a.rows);
  for (const int interval : {-1, 0, 7}) {
    cg_options options;
    options.rtol = 1e-10;
    options.max_iterations = 2000;
    options.replace_interval = interval;
    for_kernels(a, options, [&](const cg_solver& solver) {
      const auto s = solve(solver, b);
      EXPECT_EQ(solver_fixture::status_of(s.result), "NOT_CONVERGED");
      expect_true_report(a, b, s, options);
    });
  }
}

TEST_P(cg_operators_test, what_is_queued_tells_the_truth_where_rounding_is_what_is_left) {
  const plain_csr<float> a = generated<float>("gen:stencil:points=5,n=60,values=spd");
  const std::vector<float> b = random_rhs<float>(a.rows);
  const buffer<float> rhs = to_buffer(ctx(), b);
  for (const double rtol : {1e-6, 3e-7, 1e-7, 1e-9}) {
    cg_options options;
    options.rtol = rtol;
    options.max_iterations = 100;
    options.zero_guess = true;
    for_kernels(a, options, [&](const cg_solver& solver) {
      buffer<float> x(ctx(), b.size());
      buffer<cg_record> record(ctx(), 1);
      solver.enqueue(rhs, x, record.data());
      ctx().synchronize();
      const solved<float> queued{{to_vector(ctx(), record).front(), {}}, to_vector(ctx(), x)};
      expect_true_report(a, b, queued, options);
      if (solver.kernel() != "cg.operations") {
        EXPECT_EQ(queued.result.code, solve(solver, b).result.code);
      }
    });
  }
}

TEST_P(cg_operators_test, values_may_be_narrower_than_vectors) {
  // Numbers that f32 holds make the same matrix, whatever they are stored in: the solutions meet within its condition.
  for (const char* spec : {"gen:stencil:points=5,n=30,values=spd", "gen:fem:dof=3,n=7,values=spd"}) {
    const auto narrow = generated<float>(spec);
    plain_csr<double> wide{narrow.rows, narrow.cols, narrow.rowptr, narrow.colind, {}};
    wide.values.assign(narrow.values.begin(), narrow.values.end());
    const std::vector<double> b = random_rhs<double>(wide.rows);
    for (const preconditioner_kind m : preconditioners()) {
      cg_options options;
      options.preconditioner = m;
      options.rtol = 1e-10;  // which f32 vectors do not reach
      options.spmv.vector_type = scalar_type::f64;
      options.rhs = 2;
      for_kernels(narrow, options, [&](cg_solver& solver) {
        EXPECT_EQ(solver.kernel(), "cg.operations");
        const auto s = solve(solver, b);
        EXPECT_EQ(solver_fixture::status_of(s.result), "SUCCESS") << s.result.residual;
        expect_true_report(wide, b, s, options);
        const buffer<float> values = to_buffer(ctx(), narrow.values);
        solver.update_values(values);
        EXPECT_EQ(solve(solver, b).x, s.x);
      });
    }
    cg_options chosen;
    chosen.rtol = 1e-10;
    chosen.spmv.vector_type = scalar_type::f64;
    const auto s = solve(cg_solver(ctx(), matrix_ref(narrow.view()), chosen), b);
    expect_true_report(wide, b, s, chosen);
    for (const kernel_info& k : kernels(ctx().backend())) {
      if (k.operation != kernel_operation::cg || k.name == "cg.operations") continue;
      cg_options named = chosen;
      named.kernel = k.name;
      expect_error(status::unsupported, k.name, [&] { cg_solver(ctx(), matrix_ref(narrow.view()), named); });
    }
  }
  const auto wide = generated<double>("gen:stencil:points=5,n=5,values=spd");
  cg_options options;
  options.spmv.vector_type = scalar_type::f32;
  expect_error(status::unsupported, "vector_type", [&] { cg_solver(ctx(), matrix_ref(wide.view()), options); });
}

TEST_P(cg_operators_test, refuses_what_it_cannot_solve) {
  const auto a = generated<double>("gen:stencil:points=5,n=5,values=spd");
  const auto with = [&](auto set) {
    return [this, &a, set] {
      cg_options options;
      set(options);
      cg_solver(ctx(), matrix_ref(a.view()), options);
    };
  };
  using options = cg_options;
  expect_error(status::invalid_argument, "rtol", with([](options& o) { o.rtol = -1; }));
  expect_error(status::invalid_argument, "rtol", with([](options& o) { o.rtol = std::nan(""); }));
  expect_error(status::invalid_argument, "atol", with([](options& o) { o.atol = -1; }));
  expect_error(status::invalid_argument, "max_iterations", with([](options& o) { o.max_iterations = -1; }));
  expect_error(status::invalid_argument, "check_interval", with([](options& o) { o.check_interval = -1; }));
  expect_error(status::invalid_argument, "replace_interval", with([](options& o) { o.replace_interval = -2; }));
  expect_error(status::invalid_argument, "block", with([](options& o) { o.block = 9; }));
  expect_error(status::invalid_argument, "degree", with([](options& o) { o.degree = 0; }));
  expect_error(status::invalid_argument, "no solver 'nothing'", with([](options& o) { o.kernel = "nothing"; }));
  expect_error(status::invalid_argument, "transpose", with([](options& o) { o.spmv.transpose = true; }));
  const auto wide = generated<double>("gen:uniform:n=5,cols=7,degree=2");
  expect_error(status::invalid_dimensions, "square", [&] { cg_solver(ctx(), matrix_ref(wide.view())); });
  const auto whole = generated<std::int32_t>("gen:stencil:points=5,n=5,values=integer");
  expect_error(status::unsupported, "i32", [&] { cg_solver(ctx(), matrix_ref(whole.view())); });

  cg_solver solver(ctx(), matrix_ref(a.view()));
  buffer<double> b(ctx(), 25), x(ctx(), 25), few(ctx(), 24);
  buffer<float> single(ctx(), 25);
  expect_error(status::invalid_dimensions, "b has 24", [&] { (void)solver.solve(few, x); });
  expect_error(status::invalid_dimensions, "x has 24", [&] { (void)solver.solve(b, few); });
  expect_error(status::invalid_argument, "b", [&] { (void)solver.solve(single, x); });
  expect_error(status::invalid_argument, "x", [&] { (void)solver.solve(x, x); });
  expect_error(status::null_pointer, "record", [&] { solver.enqueue(b, x, nullptr); });
  expect_error(status::invalid_dimensions, "values", [&] { solver.update_values(b); });
  const shifts operators(ctx(), 25);
  cg_solver of_operators(operators);
  expect_error(status::unsupported, "operators", [&] { of_operators.update_values(b); });
  const shifts larger(ctx(), 26);
  expect_error(status::invalid_dimensions, "M is", [&] { cg_solver(operators, &larger); });
}

}  // namespace
}  // namespace tulle::test

// Every host allocation of every operation fails once, in turn: the call throws OUT_OF_MEMORY (or std::bad_alloc, which
// the C API and the command line turn into it), leaks nothing, and works when tried again.
#include <tulle/tulle.hpp>

#include "kernels/backends.hpp"
#include "support/errors.hpp"
#include "support/failing_new.hpp"
#include "support/files.hpp"
#include "support/spgemm.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

const context& cpu() {
  static const context two_threads = context::cpu(2);
  return two_threads;
}

csr<double> small_matrix() { return generate<double>(cpu(), "gen:fem:n=4"); }

TEST(fault_allocation, matrix_market) {
  const std::string text =
      "%%MatrixMarket matrix coordinate real symmetric\n% comment\n4 4 5\n1 1 2.5\n2 1 -1\n3 3 1e3\n4 2 7\n4 2 1\n";
  fail_each_allocation("parse", [&] { parse_matrix_market<double>(text, "text"); });
  fail_each_allocation("array", [] {
    parse_matrix_market<double>("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "text");
  });
  const temporary_directory directory;
  const csr<double> a = small_matrix();
  for (const char* suffix : {".mtx", ".mtx.gz", ".mtx.zst"}) {
    const std::string file = directory / (std::string("a") + suffix);
    fail_each_allocation("write " + file, [&] { write_matrix_market(file, a.view()); });
    fail_each_allocation("read " + file, [&] { read_matrix_market<double>(file); });
  }
}

TEST(fault_allocation, generators) {
  for (const char* spec :
       {"gen:uniform:n=20", "gen:corner:n=40,size=10", "gen:stencil:n=4", "gen:fem:n=3", "gen:banded:n=30",
        "gen:rmat:scale=5", "gen:short:n=50", "gen:arrow:n=40", "gen:block:n=6,blocks=3", "gen:diagonal:n=9"}) {
    fail_each_allocation(spec, [&] { generate<double>(cpu(), spec); });
  }
}

TEST(fault_allocation, conversions) {
  const csr<double> a = small_matrix();
  const auto view = a.view();
  fail_each_allocation("clone", [&] { clone(cpu(), view); });
  fail_each_allocation("with_offsets", [&] { with_offsets<std::int32_t>(cpu(), view); });
  fail_each_allocation("coo", [&] { to_csr(cpu(), to_coo(cpu(), view).view()); });
  fail_each_allocation("csc", [&] { to_csr(cpu(), to_csc(cpu(), view).view()); });
  fail_each_allocation("ell", [&] { to_csr(cpu(), to_ell(cpu(), view).view()); });
  fail_each_allocation("sell", [&] { to_csr(cpu(), to_sell(cpu(), view, 64).view()); });
  fail_each_allocation("bin_bsr", [&] { to_csr(cpu(), to_bin_bsr(cpu(), view, 3).view()); });
  fail_each_allocation("block_pattern", [&] {
    const std::vector<index_t> ends = {0, 3, 1, 1};
    make_bin_bsr<double>(cpu(), find_block_pattern(cpu(), {4, 4, 4, ends.data(), ends.data(), memory_space::host}));
  });
  fail_each_allocation("bsr", [&] { to_csr(cpu(), to_bsr(cpu(), view, 3).view()); });
}

TEST(fault_allocation, matrix_operations) {
  const csr<double> a = small_matrix();
  const std::vector<double> factors(static_cast<std::size_t>(std::max(a.rows, a.cols)), 2);
  const auto first = [&](index_t n) { return host_span<const double>(factors.data(), static_cast<std::size_t>(n)); };
  fail_each_allocation("add", [&] { add(cpu(), 2, a, 3, a); });
  fail_each_allocation("transpose", [&] { transpose(cpu(), matrix_ref(a)); });
  fail_each_allocation("scale_rows", [&] { scale_rows(cpu(), a, first(a.rows)); });
  fail_each_allocation("extract", [&] { extract(cpu(), a, {0, a.rows}, {0, a.cols}); });
  fail_each_allocation("sum_duplicates", [&] { sum_duplicates(cpu(), a); });
  fail_each_allocation("identity", [&] { identity(cpu(), 5, scalar_type::i32); });
}

TEST(fault_allocation, orders) {
  const csr<double> a = generate<double>(cpu(), "gen:stencil:points=5,n=6");
  const matrix_ref wide = extract(cpu(), a, {0, a.rows}, {0, a.cols / 2});
  for (const ordering how : orderings()) {
    fail_each_allocation("order " + std::string(name(how)), [&] { (void)order(cpu(), a, how); });
  }
  const permutation p = order(cpu(), a, ordering::random);
  fail_each_allocation("permutation", [&] { EXPECT_TRUE(p.then(p.inverse()).is_identity()); });
  fail_each_allocation("permute", [&] { permute(cpu(), a, p, p); });
  expect_no_allocations("measure_order", [&] { measure_order(cpu(), a); });
  fail_each_allocation("match_diagonal", [&] { (void)match_diagonal(cpu(), a); });
  spmv_options options;
  options.reorder = spmv_reorder::always;
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(x.size()), z(x.size());
  fail_each_allocation("a plan with orders of rows and of columns", [&] { any_spmv_plan(cpu(), wide, options); });
  fail_each_allocation("a plan in another order", [&] { any_spmv_plan(cpu(), a, options).update_values(); });
  any_spmv_plan plan(cpu(), a, options);
  double dots[2];
  expect_no_allocations("calls of a plan in another order", [&] {
    plan.apply(2, x, 0, y);
    plan.apply_dots(1, y, 0, z, x, vector_ref(scalar_type::f64, dots, 2, memory_space::host));
    plan.jacobi(0.5, y, x, x, z);
  });
}

TEST(fault_allocation, inspection) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  expect_no_allocations("statistics", [&] { statistics(cpu(), a.view()); });
  expect_no_allocations("validate", [&] { validate(cpu(), a.view(), {true, true, true}); });
  fail_each_allocation("reference_spmv", [&] {
    reference_spmv<double, std::int64_t>(cpu(), 1, a.view(), host_span<const double>(x), 0, {});
  });
}

TEST(fault_allocation, plans) {
  const csr<double> a = small_matrix();
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  std::vector<spmv_options> all{{}, with_effort(spmv_effort::none, true), with_effort(spmv_effort::standard, true)};
  for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cpu)) all.push_back(with_kernel(kernel.name));
  for (const spmv_options& options : all) {
    SCOPED_TRACE(name(options.effort));
    fail_each_allocation(options.transpose ? "transposed" : "plan " + options.kernel, [&] {
      spmv_plan<double> plan(cpu(), a, options);
      plan.apply(1, x, 0, y);
      plan.update_values(a.values.host());
      EXPECT_FALSE(plan.explain().empty());
    });
  }
}

TEST(fault_allocation, products) {
  const csr<double> a = generate<double>(cpu(), "gen:fem:n=2");
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    const spgemm_options options{.kernel = kernel};
    fail_each_allocation("A B", [&] { spgemm(cpu(), a, a, options); });
    fail_each_allocation("R A P", [&] { triple_product(cpu(), a, a, a, options); });
    fail_each_allocation("estimate", [&] { estimate_spgemm(cpu(), a, a, options); });
    const csr<double> rows = generate<double>(cpu(), "gen:stencil:points=7,n=6");
    spgemm_options limited = options;
    spgemm_plan<double> whole(cpu(), rows.view(), rows.view(), options);
    whole.multiply();
    limited.memory_limit = whole.workspace_bytes() * 3 / 4;  // a few panels
    fail_each_allocation("A B by panels", [&] {
      spgemm_plan<double> plan(cpu(), rows.view(), rows.view(), limited);
      plan.multiply();
      EXPECT_NE(plan.explain().find("panels"), std::string::npos) << plan.explain();
    });
  }
}

/// A matrix whose first row is out of order, so that B, M and D are sorted in copies.
csr<double> unsorted(const char* spec) {
  csr<double> a = generate<double>(cpu(), spec);
  std::swap(a.colind.data()[0], a.colind.data()[1]);
  return a;
}

TEST(fault_allocation, product_plans) {
  const csr<double> a = unsorted("gen:fem:n=2");
  for (const bool with_mask : {false, true}) {
    for (const bool transposes : {false, true}) {
      spgemm_terms terms{.d = a.view()};
      if (with_mask) terms.mask = a.view();
      fail_each_allocation("product plan", [&] {
        spgemm_plan<double> plan(cpu(), a.view(), a.view(), {.transpose_a = transposes, .transpose_b = transposes},
                                 terms);
        matrix_ref c = plan.multiply(2, 3);
        plan.numeric(c, 1, -1);
        const csr<double> other = clone(cpu(), a.view());
        plan.update_values(other.values, other.values, other.values);
        plan.multiply(1, 1);
      });
    }
  }
}

/// A call of a plan that runs out of memory leaves a plan that works. `product` makes a plan, gives the part of it that
/// is to fail to its argument, and returns the values of the C that the plan makes then.
template <class Product>
void expect_goes_on(const std::vector<double>& expected, const Product& product) {
  bool reached = false;
  std::int64_t skip = 0, ran_out = 0;
  do {
    const std::vector<double> values = product([&](const std::function<void()>& part) {
      outcome result;
      give_back_kept_blocks();
      std::tie(result, reached) = run_failing(skip, part);
      EXPECT_NE(result, outcome::other);  // what the part itself gave back may make up for it
      ran_out += result == outcome::out_of_memory ? 1 : 0;
      if (!reached) EXPECT_EQ(result, outcome::done);
    });
    EXPECT_EQ(values, expected);
    ++skip;
  } while (reached);
  EXPECT_GT(2 * ran_out, skip) << "most allocations that fail are told of";
}

TEST(fault_allocation, product_plan_goes_on) {
  const csr<double> a = small_matrix();
  for (const bool with_mask : {false, true}) {
    spgemm_terms terms{.d = a.view()};
    if (with_mask) terms.mask = a.view();
    const matrix_ref expected = spgemm_plan<double>(cpu(), a.view(), a.view(), {}, terms).multiply(2, 3);
    expect_goes_on(values_of(cpu(), expected), [&](const auto& fail) {
      spgemm_plan<double> plan(cpu(), a.view(), a.view(), {}, terms);
      fail([&] { plan.multiply(2, 3); });
      return values_of(cpu(), plan.multiply(2, 3));
    });
  }
}

/// With other values, in a C that is there.
TEST(fault_allocation, product_plan_goes_on_with_other_values) {
  const csr<double> a = small_matrix(), other = clone(cpu(), a.view());
  for (const char* kernel : {"gustavson", "kernel0"}) {
    SCOPED_TRACE(kernel);
    expect_goes_on(values_of(cpu(), spgemm(cpu(), a, a, {.kernel = kernel})), [&](const auto& fail) {
      spgemm_plan<double> plan(cpu(), a.view(), a.view(), {.kernel = kernel});
      matrix_ref c = plan.multiply(3);
      plan.update_values(other.values, other.values);
      fail([&] { plan.multiply(); });
      plan.numeric(c);
      return values_of(cpu(), c);
    });
  }
}

TEST(fault_allocation, numeric_allocates_nothing) {
  const csr<double> a = unsorted("gen:fem:n=4");
  for (int which = 0; which < 8; ++which) {
    spgemm_terms terms;
    if (which & 1) terms.mask = a.view();
    if (which & 2) terms.d = a.view();
    spgemm_plan<double> plan(cpu(), a.view(), a.view(), {.transpose_b = (which & 4) != 0}, terms);
    matrix_ref c = plan.multiply();
    plan.numeric(c);  // the threads are started here
    expect_no_allocations("terms " + std::to_string(which), [&] {
      plan.update_values(a.values, a.values);
      plan.numeric(c, 2.5, which & 2 ? -1 : 0);
    });
  }
}

TEST(fault_allocation, apply_allocates_nothing) {
  const csr<double> a = small_matrix();
  std::vector<double> x(static_cast<std::size_t>(a.cols) * 5, 1), y(static_cast<std::size_t>(a.rows) * 5);
  const host_span<const double> one_x(x.data(), static_cast<std::size_t>(a.cols));
  const host_span<double> one_y(y.data(), static_cast<std::size_t>(a.rows));
  for (const spmv_kernel& kernel : spmv_kernels(backend_kind::cpu)) {
    const std::string name(kernel.name);
    spmv_plan<double> plan(cpu(), a, with_kernel(name));
    plan.apply(1, one_x, 0, one_y);  // the threads are started here
    expect_no_allocations(name, [&] { plan.apply(2.5, one_x, -1, one_y); });
    if (!plan.can(operation::apply_many)) continue;
    for (const auto order : {vector_order::row_major, vector_order::column_major}) {
      const std::int64_t ld = order == vector_order::row_major ? 5 : a.rows;
      const multivector_view<const double> in{a.cols, 5, ld, order, x.data(), memory_space::host};
      const multivector_view<double> out{a.rows, 5, ld, order, y.data(), memory_space::host};
      plan.apply_many(1, in, 0, out);
      expect_no_allocations(name + ", 5 vectors", [&] { plan.apply_many(2.5, in, -1.0, out); });
    }
  }
}

TEST(fault_allocation, solvers) {
  const csr<double> a = generate<double>(cpu(), "gen:fem:n=4,values=spd");
  const std::vector<double> b(static_cast<std::size_t>(a.rows), 1);
  std::vector<double> x(b.size());
  using enum preconditioner_kind;
  for (const preconditioner_kind m : {none, jacobi, block_jacobi, chebyshev}) {
    for (const kernel_info& k : kernels(backend_kind::cpu)) {
      if (k.operation != kernel_operation::cg) continue;
      cg_options options;
      options.preconditioner = m;
      options.kernel = k.name;
      options.zero_guess = true;
      const std::string what = std::string(k.name) + " with " + std::string(name(m));
      if (status_of([&] { cg_solver(cpu(), a, options); }) == status::unsupported) continue;
      fail_each_allocation("make " + what, [&] { cg_solver(cpu(), a, options); });
      cg_solver solver(cpu(), a, options);
      const auto update = [&] { solver.update_values(a.values); };
      if (m == none || k.name == "cg.fused") {
        expect_no_allocations("update " + what, update);
      } else {
        fail_each_allocation("update " + what, update);
      }
      expect_no_allocations("solve " + what, [&] { EXPECT_TRUE(solver.solve(b, x).converged()); });
      cg_record record;
      expect_no_allocations("enqueue " + what, [&] { solver.enqueue(b, x, &record); });
    }
  }
  cg_options reordered;
  reordered.spmv.reorder = spmv_reorder::always;
  reordered.zero_guess = true;
  fail_each_allocation("make cg in another order", [&] { cg_solver(cpu(), a, reordered); });
  const cg_solver in_order(cpu(), a, reordered);
  expect_no_allocations("solve in another order", [&] { EXPECT_TRUE(in_order.solve(b, x).converged()); });
  cg_options mixed;
  mixed.precision = solver_precision::mixed;
  mixed.zero_guess = true;
  fail_each_allocation("make cg in mixed precision", [&] { cg_solver(cpu(), a, mixed); });
  const cg_solver in_f32(cpu(), a, mixed);
  expect_no_allocations("solve in mixed precision", [&] { EXPECT_TRUE(in_f32.solve(b, x).converged()); });
  fail_each_allocation("jacobi", [&] { solve_jacobi(cpu(), a, b, x); });
  for (const jacobi_form form : {jacobi_form::plain, jacobi_form::rows, jacobi_form::symmetric}) {
    jacobi_options options;
    options.form = form;
    options.match = form == jacobi_form::symmetric;
    options.precision = form == jacobi_form::rows ? solver_precision::mixed : solver_precision::uniform;
    fail_each_allocation("make jacobi", [&] { jacobi_solver(cpu(), a, options); });
    const jacobi_solver solver(cpu(), a, options);
    expect_no_allocations("solve by jacobi", [&] { (void)solver.solve(b, x); });
  }
}

TEST(fault_allocation, batches) {
  const csr<double> a = generate<double>(cpu(), "gen:fem:n=4,values=spd");
  const std::vector<matrix_ref> twice{a, a};
  const std::vector<double> b(2 * static_cast<std::size_t>(a.rows), 1);
  std::vector<double> x(b.size());
  using enum preconditioner_kind;
  for (const preconditioner_kind m : {none, jacobi, block_jacobi}) {
    cg_options options;
    options.preconditioner = m;
    options.zero_guess = true;
    fail_each_allocation("make a batch of one pattern", [&] { cg_batch(cpu(), a, 1, options); });
    fail_each_allocation("make a batch of several", [&] { cg_batch(cpu(), twice, options); });
    cg_batch batch(cpu(), twice, options);
    std::vector<double> values(static_cast<std::size_t>(batch.value_count()), 0);
    std::copy_n(a.values.data(), a.values.size(), std::copy_n(a.values.data(), a.values.size(), values.begin()));
    expect_no_allocations("update a batch", [&] { batch.update_values(values); });
    fail_each_allocation("solve a batch", [&] { (void)batch.solve(b, x); });
    std::vector<cg_record> records(2);
    expect_no_allocations("enqueue a batch", [&] { batch.enqueue(b, x, records.data()); });
    for (const cg_record& r : records) EXPECT_EQ(r.code, 0);
  }
}

}  // namespace
}  // namespace tulle::test

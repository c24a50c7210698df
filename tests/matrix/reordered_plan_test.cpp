// Plans that keep rows and columns in another order than A's: the orders, vectors in them, and when there is one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <tulle/tulle.hpp>

#include "ops/reordering.hpp"
#include "plan/find_kernel.hpp"
#include "support/backends.hpp"
#include "support/counting_memory.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/plain_csr.hpp"
#include "support/random.hpp"

namespace tulle::test {
namespace {

using vec = std::vector<double>;

std::vector<index_t> shuffled_numbers(index_t n) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(5));
  return order;
}

class reordered_plan_test : public on_backend {
 protected:
  /// A generated matrix whose unknowns were numbered at random.
  [[nodiscard]] matrix_ref renumbered(const char* spec) const {
    const matrix_ref a(generate<double>(context::cpu(2), spec));
    return permute_symmetric(ctx(), a, permutation(ctx(), shuffled_numbers(a.rows)));
  }
  [[nodiscard]] any_spmv_plan plan(const matrix_ref& a, spmv_reorder reorder = spmv_reorder::always,
                                   spmv_effort effort = spmv_effort::standard) const {
    spmv_options options;
    options.reorder = reorder;
    options.effort = effort;
    return {ctx(), a, options};
  }
  [[nodiscard]] vec apply(const linear_operator& op, const vec& x) const {
    buffer<double> y(ctx(), static_cast<std::size_t>(op.dimensions().rows));
    op.apply(1, to_buffer(ctx(), x), 0, y);
    return to_vector(ctx(), y);
  }
  [[nodiscard]] static vec numbers(index_t n) {
    vec x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 / (1.0 + static_cast<double>(i));
    return x;
  }
  void expect_product(const matrix_ref& a, const vec& x, const vec& y) const {
    const plain_csr<double> host = plain<double>(ctx(), a);
    EXPECT_LE(error_ratio<double>(reference_spmv<double>(context::cpu(2), 1, host.view(), x, 0, {}), y), 1);
  }
};
TULLE_ON_BOTH_BACKENDS(reordered_plan_test);

TEST_P(reordered_plan_test, its_orders_are_permutations_that_bring_rows_together) {
  const matrix_ref a = renumbered("gen:stencil:points=5,n=60");
  const any_spmv_plan reordered = plan(a);
  ASSERT_NE(reordered.row_order(), nullptr);
  EXPECT_EQ(reordered.row_order(), reordered.column_order()) << "of a square matrix they are the same";
  const matrix_ref own = permute_symmetric(ctx(), a, *reordered.row_order());
  EXPECT_LE(statistics(ctx(), own.as<double, std::int32_t>()).bandwidth, 3 * 60);
  EXPECT_EQ(plan(a, spmv_reorder::never).row_order(), nullptr);
}

TEST_P(reordered_plan_test, applies_to_vectors_in_the_callers_order_and_in_its_own) {
  const matrix_ref a = renumbered("gen:fem:dof=3,n=6");
  const any_spmv_plan reordered = plan(a);
  const vec x = numbers(a.cols);
  const vec y = apply(reordered, x);
  expect_product(a, x, y);

  const linear_operator& own = reordered.in_own_order();
  EXPECT_EQ(own.dimensions(), a.dimensions());
  const buffer<double> given = to_buffer(ctx(), x);
  buffer<double> own_x(ctx(), x.size()), own_y(ctx(), y.size()), back(ctx(), y.size());
  reordered.column_order()->apply(given, own_x);
  own.apply(1, own_x, 0, own_y);
  reordered.row_order()->apply_inverse(own_y, back);
  EXPECT_EQ(to_vector(ctx(), back), y) << "the same kernel adds the same products in the same order";
  EXPECT_EQ(own.can(operation::apply_dots), reordered.can(operation::apply_dots));

  const any_spmv_plan plain = plan(a, spmv_reorder::never);
  EXPECT_EQ(&plain.in_own_order(), &plain);
}

TEST_P(reordered_plan_test, rows_and_columns_have_orders_of_their_own_where_a_is_not_square) {
  // A band whose rows and columns were shuffled apart.
  const matrix_ref band(generate<double>(context::cpu(2), "gen:banded:n=3000,width=7"));
  const matrix_ref wide = extract(ctx(), band, {0, 3000}, {0, 2000});
  const matrix_ref a = permute(ctx(), wide, permutation(ctx(), shuffled_numbers(wide.rows)),
                               permutation(ctx(), shuffled_numbers(wide.cols)));
  const any_spmv_plan reordered = plan(a);
  ASSERT_NE(reordered.row_order(), nullptr);
  EXPECT_EQ(reordered.row_order()->size(), 3000);
  EXPECT_EQ(reordered.column_order()->size(), 2000);
  const vec x = numbers(a.cols);
  expect_product(a, x, apply(reordered, x));
  const matrix_ref own = permute(ctx(), a, *reordered.row_order(), *reordered.column_order());
  const auto spread = [&](const matrix_ref& m) { return statistics(ctx(), m.as<double, std::int32_t>()).gather_span; };
  EXPECT_LT(spread(own), spread(a) / 4);
}

TEST_P(reordered_plan_test, the_transpose_has_the_orders_the_other_way_round) {
  const matrix_ref band(generate<double>(context::cpu(2), "gen:banded:n=900,width=5"));
  const matrix_ref a = extract(ctx(), band, {0, 900}, {0, 500});
  for (const char* kernel : {"", "csr.transposed"}) {
    SCOPED_TRACE(kernel);
    spmv_options options;
    options.kernel = kernel;
    options.transpose = true;
    options.reorder = spmv_reorder::always;
    const any_spmv_plan reordered(ctx(), a, options);
    EXPECT_EQ(reordered.row_order()->size(), 500);
    EXPECT_EQ(reordered.column_order()->size(), 900);
    const vec x = numbers(900);
    expect_product(transpose(ctx(), a).matrix, x, apply(reordered, x));
  }
}

TEST_P(reordered_plan_test, blocks_stay_together) {
  constexpr index_t block = 3;
  const matrix_ref a(generate<double>(context::cpu(2), "gen:fem:dof=3,n=7"));
  std::vector<index_t> order;
  for (const index_t b : shuffled_numbers(a.rows / block)) {
    for (index_t i = 0; i < block; ++i) order.push_back(b * block + i);
  }
  const matrix_ref nodes = permute_symmetric(ctx(), a, permutation(ctx(), order));
  const matrix_ref in_blocks(to_bsr(ctx(), nodes.as<double, std::int32_t>(), block));
  for (const matrix_ref& given : {nodes, in_blocks}) {
    const any_spmv_plan reordered = plan(given);
    const std::vector<index_t> own = reordered.row_order()->to_vector();
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(own[i], own[i - i % block] + static_cast<index_t>(i % block));
    const vec x = numbers(a.rows);
    expect_product(nodes, x, apply(reordered, x));
  }
}

TEST_P(reordered_plan_test, matrices_without_rows_columns_or_entries_have_orders_too) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {4, 4}, {1, 1}}) {
    plain_csr<double> empty{0, cols};
    for (int r = 0; r < rows; ++r) empty.add_row({});
    const any_spmv_plan reordered = plan(matrix_ref(empty.view()));
    EXPECT_EQ(reordered.row_order()->size(), rows);
    EXPECT_EQ(apply(reordered, vec(static_cast<std::size_t>(cols), 1)), vec(static_cast<std::size_t>(rows)));
  }
}

TEST_P(reordered_plan_test, applying_takes_no_memory) {
  const auto memory = std::make_shared<counting_memory>(ctx());
  const context counted = ctx().with_memory(memory);
  const matrix_ref a = renumbered("gen:stencil:points=7,n=20");
  for (const kernel_info& k : kernels(ctx().backend())) {
    if (k.operation != kernel_operation::spmv || k.role != kernel_role::production) continue;
    SCOPED_TRACE(k.name);
    spmv_options options;
    options.kernel = k.name;
    options.reorder = spmv_reorder::always;
    const any_spmv_plan reordered(counted, a, options);
    const auto n = static_cast<std::size_t>(a.rows);
    constexpr index_t vectors = 6;
    buffer<double> x(ctx(), vectors * n), y(ctx(), vectors * n), w(ctx(), n), dots(ctx(), 2);
    vector_ops(ctx()).fill(1, x);
    vector_ops(ctx()).fill(1, w);
    const std::size_t before = memory->allocations();
    const const_vector_ref one_x(scalar_type::f64, x.data(), a.rows, ctx().space());
    const vector_ref one_y(scalar_type::f64, y.data(), a.rows, ctx().space());
    reordered.apply(2, one_x, 0, one_y);
    reordered.apply(2, one_x, 1, one_y);
    if (reordered.can(operation::apply_dots)) reordered.apply_dots(1, one_x, 1, one_y, w, dots);
    if (reordered.can(operation::jacobi)) reordered.jacobi(0.5, one_x, w, w, one_y);
    if (reordered.can(operation::apply_many)) {
      const auto many = [&](buffer<double>& v) {
        return multivector_ref(scalar_type::f64, a.rows, vectors, a.rows, vector_order::column_major, v.data(),
                               ctx().space());
      };
      reordered.apply_many(1, many(x), 0, many(y));
    }
    ctx().synchronize();
    EXPECT_EQ(memory->allocations(), before);
    EXPECT_GT(reordered.workspace_bytes(), 2 * n * sizeof(double));
  }
}

TEST_P(reordered_plan_test, applying_can_be_captured) {
  if (ctx().backend() == backend_kind::cpu) GTEST_SKIP() << "a CPU has no graphs";
  const matrix_ref a = renumbered("gen:stencil:points=7,n=12");
  const any_spmv_plan reordered = plan(a);
  const auto n = static_cast<std::size_t>(a.rows);
  const buffer<double> x = to_buffer(ctx(), random_numbers(n, 1)), w = to_buffer(ctx(), random_numbers(n, 2)),
                       y0 = to_buffer(ctx(), random_numbers(n, 3));
  buffer<double> y(ctx(), n), z(ctx(), n), dots(ctx(), 2);
  const auto work = [&] {
    copy_bytes(ctx(), y.data(), ctx().space(), y0.data(), ctx().space(), y.bytes());
    reordered.apply(2, x, -1, y);
    reordered.apply_dots(1, y, 0, z, w, dots);
    reordered.jacobi(0.5, z, w, x, y);
  };
  const auto outcome = [&] {
    ctx().synchronize();
    return std::tuple(to_vector(ctx(), y), to_vector(ctx(), z), to_vector(ctx(), dots));
  };
  work();
  const auto want = outcome();
  const graph g(ctx(), work);
  for (int again = 0; again < 2; ++again) {
    vector_ops(ctx()).fill(0, y);
    g.launch();
    EXPECT_EQ(outcome(), want);
  }
}

/// Vectors that are larger than a cache take two steps on a device; the bits are those of one.
TEST_P(reordered_plan_test, an_order_in_two_steps_gives_what_one_step_does) {
  const matrix_ref a = renumbered("gen:stencil:points=7,n=15");
  const permutation order(ctx(), shuffled_numbers(a.rows));
  const matrix_ref own = permute_symmetric(ctx(), a, order);
  const csr_stats stats = statistics(ctx(), own.as<double, std::int32_t>());
  const auto n = static_cast<std::size_t>(a.rows);
  const buffer<double> x = to_buffer(ctx(), random_numbers(n, 1)), w = to_buffer(ctx(), random_numbers(n, 2)),
                       d = to_buffer(ctx(), random_numbers(n, 3));
  for (const char* name : {"packed", "csr5", "csr.stream", "csr.balanced"}) {
    SCOPED_TRACE(name);
    const spmv_kernel* kernel = spmv_kernel_for(ctx().backend(), name, types_of(own, {}));
    if (kernel == nullptr) continue;
    const auto op = kernel->make(ctx(), own, stats, {});
    constexpr double long_rows = 1000;  // which the kernel stores itself
    const auto results = [&](std::size_t cache) {
      detail::reordering way(ctx(), {order.on(ctx())}, scalar_type::f64, cache);
      way.make_room(*op, long_rows, true);
      std::vector<vec> out;
      buffer<double> y = to_buffer(ctx(), random_numbers(n, 4)), dots(ctx(), 2);
      const vector_ref to_dots(dots);
      way.apply(*op, 2, x.data(), 0, y.data(), ctx().stream());
      out.push_back(to_vector(ctx(), y));
      way.apply(*op, 2, x.data(), -1, y.data(), ctx().stream());
      out.push_back(to_vector(ctx(), y));
      for (const double beta : {0.0, 0.5}) {
        way.apply_dots(*op, 1, x.data(), beta, y.data(), w.data(), to_dots, ctx().stream());
        out.push_back(to_vector(ctx(), y));
        out.push_back(to_vector(ctx(), dots));
      }
      way.apply_jacobi(*op, 0.5, x.data(), w.data(), d.data(), y.data(), ctx().stream());
      out.push_back(to_vector(ctx(), y));
      return out;
    };
    const std::vector<vec> one = results(std::numeric_limits<std::size_t>::max()), two = results(0);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i], two[i]) << i;
    expect_product(a, to_vector(ctx(), x), [&] {
      vec half = one.front();
      for (double& v : half) v /= 2;
      return half;
    }());
  }
}

TEST_P(reordered_plan_test, new_values_follow) {
  const matrix_ref a = renumbered("gen:stencil:points=5,n=30");
  any_spmv_plan reordered = plan(a);
  plain_csr<double> other = plain<double>(ctx(), a);
  other.values = random_numbers(other.values.size(), 3);
  reordered.update_values(other.values);
  const vec x = numbers(a.cols);
  expect_product(matrix_ref(other.on(ctx())), x, apply(reordered, x));
}

TEST_P(reordered_plan_test, what_decides_is_told) {
  const temporary_directory cache;
  const environment_variable cache_directory{"TULLE_CACHE_DIR", cache.path()};
  EXPECT_NE(plan(renumbered("gen:stencil:points=5,n=40")).explain().find("in reverse Cuthill-McKee order"),
            std::string::npos);
  const matrix_ref mesh(generate<double>(context::cpu(2), "gen:stencil:points=7,n=20"));
  EXPECT_NE(plan(mesh, spmv_reorder::automatic).explain().find("reorder auto acts at effort max"), std::string::npos);
  const any_spmv_plan natural = plan(mesh, spmv_reorder::automatic, spmv_effort::max);
  EXPECT_NE(natural.explain().find("in A's order: "), std::string::npos) << natural.explain();
  EXPECT_EQ(natural.row_order(), nullptr);
  const matrix_ref random(generate<double>(context::cpu(2), "gen:uniform:n=20000,degree=8"));
  EXPECT_EQ(plan(random, spmv_reorder::automatic, spmv_effort::max).row_order(), nullptr) << "no order is hidden";
}

TEST_P(reordered_plan_test, the_order_may_be_named_or_given) {
  const matrix_ref a = renumbered("gen:stencil:points=5,n=25");
  const vec x = numbers(a.cols);
  const auto reordered = [&](const matrix_ref& m, order_choice how, spmv_reorder when = spmv_reorder::always) {
    spmv_options options;
    options.reorder = when;
    options.reorder_method = std::move(how);
    return any_spmv_plan(ctx(), m, options);
  };
  for (const ordering o : orderings()) {
    SCOPED_TRACE(name(o));
    const any_spmv_plan made = reordered(a, o);
    EXPECT_EQ(made.row_order()->to_vector(), order(ctx(), a, o).to_vector());
    expect_product(a, x, apply(made, x));
    if (o == ordering::rcm) continue;
    EXPECT_NE(made.explain().find(fmt::format("in {} order", name(o))), std::string::npos) << made.explain();
  }
  const std::vector<index_t> own = shuffled_numbers(a.rows);
  EXPECT_EQ(reordered(a, own).row_order()->to_vector(), own);
  expect_product(a, x, apply(reordered(a, own), x));

  const auto refused = [&](status code, const char* words, const matrix_ref& m, const order_choice& how,
                           spmv_reorder when = spmv_reorder::always) {
    expect_error(code, words, [&] { (void)reordered(m, how, when); });
  };
  refused(status::invalid_argument, "reorder_method: reorder is never", a, ordering::rcm, spmv_reorder::never);
  for (const spmv_reorder when : {spmv_reorder::automatic, spmv_reorder::always}) {
    refused(status::invalid_dimensions, "order is of 2 rows, A has 625", a, std::vector<index_t>{1, 0}, when);
    const matrix_ref wide = extract(ctx(), a, {0, 600}, {0, 625});
    refused(status::invalid_dimensions, "A is 600 x 625: degree order is of a square matrix", wide, ordering::degree,
            when);
    EXPECT_EQ(apply(reordered(wide, ordering::rcm, when), x).size(), 600u);
  }
  std::vector<index_t> twice = own;
  twice[3] = twice[2];
  refused(status::invalid_argument, "order[3]", a, twice);
}

TEST_P(reordered_plan_test, named_orders_keep_blocks_together) {
  constexpr index_t block = 3;
  const matrix_ref given(generate<double>(context::cpu(2), "gen:fem:dof=3,n=5"));
  const matrix_ref a = permute_symmetric(ctx(), given, permutation::identity(ctx(), given.rows));
  const matrix_ref blocks(to_bsr(ctx(), a.as<double, std::int32_t>(), block));
  for (const ordering o : orderings()) {
    SCOPED_TRACE(name(o));
    spmv_options options;
    options.reorder = spmv_reorder::always;
    options.reorder_method = o;
    const any_spmv_plan made(ctx(), blocks, options);
    const std::vector<index_t> own = made.row_order()->to_vector();
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(own[i], own[i - i % block] + static_cast<index_t>(i % block));
    const vec x = numbers(a.cols);
    expect_product(a, x, apply(made, x));
  }
}

TEST_P(reordered_plan_test, auto_looks_at_blocks_too) {
  const temporary_directory cache;
  const environment_variable cache_directory{"TULLE_CACHE_DIR", cache.path()};
  const matrix_ref a(generate<double>(context::cpu(2), "gen:fem:dof=2,n=12"));
  std::vector<index_t> order;
  for (const index_t b : shuffled_numbers(a.rows / 2)) order.insert(order.end(), {2 * b, 2 * b + 1});
  const matrix_ref nodes = permute_symmetric(ctx(), a, permutation(ctx(), order));
  const any_spmv_plan made =
      plan(matrix_ref(to_bsr(ctx(), nodes.as<double, std::int32_t>(), 2)), spmv_reorder::automatic, spmv_effort::max);
  EXPECT_NE(made.explain().find("reverse Cuthill-McKee order"), std::string::npos) << "timed: " << made.explain();
  const vec x = numbers(a.cols);
  expect_product(nodes, x, apply(made, x));
}

TEST_P(reordered_plan_test, an_option_out_of_range_is_named) {
  EXPECT_EQ(status_of([&] { (void)plan(renumbered("gen:stencil:points=5,n=5"), spmv_reorder{3}); }),
            status::invalid_argument);
}

}  // namespace
}  // namespace tulle::test

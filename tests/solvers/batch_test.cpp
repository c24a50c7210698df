// Batches of small systems: each is solved, and ends, for itself.
#include "solver_fixture.hpp"

namespace tulle::test {
namespace {

/// Systems in a row, as a batch takes them.
template <class T>
struct several {
  std::vector<plain_csr<T>> a;
  std::vector<std::vector<T>> b;
  std::vector<std::vector<T>> guess;  // empty: zeros

  void add(const plain_csr<T>& matrix, std::vector<T> rhs, std::vector<T> x = {}) {
    x.resize(rhs.size());
    a.push_back(matrix);
    b.push_back(std::move(rhs));
    guess.push_back(std::move(x));
  }
  void add(const std::string& spec) {
    const plain_csr<T> matrix = generated<T>(spec);
    add(matrix, random_rhs<T>(matrix.rows, a.size() + 1));
  }
  [[nodiscard]] std::vector<matrix_ref> refs() const {
    std::vector<matrix_ref> out;
    for (const auto& m : a) out.emplace_back(m.view());
    return out;
  }
};

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class cg_batch_test : public solver_fixture {
 protected:
  template <class T>
  std::vector<solved<T>> solve_batch(const cg_batch& batch, const several<T>& systems) {
    const buffer<T> b = to_buffer(ctx(), joined(systems.b));
    buffer<T> x = to_buffer(ctx(), joined(systems.guess));
    const std::vector<cg_result> results = batch.solve(b, x);
    const std::vector<T> all = to_vector(ctx(), x);
    EXPECT_EQ(results.size(), systems.b.size());
    std::vector<solved<T>> out;
    auto at = all.begin();
    for (std::size_t i = 0; i < results.size(); ++i) {
      out.push_back({results[i], {at, at + static_cast<std::ptrdiff_t>(systems.b[i].size())}});
      at += static_cast<std::ptrdiff_t>(systems.b[i].size());
    }
    return out;
  }
  template <class T>
  void expect_solved(const cg_batch& batch, const several<T>& systems, const cg_options& options) {
    const auto all = solve_batch(batch, systems);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(status_of(all[i].result), "SUCCESS") << all[i].result.residual << " after " << all[i].result.iterations;
      expect_true_report(systems.a[i], systems.b[i], all[i], options);
    }
  }
  static std::vector<cg_options> all_options(double rtol) {
    using enum preconditioner_kind;
    std::vector<cg_options> out;
    for (const auto& [kind, block] : {std::pair{none, 0}, {jacobi, 0}, {block_jacobi, 0}, {block_jacobi, 5}}) {
      cg_options& o = out.emplace_back();
      o.preconditioner = kind;
      o.block = block;
      o.rtol = rtol;
    }
    return out;
  }
};
TULLE_ON_SOLVERS(cg_batch_test);

TEST_P(cg_batch_test, systems_of_any_sizes_are_solved) {
  for_types<float, double>([&]<class T>() {
    several<T> systems;
    systems.add("gen:stencil:points=5,n=7,values=spd");
    systems.add(plain_csr<T>{}, {});
    systems.add("gen:fem:dof=3,n=4,values=spd");
    systems.add(diagonal_matrix<T>({4}), {2});
    systems.add("gen:banded:n=777,width=9,values=spd");
    systems.add("gen:diagonal:n=33,values=spd");
    systems.add("gen:stencil:points=7,n=10,values=spd");
    systems.add("gen:arrow:n=300,dense=1,columns=1,values=spd");
    systems.add("gen:fem:dof=6,n=5,values=spd");  // does not fit the shared memory of a multiprocessor
    for (const cg_options& o : all_options(std::is_same_v<T, float> ? 1e-4 : 1e-10)) {
      SCOPED_TRACE(fmt::format("{} {}", name(o.preconditioner), o.block));
      const cg_batch batch(ctx(), systems.refs(), o);
      EXPECT_EQ(batch.count(), 9);
      expect_solved(batch, systems, o);
      EXPECT_NE(batch.explain().find("9 systems"), std::string::npos) << batch.explain();
    }
  });
}

/// `count` systems with the pattern of `spec` and more and more on the diagonal.
template <class T>
several<T> of_one_pattern(const std::string& spec, int count) {
  several<T> systems;
  for (int i = 0; i < count; ++i) {
    plain_csr<T> a = generated<T>(spec);
    for (index_t r = 0; r < a.rows; ++r) {
      for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
        if (a.colind[k] == r) a.values[k] += static_cast<T>(i);
      }
    }
    systems.add(a, random_rhs<T>(a.rows, static_cast<std::uint64_t>(i) + 1));
  }
  return systems;
}
template <class T>
std::vector<T> values_of(const several<T>& systems) {
  std::vector<T> all;
  for (const auto& a : systems.a) all.insert(all.end(), a.values.begin(), a.values.end());
  return all;
}
template <class T>
csr_view<T, std::int64_t> with_values(const plain_csr<T>& a, const std::vector<T>& values) {
  csr_view<T, std::int64_t> view = a.view();
  view.values = values.data();
  return view;
}

TEST_P(cg_batch_test, systems_of_one_pattern_are_solved_as_each_with_its_own) {
  for_types<float, double>([&]<class T>() {
    for (const char* spec : {"gen:stencil:points=5,n=8,values=spd", "gen:fem:dof=3,n=4,values=spd"}) {
      const several<T> systems = of_one_pattern<T>(spec, 37);
      const std::vector<T> values = values_of(systems);
      for (const cg_options& o : all_options(std::is_same_v<T, float> ? 1e-4 : 1e-10)) {
        const cg_batch batch(ctx(), with_values(systems.a[0], values), 37, o);
        expect_solved(batch, systems, o);
        const auto one = solve_batch(batch, systems), other = solve_batch(cg_batch(ctx(), systems.refs(), o), systems);
        for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].x, other[i].x);
      }
    }
  });
}

TEST_P(cg_batch_test, blocks_are_taken_as_they_are) {
  for_types<float, double>([&]<class T>() {
    for (const index_t block : {2, 3, 6, 8}) {
      several<T> systems;
      std::vector<matrix_ref> blocks;
      for (const int n : {2, 5, 3}) {
        const std::string spec = fmt::format("gen:fem:dof={},n={},values=spd", block, n);
        systems.add(spec);
        blocks.emplace_back(to_bsr(context::cpu(2), generate<T>(context::cpu(2), spec).view(), block));
      }
      for (const cg_options& o : all_options(std::is_same_v<T, float> ? 1e-4 : 1e-10)) {
        SCOPED_TRACE(fmt::format("{} {} {}", block, name(o.preconditioner), o.block));
        expect_solved(cg_batch(ctx(), blocks, o), systems, o);
      }
    }
  });
}

TEST_P(cg_batch_test, each_ends_for_itself) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const plain_csr<double> sound = generated<double>("gen:stencil:points=5,n=9,values=spd");
  const std::vector<double> b = random_rhs<double>(sound.rows), zeros(b.size());
  const auto with_diagonal = [&](double value) {
    plain_csr<double> a = sound;
    for (auto k = a.rowptr[40]; k < a.rowptr[41]; ++k) {
      if (a.colind[k] == 40) a.values[k] = value;
    }
    return a;
  };
  const auto with_value = [&](std::size_t at, double value) {
    plain_csr<double> a = sound;
    a.values[at] = value;
    return a;
  };
  plain_csr<double> saddle{0, 2};
  saddle.add_row({0, 1});
  saddle.add_row({0, 1});
  saddle.values = {1, 2, 2, 1};
  const auto with_nan = [&](std::vector<double> v) {
    v[17] = nan;
    return v;
  };
  const double nans = nan;
  several<double> systems;
  std::vector<std::string> want;
  const auto expect = [&](const std::string& how, const plain_csr<double>& a, const std::vector<double>& rhs,
                          const std::vector<double>& guess = {}) {
    want.push_back(how);
    systems.add(a, rhs, guess);
  };
  expect("SUCCESS", sound, b);
  expect("INDEFINITE", saddle, {1, -1});
  expect("INDEFINITE", saddle, {1, 0.5});
  expect("SUCCESS", sound, zeros, with_nan(b));  // b = 0 has the solution 0, whatever the guess
  expect("NOT_FINITE", sound, with_nan(b));
  expect("NOT_FINITE", with_value(77, nans), b);
  expect("NOT_FINITE", with_diagonal(nan), b);
  expect("NOT_FINITE", sound, b, with_nan(b));
  expect("SUCCESS", sound, b);
  for (const cg_options& o : all_options(1e-10)) {
    SCOPED_TRACE(fmt::format("{} {}", name(o.preconditioner), o.block));
    if (o.preconditioner == preconditioner_kind::block_jacobi) continue;  // the saddle is one of its blocks
    const cg_batch batch(ctx(), systems.refs(), o);
    const auto all = solve_batch(batch, systems);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(status_of(all[i].result), want[i]) << i;
    EXPECT_EQ(all[1].result.iterations, 1);
    EXPECT_EQ(all[1].x, (std::vector<double>{0, 0}));
    EXPECT_EQ(all[1].result.residual, std::sqrt(2));
    EXPECT_EQ(all[2].result.iterations, 2);
    EXPECT_EQ(all[3].x, zeros);
    EXPECT_EQ(all[3].result.iterations, 0);
    EXPECT_EQ(all[0].x, all[8].x);
    expect_true_report(sound, b, all[0], o);
  }
  for (const index_t block : {1, 4}) {  // a preconditioner that is not positive definite
    several<double> broken;
    broken.add(sound, b);
    broken.add(with_diagonal(-1), b, b);
    broken.add(sound, b);
    cg_options o;
    o.preconditioner = block == 1 ? preconditioner_kind::jacobi : preconditioner_kind::block_jacobi;
    o.block = block;
    const auto all = solve_batch(cg_batch(ctx(), broken.refs(), o), broken);
    EXPECT_EQ(status_of(all[0].result), "SUCCESS");
    EXPECT_EQ(status_of(all[1].result), "INDEFINITE");
    EXPECT_EQ(all[1].result.iterations, 0);
    EXPECT_EQ(all[1].result.row, 40);
    EXPECT_EQ(all[0].result.row, -1);
    EXPECT_EQ(all[1].x, b);
    EXPECT_EQ(all[0].x, all[2].x);
  }
}

TEST_P(cg_batch_test, what_was_asked_for_ends_it) {
  const several<double> systems = of_one_pattern<double>("gen:stencil:points=5,n=20,values=spd", 5);
  for (const int most : {0, 3}) {
    cg_options o;
    o.max_iterations = most;
    const auto all = solve_batch(cg_batch(ctx(), systems.refs(), o), systems);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(status_of(all[i].result), "NOT_CONVERGED");
      EXPECT_EQ(all[i].result.iterations, most);
      expect_true_report(systems.a[i], systems.b[i], all[i], o);
    }
  }
  cg_options o;
  const cg_batch batch(ctx(), systems.refs(), o);
  several<double> again = systems;
  const auto first = solve_batch(batch, systems);
  for (std::size_t i = 0; i < first.size(); ++i) again.guess[i] = first[i].x;
  const auto second = solve_batch(batch, again);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(second[i].result.iterations, 0);
    EXPECT_EQ(second[i].x, first[i].x);
  }
  o.zero_guess = true;
  for (auto& guess : again.guess) guess.assign(guess.size(), std::numeric_limits<double>::quiet_NaN());
  expect_solved(cg_batch(ctx(), systems.refs(), o), again, o);
}

TEST_P(cg_batch_test, a_residual_that_drifts_is_set_right) {
  const several<float> systems = of_one_pattern<float>("gen:stencil:points=5,n=40,values=spd", 3);
  for (const int interval : {-1, 7}) {
    cg_options o;
    o.rtol = 1e-10;
    o.max_iterations = 2000;
    o.replace_interval = interval;
    const auto all = solve_batch(cg_batch(ctx(), systems.refs(), o), systems);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(status_of(all[i].result), "NOT_CONVERGED");
      expect_true_report(systems.a[i], systems.b[i], all[i], o);
    }
  }
}

TEST_P(cg_batch_test, enqueue_is_a_whole_solve_and_gives_the_same_bits) {
  several<double> systems = of_one_pattern<double>("gen:fem:dof=3,n=3,values=spd", 9);
  systems.add("gen:stencil:points=5,n=20,values=spd");
  cg_options o;
  o.preconditioner = preconditioner_kind::block_jacobi;
  const cg_batch batch(ctx(), systems.refs(), o);
  const auto want = solve_batch(batch, systems);
  const std::vector<double> zeros = joined(systems.guess);
  const buffer<double> b = to_buffer(ctx(), joined(systems.b));
  buffer<double> x = to_buffer(ctx(), zeros);
  buffer<cg_record> records(ctx(), want.size());
  const auto work = [&] { batch.enqueue(b, x, records.data()); };
  for (int again = 0; again < 2; ++again) {
    x = to_buffer(ctx(), zeros);
    if (ctx().backend() == backend_kind::cuda) {
      const graph g(ctx(), work);
      g.launch();
    } else {
      work();
    }
    const auto got = to_vector(ctx(), records);
    std::vector<std::vector<double>> all;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].iterations, want[i].result.iterations);
      EXPECT_EQ(got[i].residual, want[i].result.residual);
      all.push_back(want[i].x);
    }
    EXPECT_EQ(to_vector(ctx(), x), joined(all));
  }
}

TEST_P(cg_batch_test, new_values_make_the_batch_that_they_would_have_made) {
  const several<double> systems = of_one_pattern<double>("gen:fem:dof=3,n=3,values=spd", 9);
  const std::vector<double> values = values_of(systems), first(values.size(), 1);
  const buffer<double> here = to_buffer(ctx(), values);
  for (const cg_options& o : all_options(1e-10)) {
    const auto want = solve_batch(cg_batch(ctx(), with_values(systems.a[0], values), 9, o), systems);
    cg_batch one(ctx(), with_values(systems.a[0], first), 9, o), many(ctx(), systems.refs(), o);
    one.update_values(here);
    many.update_values(std::vector<double>(values.size()));
    many.update_values(values);
    for (const cg_batch* batch : {&one, &many}) {
      const auto got = solve_batch(*batch, systems);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].x, want[i].x);
    }
  }
}

TEST_P(cg_batch_test, refuses_what_it_cannot_solve) {
  const auto a = generated<double>("gen:stencil:points=5,n=5,values=spd");
  const auto make = [&](const matrix_ref& matrix, index_t count = 1, cg_options options = {}) {
    return [this, matrix, count, options] { cg_batch(ctx(), matrix, count, options); };
  };
  cg_options o;
  o.preconditioner = preconditioner_kind::chebyshev;
  expect_error(status::unsupported, "chebyshev", make(a.view(), 1, o));
  o = {};
  o.keep_history = true;
  expect_error(status::unsupported, "keep_history", make(a.view(), 1, o));
  o = {};
  o.kernel = "cg.operations";
  expect_error(status::unsupported, "kernel", make(a.view(), 1, o));
  o = {};
  o.rtol = -1;
  expect_error(status::invalid_argument, "rtol", make(a.view(), 1, o));
  expect_error(status::invalid_argument, "count", make(a.view(), -1));
  const auto wide = generated<double>("gen:uniform:n=5,cols=7,degree=2");
  expect_error(status::invalid_dimensions, "square", make(wide.view()));
  const auto whole = generated<std::int32_t>("gen:stencil:points=5,n=5,values=integer");
  expect_error(status::unsupported, "i32", make(whole.view()));
  const ell<double> slots =
      to_ell(context::cpu(1), generate<double>(context::cpu(1), "gen:stencil:points=5,n=5").view());
  expect_error(status::unsupported, "ELL", make(slots.view()));
  plain_csr<double> broken = a;
  broken.colind[7] = 99;
  const std::vector<matrix_ref> second{a.view(), broken.view()};
  expect_error(status::invalid_structure, "system 1", [&] { cg_batch(ctx(), second); });
  const auto narrow = generated<float>("gen:stencil:points=5,n=5,values=spd");
  const std::vector<matrix_ref> mixed{a.view(), narrow.view()};
  expect_error(status::invalid_argument, "system 1", [&] { cg_batch(ctx(), mixed); });
  if (ctx().backend() == backend_kind::cuda) {
    const auto large = generated<double>("gen:stencil:points=5,n=100,values=spd");
    expect_error(status::unsupported, "10000 unknowns", make(large.view()));
  }

  cg_batch batch(ctx(), a.view(), 1);
  buffer<double> b(ctx(), 25), x(ctx(), 25), few(ctx(), 24);
  buffer<float> single(ctx(), 25);
  expect_error(status::invalid_dimensions, "b has 24", [&] { (void)batch.solve(few, x); });
  expect_error(status::invalid_dimensions, "x has 24", [&] { (void)batch.solve(b, few); });
  expect_error(status::invalid_argument, "b", [&] { (void)batch.solve(single, x); });
  expect_error(status::invalid_argument, "x", [&] { (void)batch.solve(x, x); });
  expect_error(status::null_pointer, "records", [&] { batch.enqueue(b, x, nullptr); });
  expect_error(status::invalid_dimensions, "values", [&] { batch.update_values(b); });
}

TEST_P(cg_batch_test, no_systems) {
  const plain_csr<double> a = generated<double>("gen:stencil:points=5,n=5,values=spd");
  buffer<double> none(ctx(), 0), x(ctx(), 0);
  EXPECT_TRUE(cg_batch(ctx(), a.view(), 0).solve(none, x).empty());
  EXPECT_TRUE(cg_batch(ctx(), std::span<const matrix_ref>()).solve(none, x).empty());
}

TEST(cg_batch_threads, the_number_of_threads_does_not_show) {
  several<double> systems = of_one_pattern<double>("gen:fem:dof=3,n=4,values=spd", 20);
  systems.add("gen:stencil:points=7,n=10,values=spd");
  const std::vector<double> b = joined(systems.b);
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3, 7}) {
    std::vector<double>& x = found.emplace_back(b.size());
    for (const cg_result& r : cg_batch(context::cpu(threads), systems.refs()).solve(b, x)) EXPECT_TRUE(r.converged());
    EXPECT_EQ(x, found.front());
  }
}

}  // namespace
}  // namespace tulle::test

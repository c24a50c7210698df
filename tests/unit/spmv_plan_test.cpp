// The plan: choice and override, errors that name the argument, new values, explanation, autotuning and its cache.
#include <limits>
#include <tulle/tulle.hpp>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/spmv.hpp"

namespace tulle::test {
namespace {

using vec = std::vector<double>;

class SpmvPlan : public ::testing::Test {
 protected:
  context ctx = context::cpu(2);
  csr<double> a = small_csr(ctx);
  temporary_directory cache;
  environment_variable cache_directory{"TULLE_CACHE_DIR", cache.path()};
  /// A x by the plan, which overwrites NaN.
  [[nodiscard]] vec product(const spmv_plan<double>& plan) const {
    vec y(2, std::numeric_limits<double>::quiet_NaN());
    plan.apply(1.0, x, 0.0, y);
    return y;
  }

  vec x{1, 10, 100};
  const vec a_x{21, 300};
};

TEST_F(SpmvPlan, MultipliesAndOverwritesNanWhenBetaIsZero) {
  spmv_plan plan(ctx, a);
  vec y = product(plan);
  EXPECT_EQ(y, a_x);
  plan.apply(2.0, x, -1.0, y);
  EXPECT_EQ(y, a_x);
  EXPECT_EQ(plan.dimensions(), (shape{2, 3}));
  EXPECT_EQ(plan.stats().nnz, 3);
}

TEST_F(SpmvPlan, BuffersAndOneShot) {
  const auto bx = to_buffer(ctx, x);
  buffer<double> by(ctx, 2);
  spmv_plan(ctx, a).apply(1.0, bx, 0.0, by);
  EXPECT_EQ(to_vector(ctx, by), a_x);
  multiply(ctx, a, bx, by, 1.0, 1.0);
  EXPECT_EQ(to_vector(ctx, by), (vec{42, 600}));
}

TEST_F(SpmvPlan, NamesTheArgumentThatIsWrong) {
  spmv_plan plan(ctx, a);
  vec y(2), short_x{1, 2}, long_y(3);
  EXPECT_EQ(status_of([&] { plan.apply(1.0, short_x, 0.0, y); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { plan.apply(1.0, x, 0.0, long_y); }), status::invalid_dimensions);
  EXPECT_EQ(status_of([&] { plan.apply(1.0, x, 0.0, host_span<double>(x.data(), 2)); }), status::invalid_argument);
  EXPECT_EQ(status_of([&] {
              plan.apply(1.0, device_span<const double>(x.data(), 3), 0.0, device_span<double>(y.data(), 2));
            }),
            status::invalid_argument);
  EXPECT_EQ(status_of([&] { plan.apply(1.0, host_span<const double>(nullptr, 3), 0.0, y); }), status::null_pointer);
  EXPECT_EQ(status_of([&] { plan.update_values(short_x); }), status::invalid_dimensions);
}

TEST_F(SpmvPlan, RefusesABrokenMatrixNamingTheRow) {
  auto view = a.view();
  const std::vector<std::int64_t> falling{0, 3, 2};
  view.rowptr = falling.data();
  EXPECT_EQ(status_of([&] { spmv_plan plan(ctx, view); }), status::invalid_structure);
  view = a.view();
  const std::vector<index_t> outside{0, 1, 3};
  view.colind = outside.data();
  expect_error(status::invalid_structure, "row 1", [&] { spmv_plan plan(ctx, view); });
  view = a.view();
  view.rows = -1;
  EXPECT_EQ(status_of([&] { spmv_plan plan(ctx, view); }), status::invalid_dimensions);
  view = a.view();
  view.values = nullptr;
  EXPECT_EQ(status_of([&] { spmv_plan plan(ctx, view); }), status::null_pointer);
}

TEST_F(SpmvPlan, KernelByName) {
  EXPECT_EQ(spmv_plan(ctx, a, with_kernel("csr.rows")).kernel(), "csr.rows");
  EXPECT_EQ(status_of([&] { spmv_plan plan(ctx, a, with_kernel("csr.nonsense")); }), status::invalid_argument);
}

TEST_F(SpmvPlan, RefusesOptionsOutOfRange) {
  const spmv_options wrong[] = {
      {.block_size = 48}, {.lanes = 3}, {.sigma = 33}, {.block = 9}, {.effort = static_cast<spmv_effort>(3)}};
  for (const spmv_options& options : wrong) {
    EXPECT_EQ(status_of([&] { spmv_plan plan(ctx, a, options); }), status::invalid_argument);
  }
}

TEST_F(SpmvPlan, NewValuesInTheSamePattern) {
  const vec values{-1, 0.5, 4};
  for (const char* kernel : {"csr.serial", "csr.balanced", "coo", "ell", "sell", "bsr", "packed"}) {
    spmv_plan plan(ctx, a, with_kernel(kernel));
    plan.update_values(values);
    EXPECT_EQ(product(plan), (vec{4, 400})) << kernel;
  }
}

TEST_F(SpmvPlan, AutotuneRemembersItsWinner) {
  const auto autotuned = [&](const char* words) {
    spmv_plan plan(ctx, a);
    plan.autotune();
    EXPECT_NE(plan.explain().find(words), std::string::npos) << plan.explain();
    EXPECT_EQ(product(plan), a_x);
    return std::string(plan.kernel());
  };
  const std::string first = autotuned("the fastest of");
  EXPECT_EQ(autotuned("before"), first);
  for (const auto& entry : std::filesystem::directory_iterator(cache / "autotune")) {
    write_file(entry.path(), "broken");  // measured over, not obeyed
  }
  autotuned("the fastest of");
  autotuned("before");
}

TEST_F(SpmvPlan, EffortNoneTakesTheMatrixAsItIs) {
  spmv_options options = with_effort(spmv_effort::none);
  options.columns = 1;  // no room to turn several vectors
  spmv_plan plan(ctx, a, options);
  EXPECT_EQ(plan.kernel(), "csr.balanced");
  EXPECT_EQ(plan.effort(), spmv_effort::none);
  EXPECT_EQ(plan.stats().nnz, 3);
  EXPECT_EQ(plan.stats().mean, 1.5);
  EXPECT_EQ(plan.stats().max, 0) << "a pass over the matrix was made";
  EXPECT_LE(plan.workspace_bytes(), 1024u) << "offsets were copied";
  EXPECT_NE(plan.explain().find("effort none, planned in"), std::string::npos) << plan.explain();
  EXPECT_EQ(product(plan), a_x);
}

TEST_F(SpmvPlan, EffortNoneGivesANamedKernelWhatItNeeds) {
  for (const char* kernel : {"csr.serial", "coo", "ell", "sell", "bsr"}) {
    spmv_plan plan(ctx, a, {.kernel = kernel, .effort = spmv_effort::none});
    EXPECT_EQ(plan.kernel(), kernel);
    EXPECT_EQ(product(plan), a_x) << kernel;
  }
}

TEST_F(SpmvPlan, AutotuneAfterEffortNone) {
  spmv_plan plan(ctx, a, with_effort(spmv_effort::none));
  plan.autotune();
  EXPECT_EQ(plan.stats().max, 2);
  const vec values{-1, 0.5, 4};
  plan.update_values(values);
  EXPECT_EQ(product(plan), (vec{4, 400}));
}

TEST_F(SpmvPlan, EffortMaxMeasuresAndRemembers) {
  const auto big = generate<double>(ctx, "gen:stencil:points=7,n=30");
  const auto says = [&](const char* words, const std::string& said) {
    EXPECT_NE(said.find(words), std::string::npos) << said;
    return said;
  };
  const auto planned = [&] { return spmv_plan(ctx, big, with_effort(spmv_effort::max)).explain(); };
  const std::string first = says("the fastest of", planned());
  says("before", planned());
  spmv_plan plan(ctx, big);
  plan.autotune();
  // What left kernels out may not have found the fastest of all.
  says(first.find("left out") == std::string::npos ? "before" : "the fastest of", plan.explain());
  says("before", planned());
  const spmv_options named{.kernel = "csr.rows", .effort = spmv_effort::max};
  EXPECT_EQ(spmv_plan(ctx, big, named).kernel(), "csr.rows") << "a name goes before measuring";
}

TEST_F(SpmvPlan, EffortsAndPoliciesHaveNames) {
  EXPECT_EQ(name(spmv_effort::none), "none");
  EXPECT_EQ(name(spmv_effort::standard), "standard");
  EXPECT_EQ(name(spmv_effort::max), "max");
  EXPECT_EQ(name(spmv_policy::simple), "simple");
}

TEST_F(SpmvPlan, OneShotRefusesABrokenMatrix) {
  auto broken = small_csr(ctx);
  broken.colind.data()[2] = 3;
  const auto bx = to_buffer(ctx, x);
  buffer<double> by(ctx, 2);
  EXPECT_EQ(status_of([&] { multiply(ctx, broken, bx, by); }), status::invalid_structure);
}

TEST_F(SpmvPlan, StandardLooksAtATransposeNoFurtherThanAtAMatrix) {
  const csr<double> m = generate<double>(ctx, "gen:fem:n=6");
  EXPECT_GT(statistics(ctx, m.view()).bandwidth, 0);
  const csr<double> turned =
      to_csr(ctx, csc_view<double, std::int64_t>{m.cols, m.rows, m.nnz(), m.rowptr.data(), m.colind.data(),
                                                 m.values.data(), memory_space::host});
  const csr_stats direct = spmv_plan<double>(ctx, turned).stats();
  const csr_stats transposed = spmv_plan<double>(ctx, m, {.transpose = true}).stats();
  EXPECT_EQ(direct.bandwidth, 0);  // no rule for the CPU asks for it
  EXPECT_EQ(transposed.bandwidth, 0);
  EXPECT_EQ(transposed.max, direct.max);
  EXPECT_EQ(transposed.gather_span, direct.gather_span);
}

TEST_F(SpmvPlan, SixtyFourBitOffsetsAreNarrowed) {
  const std::vector<std::int32_t> rowptr(a.rowptr.data(), a.rowptr.data() + a.rows + 1);
  const csr_view<double, std::int32_t> narrow{a.rows, a.cols, static_cast<std::int32_t>(a.nnz()), rowptr.data(),
                                              a.colind.data(), a.values.data(), memory_space::host};
  const auto bytes = [&](const auto& matrix) {
    return spmv_plan<double>(ctx, matrix, with_kernel("csr.serial")).workspace_bytes();
  };
  EXPECT_EQ(bytes(a), bytes(narrow) + 3 * sizeof(std::int32_t));
}

TEST_F(SpmvPlan, LooksAtBlocksAndDiagonalsInAFewPlaces) {
  const auto looked_at = [this](const char* spec) {
    const csr<double> generated = generate<double>(ctx, spec);
    return spmv_plan<double>(ctx, generated).stats();
  };
  const csr_stats blocks = looked_at("gen:fem:dof=3,n=6"), stencil = looked_at("gen:stencil:n=20");
  const csr_stats scattered = looked_at("gen:uniform:n=5000,degree=6");
  EXPECT_EQ(blocks.block_fill[3], 1);
  EXPECT_LT(blocks.block_fill[2], 0.9);
  EXPECT_EQ(scattered.block_fill[2], 0) << "not looked at: hardly ever are two columns side by side";
  EXPECT_GT(stencil.diagonal, 0.9);
  EXPECT_LT(scattered.diagonal, 0.1);
}

}  // namespace
}  // namespace tulle::test

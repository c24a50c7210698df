// Every entry point of the products with each of its arguments wrong in turn.
#include "handles.hpp"

namespace tulle::test {
namespace {

class capi_spgemm_arguments : public testing::Test {
 protected:
  spgemm_handle plan_of_a_at() {
    return made<spgemm_handle>(tulle_spgemm_plan_create, context, a, a, &times_transpose);
  }

  const tulle_spgemm_options times_transpose = with(&tulle_spgemm_options::transpose_b, 1);
  context_handle context = cpu_context();
  csr_handle a = placed(context, small_matrix());
  spgemm_handle plan = plan_of_a_at();
  csr_handle c = made<csr_handle>(tulle_spgemm_plan_multiply, plan, 1, 0);
};

TEST_F(capi_spgemm_arguments, plan_create) {
  auto* made = reinterpret_cast<tulle_spgemm_plan*>(this);
  tulle_spgemm_options options = times_transpose;
  const auto create = [&] { return tulle_spgemm_plan_create(context.get(), a.get(), a.get(), &options, &made); };
  null_in_turn(tulle_spgemm_plan_create, {"context", "a", "b", "", "plan"}, context, a, a, &options, &made);
  EXPECT_EQ(made, nullptr);
  options.transpose_a = 2;
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "options->transpose_a = 2");
  options.transpose_a = 0;
  options.transpose_b = -1;
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "options->transpose_b = -1");
  options.transpose_b = 1;
  options.kernel = "csr.nonsense";
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "csr.nonsense");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_spgemm_arguments, matrices_must_fit_each_other) {
  tulle_spgemm_plan* made = nullptr;
  const auto refuse = [&](const csr_handle& b, tulle_spgemm_options options, const csr_handle& mask,
                          const csr_handle& d, tulle_status expected, const char* words) {
    options.mask = mask.get();
    options.d = d.get();
    refused(tulle_spgemm_plan_create(context.get(), a.get(), b.get(), &options, &made), expected, words);
  };
  const csr_handle none, single = placed(context, small_matrix<float>()),
                         whole = placed(context, small_matrix<std::int32_t>());
  refuse(a, {}, none, none, TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  refuse(a, times_transpose, a, none, TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");  // where C is 3 x 3
  refuse(a, times_transpose, none, a, TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  refuse(single, times_transpose, none, none, TULLE_STATUS_INVALID_ARGUMENT, "B holds f32 values, A holds f64");
  refuse(a, times_transpose, single, none, TULLE_STATUS_INVALID_ARGUMENT, "the mask holds f32");
  refuse(whole, times_transpose, none, none, TULLE_STATUS_INVALID_ARGUMENT, "B holds i32 values, A holds f64");
}

TEST_F(capi_spgemm_arguments, i32_factors_are_whole_numbers) {
  const csr_handle whole = placed(context, small_matrix<std::int32_t>());
  const auto whole_plan = made<spgemm_handle>(tulle_spgemm_plan_create, context, whole, whole, &times_transpose);
  tulle_csr* none = nullptr;
  refused(tulle_spgemm_plan_multiply(whole_plan.get(), 0.5, 0, &none), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 0.5");
  refused(tulle_spgemm_plan_multiply(whole_plan.get(), 1e10, 0, &none), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 1");
  const auto product = made<csr_handle>(tulle_spgemm_plan_multiply, whole_plan, -2, 0);
  refused(tulle_spgemm_plan_numeric(whole_plan.get(), 0.5, 0, product.get()), TULLE_STATUS_INVALID_ARGUMENT,
          "alpha = 0.5");
}

TEST_F(capi_spgemm_arguments, plan_calls) {
  std::int64_t count = 0;
  std::size_t bytes = 0;
  const char* text = nullptr;
  tulle_csr* made = nullptr;
  null_in_turn(tulle_spgemm_plan_symbolic, {"plan", "nnz"}, plan, &count);
  null_in_turn(tulle_spgemm_plan_multiply, {"plan", "c"}, plan, 1, 0, &made);
  refused(tulle_spgemm_plan_multiply(plan.get(), 1, 2, &made), TULLE_STATUS_INVALID_ARGUMENT, "beta = 2");
  EXPECT_EQ(made, nullptr);
  null_in_turn(tulle_spgemm_plan_products, {"plan", "products"}, plan, &count);
  null_in_turn(tulle_spgemm_plan_explain, {"plan", "sentence"}, plan, &text);
  null_in_turn(tulle_spgemm_plan_kernel, {"plan", "name"}, plan, &text);
  null_in_turn(tulle_spgemm_plan_workspace, {"plan", "bytes"}, plan, &bytes);
}

TEST_F(capi_spgemm_arguments, numeric_takes_only_what_the_plan_made) {
  const auto numeric = [](const spgemm_handle& by, const csr_handle& into) {
    return tulle_spgemm_plan_numeric(by.get(), 1, 0, into.get());
  };
  null_in_turn(tulle_spgemm_plan_numeric, {"plan", "c"}, plan, 1, 0, c);
  TULLE_EXPECT_OK(numeric(plan, c));
  refused(numeric(plan, a), TULLE_STATUS_INVALID_ARGUMENT, "from this plan");
  refused(numeric(plan_of_a_at(), c), TULLE_STATUS_INVALID_ARGUMENT, "from this plan");
}

TEST_F(capi_spgemm_arguments, update_values) {
  const std::vector<double> v(5, 1);
  null_in_turn(tulle_spgemm_plan_update_values, {"plan", "a", "b", ""}, plan, v.data(), v.data(), nullptr);
  refused(tulle_spgemm_plan_update_values(plan.get(), v.data(), v.data(), v.data()), TULLE_STATUS_INVALID_ARGUMENT,
          "D");
}

TEST_F(capi_spgemm_arguments, one_shot) {
  tulle_csr* made = nullptr;
  null_in_turn(tulle_spgemm, {"context", "a", "b", "c"}, context, a, a, &made);
  refused(tulle_spgemm(context.get(), a.get(), a.get(), &made), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_spgemm_arguments, triple_product) {
  tulle_csr* made = nullptr;
  null_in_turn(tulle_triple_product, {"context", "r", "a", "p", "", "c"}, context, a, a, a, nullptr, &made);
  tulle_spgemm_options options{};
  const auto product = [&] { return tulle_triple_product(context.get(), a.get(), a.get(), a.get(), &options, &made); };
  refused(product(), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  options.mask = a.get();
  refused(product(), TULLE_STATUS_INVALID_ARGUMENT, "options->mask");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_spgemm_arguments, estimate) {
  tulle_spgemm_estimate e{};
  null_in_turn(tulle_estimate_spgemm, {"context", "a", "b", "", "estimate"}, context, a, a, nullptr, &e);
  const tulle_spgemm_options options = with<const tulle_csr*>(&tulle_spgemm_options::d, a.get());
  refused(tulle_estimate_spgemm(context.get(), a.get(), a.get(), &options, &e), TULLE_STATUS_INVALID_ARGUMENT,
          "options->d");
}

TEST_F(capi_spgemm_arguments, copy_out) {
  plain_csr<double, std::int32_t> out = small_matrix();
  out.rowptr.assign(4, -1), out.colind.assign(5, -1), out.values.assign(5, -1);
  null_in_turn(tulle_csr_copy_out, {"context", "matrix", "", "", ""}, context, a, out.rowptr.data(), out.colind.data(),
               out.values.data());
  TULLE_EXPECT_OK(tulle_csr_copy_out(context.get(), a.get(), nullptr, nullptr, nullptr));
  TULLE_EXPECT_OK(tulle_csr_copy_out(context.get(), a.get(), out.rowptr.data(), out.colind.data(), out.values.data()));
  EXPECT_EQ(out, small_matrix());
}

}  // namespace
}  // namespace tulle::test

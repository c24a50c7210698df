// Every entry point of the products with each of its arguments wrong in turn.
#include <limits>
#include <string>

#include "handles.hpp"

namespace tulle::test {
namespace {

class capi_spgemm_arguments : public testing::Test {
 protected:
  template <class T>
  csr_handle copy() {
    return small_matrix<T, std::int32_t>().on(context);
  }
  spgemm_handle plan_of_a_at() {
    tulle_spgemm_options options{};
    options.transpose_b = 1;
    return made<spgemm_handle>(tulle_spgemm_plan_create, context.get(), a.get(), a.get(), &options);
  }

  context_handle context = cpu_context();
  csr_handle a = copy<double>();
  spgemm_handle plan_owner = plan_of_a_at();
  tulle_spgemm_plan* plan = plan_owner.get();
  csr_handle c_owner = made<csr_handle>(tulle_spgemm_plan_multiply, plan, 1, 0);
  tulle_csr* c = c_owner.get();
};

TEST_F(capi_spgemm_arguments, plan_create) {
  auto* made = reinterpret_cast<tulle_spgemm_plan*>(this);
  tulle_spgemm_options options{};
  options.transpose_b = 1;
  const auto create = [&] { return tulle_spgemm_plan_create(context.get(), a.get(), a.get(), &options, &made); };
  null(tulle_spgemm_plan_create(nullptr, a.get(), a.get(), &options, &made), "context");
  EXPECT_EQ(made, nullptr);
  null(tulle_spgemm_plan_create(context.get(), nullptr, a.get(), &options, &made), "a");
  null(tulle_spgemm_plan_create(context.get(), a.get(), nullptr, &options, &made), "b");
  null(tulle_spgemm_plan_create(context.get(), a.get(), a.get(), &options, nullptr), "plan");
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
  tulle_spgemm_options options{};
  const auto create = [&](const csr_handle& b) {
    return tulle_spgemm_plan_create(context.get(), a.get(), b.get(), &options, &made);
  };
  refused(create(a), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  options.transpose_b = 1;
  options.mask = a.get();  // 3 x 4, where C is 3 x 3
  refused(create(a), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  options.mask = nullptr;
  options.d = a.get();
  refused(create(a), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  options.d = nullptr;
  const csr_handle single = copy<float>();
  refused(create(single), TULLE_STATUS_INVALID_ARGUMENT, "B holds f32 values, A holds f64");
  options.mask = single.get();
  refused(create(a), TULLE_STATUS_INVALID_ARGUMENT, "the mask holds f32");
  options.mask = nullptr;
  const csr_handle whole = copy<std::int32_t>();
  refused(create(whole), TULLE_STATUS_INVALID_ARGUMENT, "B holds i32 values, A holds f64");
}

TEST_F(capi_spgemm_arguments, i32_factors_are_whole_numbers) {
  const csr_handle whole = copy<std::int32_t>();
  tulle_spgemm_options options{};
  options.transpose_b = 1;
  tulle_spgemm_plan* made = nullptr;
  TULLE_ASSERT_OK(tulle_spgemm_plan_create(context.get(), whole.get(), whole.get(), &options, &made));
  const std::unique_ptr<tulle_spgemm_plan, decltype(&tulle_spgemm_plan_destroy)> owned(made, tulle_spgemm_plan_destroy);
  tulle_csr* made_c = nullptr;
  refused(tulle_spgemm_plan_multiply(made, 0.5, 0, &made_c), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 0.5");
  refused(tulle_spgemm_plan_multiply(made, 1e10, 0, &made_c), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 1");
  TULLE_ASSERT_OK(tulle_spgemm_plan_multiply(made, -2, 0, &made_c));
  const csr_handle product(made_c);
  refused(tulle_spgemm_plan_numeric(made, 0.5, 0, made_c), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 0.5");
}

TEST_F(capi_spgemm_arguments, plan_calls) {
  std::int64_t count = 0;
  std::size_t bytes = 0;
  const char* text = nullptr;
  tulle_csr* made = nullptr;
  null(tulle_spgemm_plan_symbolic(nullptr, &count), "plan");
  null(tulle_spgemm_plan_symbolic(plan, nullptr), "nnz");
  null(tulle_spgemm_plan_multiply(nullptr, 1, 0, &made), "plan");
  null(tulle_spgemm_plan_multiply(plan, 1, 0, nullptr), "c");
  refused(tulle_spgemm_plan_multiply(plan, 1, 2, &made), TULLE_STATUS_INVALID_ARGUMENT, "beta = 2");
  EXPECT_EQ(made, nullptr);
  null(tulle_spgemm_plan_products(nullptr, &count), "plan");
  null(tulle_spgemm_plan_products(plan, nullptr), "products");
  null(tulle_spgemm_plan_explain(nullptr, &text), "plan");
  null(tulle_spgemm_plan_explain(plan, nullptr), "sentence");
  null(tulle_spgemm_plan_kernel(nullptr, &text), "plan");
  null(tulle_spgemm_plan_kernel(plan, nullptr), "name");
  null(tulle_spgemm_plan_workspace(nullptr, &bytes), "plan");
  null(tulle_spgemm_plan_workspace(plan, nullptr), "bytes");
  tulle_spgemm_plan_destroy(nullptr);
}

TEST_F(capi_spgemm_arguments, numeric_takes_only_what_the_plan_made) {
  null(tulle_spgemm_plan_numeric(nullptr, 1, 0, c), "plan");
  null(tulle_spgemm_plan_numeric(plan, 1, 0, nullptr), "c");
  TULLE_EXPECT_OK(tulle_spgemm_plan_numeric(plan, 1, 0, c));
  refused(tulle_spgemm_plan_numeric(plan, 1, 0, a.get()), TULLE_STATUS_INVALID_ARGUMENT, "from this plan");
  refused(tulle_spgemm_plan_numeric(plan_of_a_at().get(), 1, 0, c), TULLE_STATUS_INVALID_ARGUMENT, "from this plan");
}

TEST_F(capi_spgemm_arguments, update_values) {
  const std::vector<double> values(5, 1);
  null(tulle_spgemm_plan_update_values(nullptr, values.data(), values.data(), nullptr), "plan");
  null(tulle_spgemm_plan_update_values(plan, nullptr, values.data(), nullptr), "a");
  null(tulle_spgemm_plan_update_values(plan, values.data(), nullptr, nullptr), "b");
  refused(tulle_spgemm_plan_update_values(plan, values.data(), values.data(), values.data()),
          TULLE_STATUS_INVALID_ARGUMENT, "D");
}

TEST_F(capi_spgemm_arguments, one_shot) {
  tulle_csr* made = nullptr;
  null(tulle_spgemm(nullptr, a.get(), a.get(), &made), "context");
  null(tulle_spgemm(context.get(), nullptr, a.get(), &made), "a");
  null(tulle_spgemm(context.get(), a.get(), nullptr, &made), "b");
  null(tulle_spgemm(context.get(), a.get(), a.get(), nullptr), "c");
  refused(tulle_spgemm(context.get(), a.get(), a.get(), &made), TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_spgemm_arguments, triple_product) {
  tulle_csr* made = nullptr;
  null(tulle_triple_product(nullptr, a.get(), a.get(), a.get(), nullptr, &made), "context");
  null(tulle_triple_product(context.get(), nullptr, a.get(), a.get(), nullptr, &made), "r");
  null(tulle_triple_product(context.get(), a.get(), nullptr, a.get(), nullptr, &made), "a");
  null(tulle_triple_product(context.get(), a.get(), a.get(), nullptr, nullptr, &made), "p");
  null(tulle_triple_product(context.get(), a.get(), a.get(), a.get(), nullptr, nullptr), "c");
  refused(tulle_triple_product(context.get(), a.get(), a.get(), a.get(), nullptr, &made),
          TULLE_STATUS_INVALID_DIMENSIONS, "3 x 4");
  tulle_spgemm_options options{};
  options.mask = a.get();
  refused(tulle_triple_product(context.get(), a.get(), a.get(), a.get(), &options, &made),
          TULLE_STATUS_INVALID_ARGUMENT, "options->mask");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_spgemm_arguments, estimate) {
  tulle_spgemm_estimate e{};
  null(tulle_estimate_spgemm(nullptr, a.get(), a.get(), nullptr, &e), "context");
  null(tulle_estimate_spgemm(context.get(), nullptr, a.get(), nullptr, &e), "a");
  null(tulle_estimate_spgemm(context.get(), a.get(), nullptr, nullptr, &e), "b");
  null(tulle_estimate_spgemm(context.get(), a.get(), a.get(), nullptr, nullptr), "estimate");
  tulle_spgemm_options options{};
  options.d = a.get();
  refused(tulle_estimate_spgemm(context.get(), a.get(), a.get(), &options, &e), TULLE_STATUS_INVALID_ARGUMENT,
          "options->d");
}

TEST_F(capi_spgemm_arguments, copy_out) {
  std::vector<std::int32_t> rowptr(4), colind(5);
  std::vector<double> values(5);
  null(tulle_csr_copy_out(nullptr, a.get(), rowptr.data(), colind.data(), values.data()), "context");
  null(tulle_csr_copy_out(context.get(), nullptr, rowptr.data(), colind.data(), values.data()), "matrix");
  TULLE_EXPECT_OK(tulle_csr_copy_out(context.get(), a.get(), nullptr, nullptr, nullptr));
  TULLE_EXPECT_OK(tulle_csr_copy_out(context.get(), a.get(), rowptr.data(), colind.data(), values.data()));
  const small_matrix<double, std::int32_t> expected;
  EXPECT_EQ(rowptr, expected.rowptr);
  EXPECT_EQ(colind, expected.colind);
  EXPECT_EQ(values, expected.values);
}

}  // namespace
}  // namespace tulle::test

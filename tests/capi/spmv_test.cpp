// y = alpha A x + beta y through the C API, on both backends.
#include <limits>

#include <tulle/ops/verify.hpp>

#include "handles.hpp"
#include "support/types.hpp"

namespace tulle::test {
namespace {

class capi_spmv : public on_each_backend {
 protected:
  template <class T>
  buffer_handle upload(const std::vector<T>& from) {
    auto made_buffer = made<buffer_handle>(tulle_buffer_create, context, from.size() * sizeof(T));
    TULLE_EXPECT_OK(tulle_buffer_copy_in(made_buffer.get(), from.data(), from.size() * sizeof(T)));
    return made_buffer;
  }
  static void* data(const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); }
  plan_handle plan_of(const csr_handle& matrix, const char* kernel = nullptr) {
    return made<plan_handle>(tulle_spmv_plan_create, context, matrix, kernel);
  }
  template <class T>
  std::vector<T> apply(const plan_handle& plan, double alpha, const std::vector<T>& x, double beta, std::vector<T> y) {
    const buffer_handle device_x = upload(x), device_y = upload(y);
    TULLE_EXPECT_OK(tulle_spmv_plan_apply(plan.get(), alpha, data(device_x), static_cast<std::int64_t>(x.size()), beta,
                                          data(device_y), static_cast<std::int64_t>(y.size())));
    TULLE_EXPECT_OK(tulle_buffer_copy_out(device_y.get(), y.data(), y.size() * sizeof(T)));
    return y;
  }
};
TULLE_ON_BOTH_BACKENDS(capi_spmv);

TEST_P(capi_spmv, every_type_base_and_ownership) {
  for_types_and_offsets<float, double, std::int32_t>([&]<class T, class O>() {
    const auto a = small_matrix<T, O>(), from_one = from_base_one(a);
    for (const auto make : {tulle_csr_copy, tulle_csr_borrow}) {
      for (const std::int32_t base : {0, 1}) {
        const plan_handle plan = plan_of(placed(context, base == 0 ? a : from_one, make, base));
        EXPECT_EQ(apply<T>(plan, 2, {1, 2, 3, 4}, -1, {10, 20, 30}), (std::vector<T>{4, -20, 20})) << "base " << base;
      }
    }
  });
}

TEST_P(capi_spmv, a_copy_outlives_its_source_and_a_plan_outlives_its_matrix) {
  auto a = std::make_unique<plain_csr<double, std::int32_t>>(small_matrix());
  csr_handle matrix = placed(context, *a);
  a->values.assign(5, 1000);
  a.reset();
  const plan_handle plan = plan_of(matrix);
  matrix.reset();
  EXPECT_EQ(apply<double>(plan, 1, {1, 2, 3, 4}, 0, {0, 0, 0}), (std::vector<double>{7, 0, 25}));
}

TEST_P(capi_spmv, a_plan_in_another_order_answers_in_the_callers) {
  const csr_handle matrix = placed(context, small_matrix());
  tulle_spmv_options options{};
  options.reorder = TULLE_REORDER_ALWAYS;
  const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, matrix, &options);
  EXPECT_EQ(apply<double>(plan, 1, {1, 2, 3, 4}, 0, {0, 0, 0}), (std::vector<double>{7, 0, 25}));
  EXPECT_NE(std::string(got<const char*>(tulle_spmv_plan_explain, plan)).find("Cuthill"), std::string::npos);
}

TEST_P(capi_spmv, a_tolerance_bounds_what_fewer_bits_lose) {
  constexpr int n = 96, width = 6;
  plain_csr<double, std::int32_t> a{n, n, {0}, {}, {}};
  for (int r = 0; r < n; ++r) {
    for (int k = 0; k < width; ++k) {
      a.colind.push_back((r + 5 * k) % n);
      a.values.push_back((k % 2 == 0 ? 1.0 : -1.0) / (3 + r + 7 * k));
    }
    a.rowptr.push_back(width * (r + 1));
  }
  std::vector<double> x, y0(n, 0);
  for (int c = 0; c < n; ++c) x.push_back(1.0 / (1 + c) - 0.2);
  const csr_handle matrix = placed(context, a);
  const context_handle host = cpu_context();
  for (const tulle_error_bound bound : {TULLE_BOUND_COMPONENTWISE, TULLE_BOUND_ROW, TULLE_BOUND_NORM}) {
    for (const double tolerance : {1e-2, 1e-7}) {
      tulle_spmv_options options{};
      options.kernel = "packed";
      options.tolerance = tolerance;
      options.bound = bound;
      const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, matrix, &options);
      const std::vector<double> y = apply<double>(plan, 2, x, 0, y0);
      const csr_view<double, std::int32_t> view{n, n, n * width, a.rowptr.data(), a.colind.data(), a.values.data(), memory_space::host};
      spmv_reference exact = reference_spmv<double>(tulle::context::cpu(), 2, view, x, 0, {});
      add_promise(exact, 2, view, host_span<const double>(x), {tolerance, static_cast<error_bound>(bound)});
      EXPECT_LE(error_ratio(exact, host_span<const double>(y)), 1) << bound << ' ' << tolerance;
    }
  }
}

TEST_P(capi_spmv, beta_zero_overwrites_nan) {
  const auto a = small_matrix<double, std::int64_t>();
  const csr_handle matrix = placed(context, a, tulle_csr_borrow);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(apply<double>(plan_of(matrix), 1, {1, 2, 3, 4}, 0, {nan, nan, nan}), (std::vector<double>{7, 0, 25}));
}

TEST_P(capi_spmv, options_transpose_and_set_the_effort) {
  const csr_handle matrix = placed(context, small_matrix());
  for (const tulle_spmv_effort effort : {TULLE_EFFORT_STANDARD, TULLE_EFFORT_NONE}) {
    const tulle_spmv_options options{nullptr, effort, 1, nullptr, 0, nullptr, 0, 0};
    const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, matrix, &options);
    EXPECT_EQ(apply<double>(plan, 2, {1, 2, 3}, -1, {1, 1, 1, 1}), (std::vector<double>{-17, 23, 3, 29}));
    const std::vector<double> values{10, 20, 30, 40, 50};
    TULLE_ASSERT_OK(tulle_spmv_plan_update_values(plan.get(), values.data(), 5, TULLE_HOST));
    EXPECT_EQ(apply<double>(plan, 1, {1, 2, 3}, 0, {0, 0, 0, 0}), (std::vector<double>{100, 120, 20, 150}));
  }
}

TEST_P(capi_spmv, f32_values_under_f64_vectors) {
  const csr_handle matrix = placed(context, small_matrix<float>());
  const tulle_scalar_type f64 = TULLE_F64;
  const tulle_spmv_options options{nullptr, TULLE_EFFORT_STANDARD, 0, &f64, 0, nullptr, 0, 0};
  const auto plan = made<plan_handle>(tulle_spmv_plan_create_with, context, matrix, &options);
  const double third = 1.0 / 3;
  EXPECT_EQ(apply<double>(plan, 1, {third, 1, 1, 1}, 0, {0, 0, 0}), (std::vector<double>{third + 2, 0, -3 * third + 4 + 5}));
  const std::vector<float> values{2, 3, 4, 5, 6};
  TULLE_ASSERT_OK(tulle_spmv_plan_update_values(plan.get(), values.data(), 5, TULLE_HOST));
  EXPECT_EQ(apply<double>(plan, 1, {1, 1, 1, 1}, 0, {0, 0, 0}), (std::vector<double>{5, 0, 15}));
}

TEST_P(capi_spmv, several_right_hand_sides) {
  const plan_handle plan = plan_of(placed(context, small_matrix<float>()));
  const buffer_handle x = upload<float>({1, 10, 2, 20, 3, 30, 4, 40}), y = upload<float>({0, 0, 0, 0, 0, 0});
  const tulle_multivector in{4, 2, 2, TULLE_ROW_MAJOR, data(x)}, out{3, 2, 3, TULLE_COLUMN_MAJOR, data(y)};
  TULLE_ASSERT_OK(tulle_spmv_plan_apply_many(plan.get(), 1, &in, 0, &out));
  std::vector<float> result(6);
  TULLE_ASSERT_OK(tulle_buffer_copy_out(y.get(), result.data(), sizeof(float) * result.size()));
  EXPECT_EQ(result, (std::vector<float>{7, 0, 25, 70, 0, 250}));
  const buffer_handle bias = upload(std::vector<float>{-10, 1});
  TULLE_ASSERT_OK(tulle_spmv_plan_apply_many_with(plan.get(), -1, &in, 1, &out, data(bias), TULLE_ACTIVATION_NONE));
  TULLE_ASSERT_OK(tulle_buffer_copy_out(y.get(), result.data(), sizeof(float) * result.size()));
  EXPECT_EQ(result, (std::vector<float>{-10, -10, -10, 1, 1, 1}));
  TULLE_ASSERT_OK(tulle_spmv_plan_apply_many_with(plan.get(), 1, &in, 0, &out, data(bias), TULLE_ACTIVATION_RELU));
  TULLE_ASSERT_OK(tulle_buffer_copy_out(y.get(), result.data(), sizeof(float) * result.size()));
  EXPECT_EQ(result, (std::vector<float>{0, 0, 15, 71, 1, 251}));
  refused(tulle_spmv_plan_apply_many_with(plan.get(), 1, &in, 0, &out, nullptr, 7), TULLE_STATUS_INVALID_ARGUMENT, "act");
}

TEST_P(capi_spmv, update_values_keeps_the_pattern) {
  const plan_handle plan = plan_of(placed(context, small_matrix<float>()));
  const std::vector<float> values{10, 20, 30, 40, 50};
  TULLE_ASSERT_OK(tulle_spmv_plan_update_values(plan.get(), values.data(), 5, TULLE_HOST));
  EXPECT_EQ(apply<float>(plan, 1, {1, 1, 1, 1}, 0, {0, 0, 0}), (std::vector<float>{30, 0, 120}));
}

TEST_P(capi_spmv, a_plan_says_what_it_is) {
  const char* wanted = is_cpu() ? "csr.serial" : "csr.merge";
  const plan_handle plan = plan_of(placed(context, small_matrix()), wanted);
  const std::string sentence = got<const char*>(tulle_spmv_plan_explain, plan);
  EXPECT_STREQ(got<const char*>(tulle_spmv_plan_kernel, plan), wanted);
  EXPECT_NE(sentence.find(wanted), std::string::npos) << sentence;
  EXPECT_LT(got<std::size_t>(tulle_spmv_plan_workspace, plan), std::size_t{1} << 20);
}

TEST_P(capi_spmv, an_empty_matrix_needs_no_entries) {
  const std::vector<std::int32_t> rowptr(4, 0);
  const tulle_csr_arrays arrays{3, 0, 0, TULLE_F64, TULLE_OFFSET_I32, 0, TULLE_HOST, rowptr.data(), nullptr, nullptr};
  const auto matrix = made<csr_handle>(tulle_csr_copy, context, &arrays);
  EXPECT_EQ(apply<double>(plan_of(matrix), 1, {}, 0, {1, 2, 3}), (std::vector<double>{0, 0, 0}));
}

TEST_P(capi_spmv, cpu_borrowing_makes_no_copy) {
  const auto a = small_matrix<double, std::int64_t>();
  const csr_handle matrix = placed(context, a, tulle_csr_borrow);
  const auto seen = got<tulle_csr_arrays>(tulle_csr_get_arrays, matrix);
  EXPECT_EQ(seen.rowptr, a.rowptr.data());
  EXPECT_EQ(seen.colind, a.colind.data());
  EXPECT_EQ(seen.values, a.values.data());
  EXPECT_EQ(seen.space, TULLE_HOST);
}

}  // namespace
}  // namespace tulle::test

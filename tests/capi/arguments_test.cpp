// Every entry point with each of its arguments wrong in turn: the status, and the argument's name in the message.
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "handles.hpp"

namespace tulle::test {
namespace {

/// One of everything, made right.
class capi_arguments : public testing::Test {
 protected:
  small_matrix<double, std::int32_t> a;
  tulle_csr_arrays arrays = a.arrays();
  context_handle context = cpu_context();
  buffer_handle buffer = made<buffer_handle>(tulle_buffer_create, context.get(), 16);
  csr_handle matrix = a.on(context);
  plan_handle plan = made<plan_handle>(tulle_spmv_plan_create, context.get(), matrix.get(), nullptr);
  std::array<double, 4> x{1, 2, 3, 4};
  std::array<double, 3> y{};
};

TEST_F(capi_arguments, context) {
  tulle_context* made = nullptr;
  tulle_memory_space space = -1;
  null(tulle_context_create_best(nullptr), "context");
  null(tulle_context_create_cpu(1, nullptr), "context");
  null(tulle_context_create_cuda(0, nullptr), "context");
  null(tulle_context_create_cuda_stream(0, nullptr, nullptr), "context");
  refused(tulle_context_create_cpu(-1, &made), TULLE_STATUS_INVALID_ARGUMENT, "threads");
  refused(tulle_context_create_cpu(1'000'000, &made), TULLE_STATUS_INVALID_ARGUMENT, "threads = 1000000");
  EXPECT_NE(tulle_context_create_cuda(-1, &made), TULLE_STATUS_SUCCESS);
  EXPECT_NE(tulle_context_create_cuda_stream(1 << 20, nullptr, &made), TULLE_STATUS_SUCCESS);
  EXPECT_EQ(made, nullptr);
  null(tulle_context_space(nullptr, &space), "context");
  null(tulle_context_space(context.get(), nullptr), "space");
  null(tulle_context_synchronize(nullptr), "context");
  TULLE_EXPECT_OK(tulle_context_synchronize(context.get()));
}

TEST_F(capi_arguments, buffer) {
  tulle_buffer* made = nullptr;
  void* data = nullptr;
  null(tulle_buffer_create(nullptr, 8, &made), "context");
  null(tulle_buffer_create(context.get(), 8, nullptr), "buffer");
  refused(tulle_buffer_create(context.get(), std::numeric_limits<std::size_t>::max() / 2, &made),
          TULLE_STATUS_OUT_OF_MEMORY, "");
  EXPECT_EQ(made, nullptr);
  null(tulle_buffer_copy_in(nullptr, x.data(), 8), "buffer");
  null(tulle_buffer_copy_in(buffer.get(), nullptr, 8), "host");
  refused(tulle_buffer_copy_in(buffer.get(), x.data(), 17), TULLE_STATUS_INVALID_DIMENSIONS, "bytes = 17");
  null(tulle_buffer_copy_out(nullptr, x.data(), 8), "buffer");
  null(tulle_buffer_copy_out(buffer.get(), nullptr, 8), "host");
  refused(tulle_buffer_copy_out(buffer.get(), x.data(), 17), TULLE_STATUS_INVALID_DIMENSIONS, "bytes = 17");
  null(tulle_buffer_data(nullptr, &data), "buffer");
  null(tulle_buffer_data(buffer.get(), nullptr), "data");
  TULLE_EXPECT_OK(tulle_buffer_copy_in(buffer.get(), nullptr, 0));
}

TEST_F(capi_arguments, csr) {
  tulle_csr* made = nullptr;
  for (const auto make : {tulle_csr_copy, tulle_csr_borrow}) {
    null(make(nullptr, &arrays, &made), "context");
    null(make(context.get(), nullptr, &made), "arrays");
    null(make(context.get(), &arrays, nullptr), "matrix");
  }
  null(tulle_csr_read_matrix_market(nullptr, "a.mtx", TULLE_F64, &made), "context");
  null(tulle_csr_read_matrix_market(context.get(), nullptr, TULLE_F64, &made), "path");
  null(tulle_csr_read_matrix_market(context.get(), "a.mtx", TULLE_F64, nullptr), "matrix");
  refused(tulle_csr_read_matrix_market(context.get(), "a.mtx", 7, &made), TULLE_STATUS_INVALID_ARGUMENT, "scalar_type");
  refused(tulle_csr_read_matrix_market(context.get(), "/there/is/no/such.mtx", TULLE_F32, &made), TULLE_STATUS_FILE_IO,
          "/there/is/no/such.mtx");
  null(tulle_csr_get_arrays(nullptr, &arrays), "matrix");
  null(tulle_csr_get_arrays(matrix.get(), nullptr), "arrays");
}

TEST_F(capi_arguments, plan_create) {
  tulle_spmv_plan* made = nullptr;
  null(tulle_spmv_plan_create(nullptr, matrix.get(), nullptr, &made), "context");
  null(tulle_spmv_plan_create(context.get(), nullptr, nullptr, &made), "matrix");
  null(tulle_spmv_plan_create(context.get(), matrix.get(), nullptr, nullptr), "plan");
  refused(tulle_spmv_plan_create(context.get(), matrix.get(), "csr.nonsense", &made), TULLE_STATUS_INVALID_ARGUMENT,
          "csr.nonsense");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_arguments, plan_create_with) {
  tulle_spmv_plan* made = nullptr;
  tulle_spmv_options options{nullptr, TULLE_EFFORT_STANDARD, 0};
  const auto create = [&] { return tulle_spmv_plan_create_with(context.get(), matrix.get(), &options, &made); };
  null(tulle_spmv_plan_create_with(nullptr, matrix.get(), &options, &made), "context");
  null(tulle_spmv_plan_create_with(context.get(), nullptr, &options, &made), "matrix");
  null(tulle_spmv_plan_create_with(context.get(), matrix.get(), &options, nullptr), "plan");
  options.effort = 3;
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "options->effort = 3");
  options.effort = TULLE_EFFORT_STANDARD;
  options.transpose = 2;
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "options->transpose = 2");
  options.transpose = 0;
  options.kernel = "csr.nonsense";
  refused(create(), TULLE_STATUS_INVALID_ARGUMENT, "csr.nonsense");
  EXPECT_EQ(made, nullptr);
  TULLE_EXPECT_OK(tulle_spmv_plan_create_with(context.get(), matrix.get(), nullptr, &made));
  tulle_spmv_plan_destroy(made);
}

TEST_F(capi_arguments, plan_apply_many) {
  std::array<double, 8> many_x{};
  std::array<double, 6> many_y{};
  tulle_multivector in{4, 2, 2, TULLE_ROW_MAJOR, many_x.data()}, out{3, 2, 2, TULLE_ROW_MAJOR, many_y.data()};
  const auto apply = [&] { return tulle_spmv_plan_apply_many(plan.get(), 1, &in, 0, &out); };
  TULLE_ASSERT_OK(apply());
  null(tulle_spmv_plan_apply_many(nullptr, 1, &in, 0, &out), "plan");
  null(tulle_spmv_plan_apply_many(plan.get(), 1, nullptr, 0, &out), "x");
  null(tulle_spmv_plan_apply_many(plan.get(), 1, &in, 0, nullptr), "y");
  const auto with = [&](auto tulle_multivector::*member, auto value, tulle_status expected, const char* words) {
    const tulle_multivector before = in;
    in.*member = value;
    refused(apply(), expected, words);
    in = before;
  };
  with(&tulle_multivector::rows, std::int64_t{3}, TULLE_STATUS_INVALID_DIMENSIONS, "X has 3 rows");
  with(&tulle_multivector::rows, std::int64_t{1} << 31, TULLE_STATUS_INVALID_DIMENSIONS, "x->rows = 2147483648");
  with(&tulle_multivector::count, std::int64_t{-1}, TULLE_STATUS_INVALID_DIMENSIONS, "x->count = -1");
  with(&tulle_multivector::count, std::int64_t{1}, TULLE_STATUS_INVALID_DIMENSIONS, "X has 1 vectors, Y has 2");
  with(&tulle_multivector::ld, std::int64_t{1}, TULLE_STATUS_INVALID_DIMENSIONS, "X has ld = 1");
  with(&tulle_multivector::order, 2, TULLE_STATUS_INVALID_ARGUMENT, "x->order = 2");
  with(&tulle_multivector::data, static_cast<void*>(nullptr), TULLE_STATUS_NULL_POINTER, "X is null");
  with(&tulle_multivector::data, static_cast<void*>(many_y.data()), TULLE_STATUS_INVALID_ARGUMENT, "overlap");
}

TEST_F(capi_arguments, plan_apply) {
  const auto apply = [&](const void* in, std::int64_t in_size, void* out, std::int64_t out_size) {
    return tulle_spmv_plan_apply(plan.get(), 1, in, in_size, 0, out, out_size);
  };
  TULLE_ASSERT_OK(apply(x.data(), 4, y.data(), 3));
  null(tulle_spmv_plan_apply(nullptr, 1, x.data(), 4, 0, y.data(), 3), "plan");
  null(apply(nullptr, 4, y.data(), 3), "x");
  null(apply(x.data(), 4, nullptr, 3), "y");
  refused(apply(x.data(), 3, y.data(), 3), TULLE_STATUS_INVALID_DIMENSIONS, "x has 3");
  refused(apply(x.data(), 4, y.data(), 2), TULLE_STATUS_INVALID_DIMENSIONS, "y has 2");
  refused(apply(x.data(), -4, y.data(), 3), TULLE_STATUS_INVALID_DIMENSIONS, "x_size = -4");
  refused(apply(x.data(), 4, y.data(), -3), TULLE_STATUS_INVALID_DIMENSIONS, "y_size = -3");
  refused(apply(x.data(), 4, x.data() + 1, 3), TULLE_STATUS_INVALID_ARGUMENT, "overlap");
}

TEST_F(capi_arguments, i32_coefficients_are_whole_numbers) {
  const csr_handle whole = small_matrix<std::int32_t, std::int32_t>().on(context);
  const auto whole_plan = made<plan_handle>(tulle_spmv_plan_create, context.get(), whole.get(), nullptr);
  const std::array<std::int32_t, 4> in{1, 2, 3, 4};
  std::array<std::int32_t, 3> out{};
  const auto apply = [&](double alpha, double beta) {
    return tulle_spmv_plan_apply(whole_plan.get(), alpha, in.data(), 4, beta, out.data(), 3);
  };
  TULLE_EXPECT_OK(apply(-2147483648.0, 0));
  refused(apply(0.5, 0), TULLE_STATUS_INVALID_ARGUMENT, "alpha = 0.5");
  refused(apply(1, 2147483648.0), TULLE_STATUS_INVALID_ARGUMENT, "beta = 2147483648");
  refused(apply(std::nan(""), 0), TULLE_STATUS_INVALID_ARGUMENT, "alpha = nan");
}

TEST_F(capi_arguments, plan_update_values) {
  const std::array<double, 5> values{1, 1, 1, 1, 1};
  null(tulle_spmv_plan_update_values(nullptr, values.data(), 5, TULLE_HOST), "plan");
  null(tulle_spmv_plan_update_values(plan.get(), nullptr, 5, TULLE_HOST), "values");
  refused(tulle_spmv_plan_update_values(plan.get(), values.data(), 4, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS,
          "4");
  refused(tulle_spmv_plan_update_values(plan.get(), values.data(), -5, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS,
          "count = -5");
  refused(tulle_spmv_plan_update_values(plan.get(), values.data(), 5, 9), TULLE_STATUS_INVALID_ARGUMENT, "space");
  refused(tulle_spmv_plan_update_values(plan.get(), values.data(), 5, TULLE_DEVICE), TULLE_STATUS_INVALID_ARGUMENT,
          "device");
}

TEST_F(capi_arguments, plan_queries) {
  const char* text = nullptr;
  std::size_t bytes = 0;
  null(tulle_spmv_plan_explain(nullptr, &text), "plan");
  null(tulle_spmv_plan_explain(plan.get(), nullptr), "sentence");
  null(tulle_spmv_plan_kernel(nullptr, &text), "plan");
  null(tulle_spmv_plan_kernel(plan.get(), nullptr), "name");
  null(tulle_spmv_plan_workspace(nullptr, &bytes), "plan");
  null(tulle_spmv_plan_workspace(plan.get(), nullptr), "bytes");
}

TEST_F(capi_arguments, destroying_null_does_nothing) {
  tulle_context_destroy(nullptr);
  tulle_buffer_destroy(nullptr);
  tulle_csr_destroy(nullptr);
  tulle_spmv_plan_destroy(nullptr);
}

}  // namespace
}  // namespace tulle::test

// Every entry point with each of its arguments wrong in turn: the status, and the argument's name in the message.
#include <cmath>
#include <limits>

#include "handles.hpp"

namespace tulle::test {
namespace {

/// One of everything, made right.
class capi_arguments : public testing::Test {
 protected:
  const plain_csr<double, std::int32_t> a = small_matrix();
  tulle_csr_arrays arrays = arrays_of(a);
  context_handle context = cpu_context();
  buffer_handle buffer = made<buffer_handle>(tulle_buffer_create, context, 16);
  csr_handle matrix = placed(context, a);
  plan_handle plan = made<plan_handle>(tulle_spmv_plan_create, context, matrix, nullptr);
  std::array<double, 4> x{1, 2, 3, 4};
  std::array<double, 3> y{};
};

TEST_F(capi_arguments, context) {
  tulle_context* made = nullptr;
  tulle_memory_space space = -1;
  null_in_turn(tulle_context_create_best, {"context"}, &made);
  null_in_turn(tulle_context_create_cpu, {"context"}, 1, &made);
  null_in_turn(tulle_context_create_cuda, {"context"}, 0, &made);
  null_in_turn(tulle_context_create_cuda_stream, {"", "context"}, 0, nullptr, &made);
  refused(tulle_context_create_cpu(-1, &made), TULLE_STATUS_INVALID_ARGUMENT, "threads");
  refused(tulle_context_create_cpu(1'000'000, &made), TULLE_STATUS_INVALID_ARGUMENT, "threads = 1000000");
  EXPECT_NE(tulle_context_create_cuda(-1, &made), TULLE_STATUS_SUCCESS);
  EXPECT_NE(tulle_context_create_cuda_stream(1 << 20, nullptr, &made), TULLE_STATUS_SUCCESS);
  EXPECT_EQ(made, nullptr);
  null_in_turn(tulle_context_space, {"context", "space"}, context, &space);
  null_in_turn(tulle_context_synchronize, {"context"}, context);
  TULLE_EXPECT_OK(tulle_context_synchronize(context.get()));
}

TEST_F(capi_arguments, buffer) {
  tulle_buffer* made = nullptr;
  void* data = nullptr;
  null_in_turn(tulle_buffer_create, {"context", "buffer"}, context, 8, &made);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes :
       {most, most - 1, most - 62, most - 63, most - 4096, most - (std::size_t{1} << 21), most / 2 + 1, most / 2}) {
    refused(tulle_buffer_create(context.get(), bytes, &made), TULLE_STATUS_OUT_OF_MEMORY, std::to_string(bytes));
  }
  EXPECT_EQ(made, nullptr);
  null_in_turn(tulle_buffer_copy_in, {"buffer", "host"}, buffer, x.data(), 8);
  refused(tulle_buffer_copy_in(buffer.get(), x.data(), 17), TULLE_STATUS_INVALID_DIMENSIONS, "bytes = 17");
  null_in_turn(tulle_buffer_copy_out, {"buffer", "host"}, buffer, x.data(), 8);
  refused(tulle_buffer_copy_out(buffer.get(), x.data(), 17), TULLE_STATUS_INVALID_DIMENSIONS, "bytes = 17");
  null_in_turn(tulle_buffer_data, {"buffer", "data"}, buffer, &data);
  TULLE_EXPECT_OK(tulle_buffer_copy_in(buffer.get(), nullptr, 0));
}

TEST_F(capi_arguments, csr) {
  tulle_csr* made = nullptr;
  for (const auto make : {tulle_csr_copy, tulle_csr_borrow}) {
    null_in_turn(make, {"context", "arrays", "matrix"}, context, &arrays, &made);
  }
  null_in_turn(tulle_csr_read_matrix_market, {"context", "path", "matrix"}, context, "a.mtx", TULLE_F64, &made);
  const auto read = [&](const char* path, tulle_scalar_type type) {
    return tulle_csr_read_matrix_market(context.get(), path, type, &made);
  };
  refused(read("a.mtx", 7), TULLE_STATUS_INVALID_ARGUMENT, "scalar_type");
  refused(read("/there/is/no/such.mtx", TULLE_F32), TULLE_STATUS_FILE_IO, "/there/is/no/such.mtx");
  null_in_turn(tulle_csr_get_arrays, {"matrix", "arrays"}, matrix, &arrays);
}

TEST_F(capi_arguments, plan_create) {
  tulle_spmv_plan* made = nullptr;
  null_in_turn(tulle_spmv_plan_create, {"context", "matrix", "", "plan"}, context, matrix, nullptr, &made);
  refused(tulle_spmv_plan_create(context.get(), matrix.get(), "csr.nonsense", &made), TULLE_STATUS_INVALID_ARGUMENT,
          "csr.nonsense");
  EXPECT_EQ(made, nullptr);
}

TEST_F(capi_arguments, plan_create_with) {
  tulle_spmv_plan* made = nullptr;
  null_in_turn(tulle_spmv_plan_create_with, {"context", "matrix", "", "plan"}, context, matrix, nullptr, &made);
  const auto refuse = [&](const tulle_spmv_options& options, const char* words) {
    refused(tulle_spmv_plan_create_with(context.get(), matrix.get(), &options, &made), TULLE_STATUS_INVALID_ARGUMENT,
            words);
  };
  refuse({nullptr, 3, 0, nullptr, 0, nullptr, 0, 0}, "options->effort = 3");
  refuse({nullptr, TULLE_EFFORT_STANDARD, 2, nullptr, 0, nullptr, 0, 0}, "options->transpose = 2");
  refuse({nullptr, TULLE_EFFORT_STANDARD, 0, nullptr, 3, nullptr, 0, 0}, "options->reorder = 3");
  for (const double tolerance : {-1e-3, 1.0, std::nan("")}) {
    refuse({nullptr, TULLE_EFFORT_STANDARD, 0, nullptr, 0, nullptr, tolerance, 0}, "options->tolerance = ");
  }
  refuse({nullptr, TULLE_EFFORT_STANDARD, 0, nullptr, 0, nullptr, 1e-3, 3}, "options->bound = 3");
  refuse({"csr.nonsense", TULLE_EFFORT_STANDARD, 0, nullptr, 0, nullptr, 0, 0}, "csr.nonsense");
  const tulle_scalar_type unknown = 7, f32 = TULLE_F32;
  refuse({nullptr, TULLE_EFFORT_STANDARD, 0, &unknown, 0, nullptr, 0, 0}, "options->vector_type = 7");
  const tulle_spmv_options no_such_kernel{nullptr, TULLE_EFFORT_STANDARD, 0, &f32, 0, nullptr, 0, 0};
  refused(tulle_spmv_plan_create_with(context.get(), matrix.get(), &no_such_kernel, &made), TULLE_STATUS_UNSUPPORTED,
          "f64 values under f32 vectors");
  EXPECT_EQ(made, nullptr);
  EXPECT_NE(test::made<plan_handle>(tulle_spmv_plan_create_with, context, matrix, nullptr), nullptr);
}

TEST_F(capi_arguments, plan_apply_many) {
  std::array<double, 8> many_x{};
  std::array<double, 6> many_y{};
  tulle_multivector in{4, 2, 2, TULLE_ROW_MAJOR, many_x.data()}, out{3, 2, 2, TULLE_ROW_MAJOR, many_y.data()};
  const auto apply = [&] { return tulle_spmv_plan_apply_many(plan.get(), 1, &in, 0, &out); };
  TULLE_ASSERT_OK(apply());
  null_in_turn(tulle_spmv_plan_apply_many, {"plan", "x", "y"}, plan, 1, &in, 0, &out);
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
  null_in_turn(tulle_spmv_plan_apply, {"plan", "x", "y"}, plan, 1, x.data(), 4, 0, y.data(), 3);
  refused(apply(x.data(), 3, y.data(), 3), TULLE_STATUS_INVALID_DIMENSIONS, "x has 3");
  refused(apply(x.data(), 4, y.data(), 2), TULLE_STATUS_INVALID_DIMENSIONS, "y has 2");
  refused(apply(x.data(), -4, y.data(), 3), TULLE_STATUS_INVALID_DIMENSIONS, "x_size = -4");
  refused(apply(x.data(), 4, y.data(), -3), TULLE_STATUS_INVALID_DIMENSIONS, "y_size = -3");
  refused(apply(x.data(), 4, x.data() + 1, 3), TULLE_STATUS_INVALID_ARGUMENT, "overlap");
}

TEST_F(capi_arguments, i32_coefficients_are_whole_numbers) {
  const csr_handle whole = placed(context, small_matrix<std::int32_t>());
  const auto whole_plan = made<plan_handle>(tulle_spmv_plan_create, context, whole, nullptr);
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
  const auto update = [&](std::int64_t count, tulle_memory_space space) {
    return tulle_spmv_plan_update_values(plan.get(), values.data(), count, space);
  };
  null_in_turn(tulle_spmv_plan_update_values, {"plan", "values"}, plan, values.data(), 5, TULLE_HOST);
  refused(update(4, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS, "4");
  refused(update(-5, TULLE_HOST), TULLE_STATUS_INVALID_DIMENSIONS, "count = -5");
  refused(update(5, 9), TULLE_STATUS_INVALID_ARGUMENT, "space");
  refused(update(5, TULLE_DEVICE), TULLE_STATUS_INVALID_ARGUMENT, "device");
}

TEST_F(capi_arguments, plan_queries) {
  const char* text = nullptr;
  std::size_t bytes = 0;
  null_in_turn(tulle_spmv_plan_explain, {"plan", "sentence"}, plan, &text);
  null_in_turn(tulle_spmv_plan_kernel, {"plan", "name"}, plan, &text);
  null_in_turn(tulle_spmv_plan_workspace, {"plan", "bytes"}, plan, &bytes);
}

TEST_F(capi_arguments, destroying_null_does_nothing) {
  tulle_context_destroy(nullptr);
  tulle_buffer_destroy(nullptr);
  tulle_csr_destroy(nullptr);
  tulle_spmv_plan_destroy(nullptr);
  tulle_spgemm_plan_destroy(nullptr);
}

}  // namespace
}  // namespace tulle::test

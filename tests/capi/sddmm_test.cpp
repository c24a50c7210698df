// C = alpha P o (U V^T) + beta C through the C API, on both backends.
#include "handles.hpp"
#include "support/types.hpp"

namespace tulle::test {
namespace {

class capi_sddmm : public on_each_backend {
 protected:
  template <class T>
  buffer_handle upload(const std::vector<T>& from) {
    auto made_buffer = made<buffer_handle>(tulle_buffer_create, context, from.size() * sizeof(T));
    TULLE_EXPECT_OK(tulle_buffer_copy_in(made_buffer.get(), from.data(), from.size() * sizeof(T)));
    return made_buffer;
  }
  static void* data(const buffer_handle& b) { return got<void*>(tulle_buffer_data, b); }
  template <class T>
  std::vector<T> read(const buffer_handle& from, std::size_t count) {
    std::vector<T> to(count);
    TULLE_EXPECT_OK(tulle_buffer_copy_out(from.get(), to.data(), count * sizeof(T)));
    return to;
  }
};
TULLE_ON_BOTH_BACKENDS(capi_sddmm);

// U V^T of U = [1 2; 3 4; 5 6] and V = [1 0; 0 1; 1 1; 2 -1] is [1 2 3 0; 3 4 7 2; 5 6 11 4], of which small_matrix has
// (0, 0), (0, 2), (2, 0), (2, 1) and (2, 3).
TEST_P(capi_sddmm, both_orders_types_and_factors) {
  for_types_and_offsets<float, double>([&]<class T, class O>() {
    const csr_handle a = placed(context, small_matrix<T, O>());
    const auto u = upload<T>({1, 2, 3, 4, 5, 6}), v = upload<T>({1, 0, 1, 2, 0, 1, 1, -1}),
               c = upload<T>({1, 1, 1, 1, 1});
    const tulle_multivector by_row{3, 2, 2, TULLE_ROW_MAJOR, data(u)}, by_column{4, 2, 4, TULLE_COLUMN_MAJOR, data(v)};
    for (const std::int32_t panels : {0, 1}) {
      tulle_sddmm_options options{};
      options.column_major = panels;
      const auto plan = made<sddmm_handle>(tulle_sddmm_plan_create, context, a, &options);
      TULLE_EXPECT_OK(tulle_sddmm_plan_apply(plan.get(), 2, &by_row, &by_column, 0, data(c), 5));
      EXPECT_EQ(read<T>(c, 5), (std::vector<T>{2, 6, 10, 12, 8}));
      TULLE_EXPECT_OK(tulle_sddmm_plan_apply(plan.get(), 1, &by_row, &by_column, -1, data(c), 5));
      EXPECT_EQ(read<T>(c, 5), (std::vector<T>{-1, -3, -5, -6, -4}));
    }
    TULLE_EXPECT_OK(tulle_sddmm(context.get(), a.get(), &by_row, &by_column, data(c), 5));
    EXPECT_EQ(read<T>(c, 5), (std::vector<T>{1, 3, 5, 6, 4}));
  });
}

TEST_P(capi_sddmm, times_values_and_new_ones) {
  const csr_handle a = placed(context, small_matrix());
  tulle_sddmm_options options{};
  options.times_values = 1;
  const auto plan = made<sddmm_handle>(tulle_sddmm_plan_create, context, a, &options);
  const auto u = upload<double>({1, 2, 3, 4, 5, 6}), v = upload<double>({1, 0, 0, 1, 1, 1, 2, -1}),
             c = upload<double>({0, 0, 0, 0, 0});
  const tulle_multivector of_u{3, 2, 2, TULLE_ROW_MAJOR, data(u)}, of_v{4, 2, 2, TULLE_ROW_MAJOR, data(v)};
  TULLE_EXPECT_OK(tulle_sddmm_plan_apply(plan.get(), 1, &of_u, &of_v, 0, data(c), 5));
  EXPECT_EQ(read<double>(c, 5), (std::vector<double>{1, 6, -15, 24, 20}));
  const std::vector<double> other{1, 1, 1, 1, 10};
  TULLE_EXPECT_OK(tulle_sddmm_plan_update_values(plan.get(), other.data(), 5, TULLE_HOST));
  TULLE_EXPECT_OK(tulle_sddmm_plan_apply(plan.get(), 1, &of_u, &of_v, 0, data(c), 5));
  EXPECT_EQ(read<double>(c, 5), (std::vector<double>{1, 3, 5, 6, 40}));
  EXPECT_STREQ(got<const char*>(tulle_sddmm_plan_kernel, plan), "csr.dots");
  EXPECT_NE(std::string(got<const char*>(tulle_sddmm_plan_explain, plan)).find("csr.dots: "), std::string::npos);
}

TEST_P(capi_sddmm, refuses_what_does_not_fit) {
  const csr_handle a = placed(context, small_matrix()), whole = placed(context, small_matrix<std::int32_t>());
  tulle_sddmm_plan* none = nullptr;
  refused(tulle_sddmm_plan_create(context.get(), whole.get(), nullptr, &none), TULLE_STATUS_INVALID_ARGUMENT, "i32");
  tulle_sddmm_options options{};
  options.kernel = "no such";
  refused(tulle_sddmm_plan_create(context.get(), a.get(), &options, &none), TULLE_STATUS_INVALID_ARGUMENT,
          "no kernel 'no such'");
  const auto plan = made<sddmm_handle>(tulle_sddmm_plan_create, context, a, nullptr);
  const auto u = upload<double>(std::vector<double>(64, 1));
  double* const at = static_cast<double*>(data(u));
  const tulle_multivector of_u{3, 2, 2, TULLE_ROW_MAJOR, at}, of_v{4, 2, 2, TULLE_ROW_MAJOR, at + 6};
  const auto apply = [&](const tulle_multivector& of, const tulle_multivector& other, double* c, std::int64_t size) {
    return tulle_sddmm_plan_apply(plan.get(), 1, &of, &other, 0, c, size);
  };
  TULLE_EXPECT_OK(apply(of_u, of_v, at + 32, 5));
  refused(apply(of_v, of_v, at + 32, 5), TULLE_STATUS_INVALID_DIMENSIONS, "U has 4 rows");
  refused(apply(of_u, of_u, at + 32, 5), TULLE_STATUS_INVALID_DIMENSIONS, "V has 3 rows");
  refused(apply(of_u, {4, 3, 3, TULLE_ROW_MAJOR, at + 6}, at + 32, 5), TULLE_STATUS_INVALID_DIMENSIONS,
          "U has 2 features, V has 3");
  refused(apply(of_u, of_v, at + 32, 4), TULLE_STATUS_INVALID_DIMENSIONS, "c has 4 elements");
  refused(apply(of_u, of_v, at + 4, 5), TULLE_STATUS_INVALID_ARGUMENT, "U and c overlap");
  refused(apply(of_u, of_v, at + 13, 5), TULLE_STATUS_INVALID_ARGUMENT, "V and c overlap");
  refused(tulle_sddmm_plan_update_values(plan.get(), at, 5, is_cpu() ? TULLE_HOST : TULLE_DEVICE),
          TULLE_STATUS_INVALID_ARGUMENT, "times_values");
  null_in_turn(tulle_sddmm_plan_apply, {"plan", "u", "v", "c"}, plan, 1.0, &of_u, &of_v, 0.0,
               static_cast<void*>(at + 32), 5);
}

}  // namespace
}  // namespace tulle::test

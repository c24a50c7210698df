// C = M o (alpha A B) + beta D through the C API, on both backends.
#include <cmath>
#include <limits>
#include <string>

#include "handles.hpp"

namespace tulle::test {
namespace {

using spgemm_handle = std::unique_ptr<tulle_spgemm_plan, destroyer<tulle_spgemm_plan, tulle_spgemm_plan_destroy>>;

/// A CSR as the tests compare them.
struct dense_rows {
  std::vector<std::int64_t> rowptr;
  std::vector<std::int32_t> colind;
  std::vector<double> values;
  bool operator==(const dense_rows&) const = default;
};
void PrintTo(const dense_rows& c, std::ostream* out) {
  for (const auto k : c.rowptr) *out << k << ' ';
  for (std::size_t k = 0; k < c.colind.size(); ++k) *out << '(' << c.colind[k] << ' ' << c.values[k] << ')';
}

class capi_spgemm : public on_each_backend {
 protected:
  /// [1 0 2 0; 0 0 0 0; -3 4 0 5]
  template <class T = double, class O = std::int32_t>
  csr_handle a() {
    return copy(small_matrix<T, O>().arrays());
  }
  /// [0 1; 2 0; 0 0; 1 1]
  template <class T = double, class O = std::int32_t>
  csr_handle b() {
    const std::vector<O> rowptr{0, 1, 2, 2, 4};
    const std::vector<std::int32_t> colind{1, 0, 0, 1};
    const std::vector<T> values{1, 2, 1, 1};
    tulle_csr_arrays arrays = small_matrix<T, O>().arrays();
    arrays = {
        4, 2, 4, arrays.scalar_type, arrays.offset_type, 0, TULLE_HOST, rowptr.data(), colind.data(), values.data()};
    return copy(arrays);
  }
  csr_handle copy(const tulle_csr_arrays& arrays) {
    tulle_csr* made = nullptr;
    TULLE_EXPECT_OK(tulle_csr_copy(context.get(), &arrays, &made));
    return csr_handle(made);
  }
  spgemm_handle plan_of(const csr_handle& left, const csr_handle& right,
                        const tulle_spgemm_options* options = nullptr) {
    tulle_spgemm_plan* made = nullptr;
    TULLE_EXPECT_OK(tulle_spgemm_plan_create(context.get(), left.get(), right.get(), options, &made));
    return spgemm_handle(made);
  }
  csr_handle multiply(const spgemm_handle& plan, double alpha = 1, double beta = 0) {
    tulle_csr* made = nullptr;
    TULLE_EXPECT_OK(tulle_spgemm_plan_multiply(plan.get(), alpha, beta, &made));
    return csr_handle(made);
  }
  csr_handle product_handle(const csr_handle& left, const csr_handle& right) {
    tulle_csr* made = nullptr;
    TULLE_EXPECT_OK(tulle_spgemm(context.get(), left.get(), right.get(), &made));
    return csr_handle(made);
  }
  dense_rows rows_of(const csr_handle& c) {
    tulle_csr_arrays arrays;
    TULLE_EXPECT_OK(tulle_csr_get_arrays(c.get(), &arrays));
    const auto nnz = static_cast<std::size_t>(arrays.nnz);
    EXPECT_EQ(arrays.offset_type, TULLE_OFFSET_I32) << "64-bit offsets only where they are needed";
    std::vector<std::int32_t> rowptr(static_cast<std::size_t>(arrays.rows) + 1);
    dense_rows out{{}, std::vector<std::int32_t>(nnz), std::vector<double>(nnz)};
    std::vector<float> single(nnz);
    std::vector<std::int32_t> whole(nnz);
    void* const values = arrays.scalar_type == TULLE_F32   ? static_cast<void*>(single.data())
                         : arrays.scalar_type == TULLE_I32 ? static_cast<void*>(whole.data())
                                                           : out.values.data();
    TULLE_EXPECT_OK(tulle_csr_copy_out(context.get(), c.get(), rowptr.data(), out.colind.data(), values));
    out.rowptr.assign(rowptr.begin(), rowptr.end());
    if (arrays.scalar_type == TULLE_F32) out.values.assign(single.begin(), single.end());
    if (arrays.scalar_type == TULLE_I32) out.values.assign(whole.begin(), whole.end());
    return out;
  }

  const dense_rows product{{0, 1, 1, 3}, {1, 0, 1}, {1, 13, 2}};  // A B
};

TEST_P(capi_spgemm, every_type_and_mixed_offsets) {
  const auto expect = [&](const csr_handle& left, const csr_handle& right) {
    tulle_csr* made = nullptr;
    TULLE_ASSERT_OK(tulle_spgemm(context.get(), left.get(), right.get(), &made));
    EXPECT_EQ(rows_of(csr_handle(made)), product);
  };
  expect(a<float, std::int32_t>(), b<float, std::int32_t>());
  expect(a<float, std::int64_t>(), b<float, std::int64_t>());
  expect(a<double, std::int32_t>(), b<double, std::int64_t>());
  expect(a<double, std::int64_t>(), b<double, std::int32_t>());
  expect(a<std::int32_t, std::int32_t>(), b<std::int32_t, std::int32_t>());
  expect(a<std::int32_t, std::int64_t>(), b<std::int32_t, std::int32_t>());
}

TEST_P(capi_spgemm, integers_take_whole_factors_and_wrap) {
  const csr_handle left = a<std::int32_t>(), right = b<std::int32_t>();
  const spgemm_handle plan = plan_of(left, right);
  tulle_csr* made = nullptr;
  EXPECT_EQ(tulle_spgemm_plan_multiply(plan.get(), 0.5, 0, &made), TULLE_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(tulle_last_error_message()).find("alpha = 0.5"), std::string::npos);
  EXPECT_EQ(rows_of(multiply(plan, 1 << 30)), (dense_rows{{0, 1, 1, 3}, {1, 0, 1}, {1 << 30, 1 << 30, -2147483648.0}}));
}

TEST_P(capi_spgemm, symbolic_then_the_product_then_other_numbers) {
  const csr_handle left = a(), right = b();
  const spgemm_handle plan = plan_of(left, right);
  std::int64_t nnz = -1, products = -1;
  TULLE_ASSERT_OK(tulle_spgemm_plan_symbolic(plan.get(), &nnz));
  TULLE_ASSERT_OK(tulle_spgemm_plan_products(plan.get(), &products));
  EXPECT_EQ(nnz, 3);
  EXPECT_EQ(products, 5);
  const csr_handle c = multiply(plan, 2);
  EXPECT_EQ(rows_of(c), (dense_rows{{0, 1, 1, 3}, {1, 0, 1}, {2, 26, 4}}));
  TULLE_ASSERT_OK(tulle_spgemm_plan_numeric(plan.get(), -1, 0, c.get()));
  EXPECT_EQ(rows_of(c), (dense_rows{{0, 1, 1, 3}, {1, 0, 1}, {-1, -13, -2}}));

  tulle_csr_arrays arrays;
  TULLE_ASSERT_OK(tulle_csr_get_arrays(right.get(), &arrays));
  const small_matrix<double, std::int32_t> numbers;
  tulle_buffer* made = nullptr;
  TULLE_ASSERT_OK(tulle_buffer_create(context.get(), 5 * sizeof(double), &made));
  const buffer_handle buffer(made);
  const std::vector<double> tenfold{10, 20, -30, 40, 50};
  TULLE_ASSERT_OK(tulle_buffer_copy_in(made, tenfold.data(), 5 * sizeof(double)));
  void* values = nullptr;
  TULLE_ASSERT_OK(tulle_buffer_data(made, &values));
  TULLE_ASSERT_OK(tulle_spgemm_plan_update_values(plan.get(), values, arrays.values, nullptr));
  TULLE_ASSERT_OK(tulle_spgemm_plan_numeric(plan.get(), 1, 0, c.get()));
  EXPECT_EQ(rows_of(c), (dense_rows{{0, 1, 1, 3}, {1, 0, 1}, {10, 130, 20}}));
}

TEST_P(capi_spgemm, transposes) {
  const csr_handle left = a(), right = b();
  tulle_spgemm_options options{};
  options.transpose_a = 1;  // A^T A
  EXPECT_EQ(
      rows_of(multiply(plan_of(left, left, &options))),
      (dense_rows{
          {0, 4, 7, 9, 12}, {0, 1, 2, 3, 0, 1, 3, 0, 2, 0, 1, 3}, {10, -12, 2, -15, -12, 16, 20, 2, 4, -15, 20, 25}}));
  options.transpose_a = 0;
  options.transpose_b = 1;  // B B^T
  EXPECT_EQ(rows_of(multiply(plan_of(right, right, &options))),
            (dense_rows{{0, 2, 4, 4, 7}, {0, 3, 1, 3, 0, 1, 3}, {1, 1, 4, 2, 1, 2, 2}}));
}

TEST_P(capi_spgemm, a_mask_and_a_matrix_to_add) {
  const csr_handle left = a(), right = b();
  const std::vector<std::int32_t> rowptr{0, 1, 2, 3}, colind{0, 0, 1};
  const std::vector<double> values{7, 8, 9};  // [7 0; 8 0; 0 9]
  const csr_handle m =
      copy({3, 2, 3, TULLE_F64, TULLE_OFFSET_I32, 0, TULLE_HOST, rowptr.data(), colind.data(), values.data()});
  tulle_spgemm_options options{};
  options.mask = m.get();
  EXPECT_EQ(rows_of(multiply(plan_of(left, right, &options))), (dense_rows{{0, 0, 0, 1}, {1}, {2}}));
  options.d = m.get();
  EXPECT_EQ(rows_of(multiply(plan_of(left, right, &options), 1, 10)),
            (dense_rows{{0, 1, 2, 3}, {0, 0, 1}, {70, 80, 92}}));
  options.mask = nullptr;
  EXPECT_EQ(rows_of(multiply(plan_of(left, right, &options), 1, 10)),
            (dense_rows{{0, 2, 3, 5}, {0, 1, 0, 0, 1}, {70, 1, 80, 13, 92}}));
}

TEST_P(capi_spgemm, a_triple_product) {
  const csr_handle left = a(), right = b(), wide = b<double, std::int64_t>();
  tulle_spgemm_options options{};
  options.transpose_a = 1;
  const csr_handle middle = multiply(plan_of(left, left, &options));  // A^T A
  tulle_csr* made = nullptr;
  TULLE_EXPECT_OK(
      tulle_triple_product(context.get(), left.get(), middle.get(), right.get(), nullptr, &made));  // A (A^T A) B
  const csr_handle c(made);
  EXPECT_EQ(rows_of(c), rows_of(product_handle(product_handle(left, middle), right)));
  options = {};
  options.memory_limit = std::size_t{1} << 30;
  TULLE_EXPECT_OK(tulle_triple_product(context.get(), left.get(), middle.get(), wide.get(), &options, &made));
  EXPECT_EQ(rows_of(csr_handle(made)), rows_of(c)) << "offsets of both widths";
}

TEST_P(capi_spgemm, an_estimate) {
  const csr_handle left = a(), right = b();
  tulle_spgemm_estimate e{};
  TULLE_EXPECT_OK(tulle_estimate_spgemm(context.get(), left.get(), right.get(), nullptr, &e));
  EXPECT_EQ(e.products, 5);
  EXPECT_GE(e.nnz_bound, 3);
  EXPECT_EQ(e.nnz, 3);
  EXPECT_GE(e.c_bytes_bound, 4 * 4 + 3 * 12u);
}

TEST_P(capi_spgemm, a_memory_limit_is_kept_or_refused) {
  const csr_handle left = a(), right = b();
  tulle_spgemm_options options{};
  options.memory_limit = std::size_t{1} << 30;
  EXPECT_EQ(rows_of(multiply(plan_of(left, right, &options))), product);
  options.memory_limit = 1;
  const spgemm_handle plan = plan_of(left, right, &options);
  tulle_csr* made = nullptr;
  const tulle_status status = tulle_spgemm_plan_multiply(plan.get(), 1, 0, &made);
  EXPECT_EQ(status, GetParam() == std::string("cpu") ? TULLE_STATUS_OUT_OF_MEMORY : TULLE_STATUS_DEVICE_OUT_OF_MEMORY);
  EXPECT_NE(std::string(tulle_last_error_message()).find("memory_limit"), std::string::npos)
      << tulle_last_error_message();
  EXPECT_EQ(made, nullptr);
}

TEST_P(capi_spgemm, a_plan_outlives_its_matrices_and_a_product_its_plan) {
  csr_handle left = a(), right = b<double, std::int64_t>();
  spgemm_handle plan = plan_of(left, right);
  left.reset();
  right.reset();
  const csr_handle c = multiply(plan);
  plan.reset();
  EXPECT_EQ(rows_of(c), product);
}

TEST_P(capi_spgemm, a_product_is_a_matrix_like_any_other) {
  const csr_handle left = a(), right = b();
  const csr_handle c = multiply(plan_of(left, right));
  tulle_spgemm_options options{};
  options.transpose_b = 1;
  EXPECT_EQ(rows_of(multiply(plan_of(c, c, &options))), (dense_rows{{0, 2, 2, 4}, {0, 2, 0, 2}, {1, 2, 2, 173}}));
  tulle_spmv_plan* made = nullptr;
  TULLE_ASSERT_OK(tulle_spmv_plan_create(context.get(), c.get(), nullptr, &made));
  tulle_spmv_plan_destroy(made);
}

TEST_P(capi_spgemm, an_entry_that_cancels_stays_and_nan_shows) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::int32_t> rowptr{0, 2, 3}, colind{0, 1, 1}, rowptr_b{0, 1, 2}, colind_b{0, 0};
  const std::vector<double> values{1, 1, nan}, values_b{5, -5};
  const csr_handle left =
      copy({2, 2, 3, TULLE_F64, TULLE_OFFSET_I32, 0, TULLE_HOST, rowptr.data(), colind.data(), values.data()});
  const csr_handle right =
      copy({2, 1, 2, TULLE_F64, TULLE_OFFSET_I32, 0, TULLE_HOST, rowptr_b.data(), colind_b.data(), values_b.data()});
  const dense_rows c = rows_of(multiply(plan_of(left, right)));
  EXPECT_EQ(c.rowptr, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(c.values[0], 0);
  EXPECT_TRUE(std::isnan(c.values[1]));
}

TEST_P(capi_spgemm, a_plan_says_what_it_is) {
  const csr_handle left = a(), right = b();
  tulle_spgemm_options options{};
  options.kernel = "kernel0";
  const spgemm_handle plan = plan_of(left, right, &options);
  const char *kernel = nullptr, *sentence = nullptr;
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  TULLE_EXPECT_OK(tulle_spgemm_plan_kernel(plan.get(), &kernel));
  TULLE_EXPECT_OK(tulle_spgemm_plan_explain(plan.get(), &sentence));
  TULLE_EXPECT_OK(tulle_spgemm_plan_workspace(plan.get(), &bytes));
  EXPECT_STREQ(kernel, "kernel0");
  EXPECT_NE(std::string(sentence).find("kernel0"), std::string::npos) << sentence;
  EXPECT_LT(bytes, std::size_t{1} << 30);
  EXPECT_EQ(rows_of(multiply(plan)), product);
}

INSTANTIATE_TEST_SUITE_P(backends, capi_spgemm, testing::Values("cpu", "cuda"),
                         [](const auto& backend) { return std::string(backend.param); });

}  // namespace
}  // namespace tulle::test

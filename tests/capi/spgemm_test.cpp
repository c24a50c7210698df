// C = M o (alpha A B) + beta D through the C API, on both backends.
#include <cmath>
#include <limits>

#include "handles.hpp"

namespace tulle::test {
namespace {

class capi_spgemm : public on_each_backend {
 protected:
  template <class T = double, class O = std::int32_t>
  csr_handle a() {
    return placed(context, small_matrix<T, O>());
  }
  /// [0 1; 2 0; 0 0; 1 1]
  template <class T = double, class O = std::int32_t>
  csr_handle b() {
    return placed(context, plain_csr<T, O>{4, 2, {0, 1, 2, 2, 4}, {1, 0, 0, 1}, {1, 2, 1, 1}});
  }
  spgemm_handle plan_of(const csr_handle& left, const csr_handle& right,
                        const tulle_spgemm_options* options = nullptr) {
    return made<spgemm_handle>(tulle_spgemm_plan_create, context, left, right, options);
  }
  csr_handle multiply(const spgemm_handle& plan, double alpha = 1, double beta = 0) {
    return made<csr_handle>(tulle_spgemm_plan_multiply, plan, alpha, beta);
  }
  csr_handle product_handle(const csr_handle& left, const csr_handle& right) {
    return made<csr_handle>(tulle_spgemm, context, left, right);
  }
  template <class T = double>
  plain_csr<T, std::int32_t> read(const csr_handle& c) {
    const auto arrays = got<tulle_csr_arrays>(tulle_csr_get_arrays, c);
    const auto nnz = static_cast<std::size_t>(arrays.nnz);
    EXPECT_EQ(arrays.scalar_type, static_cast<tulle_scalar_type>(scalar_type_of<T>));
    EXPECT_EQ(arrays.offset_type, TULLE_OFFSET_I32) << "64-bit offsets only where they are needed";
    plain_csr<T, std::int32_t> out{static_cast<index_t>(arrays.rows), static_cast<index_t>(arrays.cols),
                                   std::vector<std::int32_t>(static_cast<std::size_t>(arrays.rows) + 1),
                                   std::vector<index_t>(nnz), std::vector<T>(nnz)};
    TULLE_EXPECT_OK(
        tulle_csr_copy_out(context.get(), c.get(), out.rowptr.data(), out.colind.data(), out.values.data()));
    return out;
  }

  using matrix = plain_csr<double, std::int32_t>;
  /// A B with these values in place of 1, 13 and 2.
  static matrix product_with(const std::vector<double>& values) { return {3, 2, {0, 1, 1, 3}, {1, 0, 1}, values}; }
  const matrix product = product_with({1, 13, 2});
};
TULLE_ON_BOTH_BACKENDS(capi_spgemm);

TEST_P(capi_spgemm, every_type_and_mixed_offsets) {
  const plain_csr<float, std::int32_t> single{3, 2, {0, 1, 1, 3}, {1, 0, 1}, {1, 13, 2}};
  EXPECT_EQ(read<float>(product_handle(a<float, std::int32_t>(), b<float, std::int32_t>())), single);
  EXPECT_EQ(read<float>(product_handle(a<float, std::int64_t>(), b<float, std::int64_t>())), single);
  EXPECT_EQ(read(product_handle(a<double, std::int32_t>(), b<double, std::int64_t>())), product);
  EXPECT_EQ(read(product_handle(a<double, std::int64_t>(), b<double, std::int32_t>())), product);
}

TEST_P(capi_spgemm, symbolic_then_the_product_then_other_numbers) {
  const csr_handle left = a(), right = b();
  const spgemm_handle plan = plan_of(left, right);
  EXPECT_EQ(got<std::int64_t>(tulle_spgemm_plan_symbolic, plan), 3);
  EXPECT_EQ(got<std::int64_t>(tulle_spgemm_plan_products, plan), 5);
  const csr_handle c = multiply(plan, 2);
  EXPECT_EQ(read(c), product_with({2, 26, 4}));
  TULLE_ASSERT_OK(tulle_spgemm_plan_numeric(plan.get(), -1, 0, c.get()));
  EXPECT_EQ(read(c), product_with({-1, -13, -2}));

  const auto buffer = made<buffer_handle>(tulle_buffer_create, context, 5 * sizeof(double));
  const std::vector<double> tenfold{10, 20, -30, 40, 50};
  TULLE_ASSERT_OK(tulle_buffer_copy_in(buffer.get(), tenfold.data(), 5 * sizeof(double)));
  TULLE_ASSERT_OK(tulle_spgemm_plan_update_values(plan.get(), got<void*>(tulle_buffer_data, buffer),
                                                  got<tulle_csr_arrays>(tulle_csr_get_arrays, right).values, nullptr));
  TULLE_ASSERT_OK(tulle_spgemm_plan_numeric(plan.get(), 1, 0, c.get()));
  EXPECT_EQ(read(c), product_with({10, 130, 20}));
}

TEST_P(capi_spgemm, transposes) {
  const csr_handle left = a(), right = b();
  tulle_spgemm_options options = with(&tulle_spgemm_options::transpose_a, 1);
  EXPECT_EQ(read(multiply(plan_of(left, left, &options))), (matrix{4,
                                                                   4,
                                                                   {0, 4, 7, 9, 12},
                                                                   {0, 1, 2, 3, 0, 1, 3, 0, 2, 0, 1, 3},
                                                                   {10, -12, 2, -15, -12, 16, 20, 2, 4, -15, 20, 25}}))
      << "A^T A";
  options = with(&tulle_spgemm_options::transpose_b, 1);
  EXPECT_EQ(read(multiply(plan_of(right, right, &options))),
            (matrix{4, 4, {0, 2, 4, 4, 7}, {0, 3, 1, 3, 0, 1, 3}, {1, 1, 4, 2, 1, 2, 2}}))
      << "B B^T";
}

TEST_P(capi_spgemm, a_mask_and_a_matrix_to_add) {
  const csr_handle left = a(), right = b();
  const csr_handle m = placed(context, matrix{3, 2, {0, 1, 2, 3}, {0, 0, 1}, {7, 8, 9}});  // [7 0; 8 0; 0 9]
  tulle_spgemm_options options = with<const tulle_csr*>(&tulle_spgemm_options::mask, m.get());
  EXPECT_EQ(read(multiply(plan_of(left, right, &options))), (matrix{3, 2, {0, 0, 0, 1}, {1}, {2}}));
  options.d = m.get();
  EXPECT_EQ(read(multiply(plan_of(left, right, &options), 1, 10)),
            (matrix{3, 2, {0, 1, 2, 3}, {0, 0, 1}, {70, 80, 92}}));
  options.mask = nullptr;
  EXPECT_EQ(read(multiply(plan_of(left, right, &options), 1, 10)),
            (matrix{3, 2, {0, 2, 3, 5}, {0, 1, 0, 0, 1}, {70, 1, 80, 13, 92}}));
}

TEST_P(capi_spgemm, a_triple_product) {
  const csr_handle left = a(), right = b(), wide = b<double, std::int64_t>();
  tulle_spgemm_options options = with(&tulle_spgemm_options::transpose_a, 1);
  const csr_handle middle = multiply(plan_of(left, left, &options));  // A^T A
  const auto triple = [&](const csr_handle& p, const tulle_spgemm_options* with) {
    return read(made<csr_handle>(tulle_triple_product, context, left, middle, p, with));
  };
  const matrix c = triple(right, nullptr);  // A (A^T A) B
  EXPECT_EQ(c, read(product_handle(product_handle(left, middle), right)));
  options = with(&tulle_spgemm_options::memory_limit, std::size_t{1} << 30);
  EXPECT_EQ(triple(wide, &options), c) << "offsets of both widths";
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
  tulle_spgemm_options options = with(&tulle_spgemm_options::memory_limit, std::size_t{1} << 30);
  EXPECT_EQ(read(multiply(plan_of(left, right, &options))), product);
  options.memory_limit = 1;
  tulle_csr* made = nullptr;
  refused(tulle_spgemm_plan_multiply(plan_of(left, right, &options).get(), 1, 0, &made),
          is_cpu() ? TULLE_STATUS_OUT_OF_MEMORY : TULLE_STATUS_DEVICE_OUT_OF_MEMORY, "memory_limit");
  EXPECT_EQ(made, nullptr);
}

TEST_P(capi_spgemm, a_plan_outlives_its_matrices_and_a_product_its_plan) {
  spgemm_handle plan = plan_of(a(), b<double, std::int64_t>());  // whose handles are gone with this line
  const csr_handle c = multiply(plan);
  plan.reset();
  EXPECT_EQ(read(c), product);
}

TEST_P(capi_spgemm, a_product_is_a_matrix_like_any_other) {
  const csr_handle c = multiply(plan_of(a(), b()));
  tulle_spgemm_options options = with(&tulle_spgemm_options::transpose_b, 1);
  EXPECT_EQ(read(multiply(plan_of(c, c, &options))), (matrix{3, 3, {0, 2, 2, 4}, {0, 2, 0, 2}, {1, 2, 2, 173}}));
  EXPECT_NE(made<plan_handle>(tulle_spmv_plan_create, context, c, nullptr), nullptr);
}

TEST_P(capi_spgemm, an_entry_that_cancels_stays_and_nan_shows) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const csr_handle left = placed(context, matrix{2, 2, {0, 2, 3}, {0, 1, 1}, {1, 1, nan}});
  const csr_handle right = placed(context, matrix{2, 1, {0, 1, 2}, {0, 0}, {5, -5}});
  const matrix c = read(multiply(plan_of(left, right)));
  EXPECT_EQ(c.rowptr, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(c.values[0], 0);
  EXPECT_TRUE(std::isnan(c.values[1]));
}

TEST_P(capi_spgemm, a_plan_says_what_it_is) {
  tulle_spgemm_options options = with<const char*>(&tulle_spgemm_options::kernel, "kernel0");
  const spgemm_handle plan = plan_of(a(), b(), &options);
  const std::string sentence = got<const char*>(tulle_spgemm_plan_explain, plan);
  EXPECT_STREQ(got<const char*>(tulle_spgemm_plan_kernel, plan), "kernel0");
  EXPECT_NE(sentence.find("kernel0"), std::string::npos) << sentence;
  EXPECT_LT(got<std::size_t>(tulle_spgemm_plan_workspace, plan), std::size_t{1} << 30);
  EXPECT_EQ(read(multiply(plan)), product);
}

}  // namespace
}  // namespace tulle::test

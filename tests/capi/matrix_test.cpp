// Other formats, matrices made of matrices, statistics, files and kernels in the C API.
#include <cstdio>
#include <filesystem>
#include <limits>

#include "handles.hpp"

namespace tulle::test {
namespace {

class capi_matrix : public on_each_backend {
 protected:
  using small = small_matrix<double, std::int64_t>;

  csr_handle copy(const tulle_csr_arrays& arrays) const {
    tulle_csr* made = nullptr;
    TULLE_EXPECT_OK(tulle_csr_copy(context.get(), &arrays, &made));
    return csr_handle(made);
  }
  csr_handle converted(const tulle_matrix_arrays& arrays) const {
    tulle_csr* made = nullptr;
    TULLE_EXPECT_OK(tulle_csr_convert(context.get(), &arrays, &made));
    return csr_handle(made);
  }
  tulle_status refused(const tulle_matrix_arrays& arrays) const {
    tulle_csr* made = nullptr;
    const tulle_status s = tulle_csr_convert(context.get(), &arrays, &made);
    EXPECT_EQ(made, nullptr);
    return s;
  }
  std::vector<double> dense(const csr_handle& m) const {
    std::vector<double> out(12, -1);
    TULLE_EXPECT_OK(tulle_csr_copy_out_dense(context.get(), m.get(), TULLE_ROW_MAJOR, 4, out.data()));
    return out;
  }

  const std::vector<double> expected{1, 0, 2, 0, 0, 0, 0, 0, -3, 4, 0, 5};
};

TEST_P(capi_matrix, every_format_becomes_the_same_csr) {
  const small m;
  EXPECT_EQ(dense(copy(m.arrays())), expected);

  tulle_matrix_arrays coo{};
  coo.format = TULLE_COO, coo.rows = 3, coo.cols = 4, coo.nnz = 5, coo.scalar_type = TULLE_F64;
  const std::int32_t rowind[] = {2, 0, 2, 0, 2}, colind[] = {3, 2, 0, 0, 1};
  const double values[] = {5, 2, -3, 1, 4};
  coo.rowind = rowind, coo.colind = colind, coo.values = values;
  EXPECT_EQ(dense(converted(coo)), expected);
  const std::int32_t broken[] = {2, 0, 3, 0, 2};
  coo.rowind = broken;
  EXPECT_EQ(refused(coo), TULLE_STATUS_INVALID_STRUCTURE);
  coo.rowind = nullptr;
  EXPECT_EQ(refused(coo), TULLE_STATUS_NULL_POINTER);

  tulle_matrix_arrays csc{};
  csc.format = TULLE_CSC, csc.rows = 3, csc.cols = 4, csc.nnz = 5, csc.scalar_type = TULLE_F64;
  csc.offset_type = TULLE_OFFSET_I32;
  const std::int32_t colptr[] = {0, 2, 3, 4, 5}, rows[] = {0, 2, 2, 0, 2};
  const double by_column[] = {1, -3, 4, 2, 5};
  csc.offsets = colptr, csc.rowind = rows, csc.values = by_column;
  EXPECT_EQ(dense(converted(csc)), expected);

  tulle_matrix_arrays full{};
  full.format = TULLE_DENSE, full.rows = 3, full.cols = 4, full.scalar_type = TULLE_F64;
  full.order = TULLE_ROW_MAJOR, full.ld = 4, full.values = expected.data();
  EXPECT_EQ(dense(converted(full)), expected);
  full.ld = 3;
  EXPECT_EQ(refused(full), TULLE_STATUS_INVALID_DIMENSIONS);
  full.format = 7;
  EXPECT_EQ(refused(full), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, blocks_go_out_and_come_back) {
  const auto matrix = copy(small().arrays());
  std::int64_t blocks = 0;
  TULLE_ASSERT_OK(tulle_csr_copy_out_bsr(context.get(), matrix.get(), 2, &blocks, nullptr, nullptr, nullptr));
  ASSERT_EQ(blocks, 4);
  std::vector<std::int64_t> rowptr(3);
  std::vector<std::int32_t> colind(4);
  std::vector<double> values(16);
  TULLE_ASSERT_OK(tulle_csr_copy_out_bsr(context.get(), matrix.get(), 2, &blocks, rowptr.data(), colind.data(),
                                         values.data()));
  tulle_matrix_arrays bsr{};
  bsr.format = TULLE_BSR, bsr.rows = 3, bsr.cols = 4, bsr.nnz = 4, bsr.scalar_type = TULLE_F64, bsr.block = 2;
  bsr.offset_type = TULLE_OFFSET_I64, bsr.offsets = rowptr.data(), bsr.colind = colind.data();
  bsr.values = values.data();
  EXPECT_EQ(dense(converted(bsr)), expected);
  bsr.block = 9;
  EXPECT_EQ(refused(bsr), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, sums_transposes_and_zeros) {
  const auto matrix = copy(small().arrays());
  tulle_csr *sum = nullptr, *difference = nullptr, *empty = nullptr, *turned = nullptr, *back = nullptr;
  TULLE_ASSERT_OK(tulle_csr_add(context.get(), 2, matrix.get(), 1, matrix.get(), &sum));
  const csr_handle owned_sum(sum);
  std::vector<double> three = expected;
  for (double& v : three) v *= 3;
  EXPECT_EQ(dense(owned_sum), three);
  TULLE_ASSERT_OK(tulle_csr_add(context.get(), 1, matrix.get(), -1, matrix.get(), &difference));
  const csr_handle owned_difference(difference);
  TULLE_ASSERT_OK(tulle_csr_eliminate_zeros(context.get(), difference, &empty));
  const csr_handle owned_empty(empty);
  tulle_csr_arrays arrays;
  TULLE_ASSERT_OK(tulle_csr_get_arrays(difference, &arrays));
  EXPECT_EQ(arrays.nnz, 5);
  TULLE_ASSERT_OK(tulle_csr_get_arrays(empty, &arrays));
  EXPECT_EQ(arrays.nnz, 0);
  TULLE_ASSERT_OK(tulle_csr_transpose(context.get(), matrix.get(), &turned));
  const csr_handle owned_turned(turned);
  TULLE_ASSERT_OK(tulle_csr_transpose(context.get(), turned, &back));
  const csr_handle owned_back(back);
  EXPECT_EQ(dense(owned_back), expected);
  tulle_csr* wrong = nullptr;
  EXPECT_EQ(tulle_csr_add(context.get(), 1, matrix.get(), 1, turned, &wrong), TULLE_STATUS_INVALID_DIMENSIONS);
}

TEST_P(capi_matrix, says_what_it_is) {
  small m;
  m.colind = {2, 0, 0, 0, 3};
  m.values[3] = std::numeric_limits<double>::infinity();
  const auto matrix = copy(m.arrays());
  tulle_data_status found = -1;
  std::int64_t row = -1, entry = -1;
  TULLE_ASSERT_OK(tulle_csr_validate(context.get(), matrix.get(), 0, &found, &row, &entry));
  EXPECT_EQ(found, TULLE_DATA_SUCCESS);
  TULLE_ASSERT_OK(tulle_csr_validate(context.get(), matrix.get(), TULLE_CHECK_SORTED, &found, &row, &entry));
  EXPECT_EQ(found, TULLE_DATA_UNSORTED);
  EXPECT_EQ(row, 0);
  TULLE_ASSERT_OK(tulle_csr_validate(context.get(), matrix.get(), TULLE_CHECK_FINITE, &found, nullptr, &entry));
  EXPECT_EQ(found, TULLE_DATA_INF);
  EXPECT_EQ(entry, 3);
  tulle_csr_statistics s;
  TULLE_ASSERT_OK(tulle_csr_get_statistics(context.get(), matrix.get(), &s));
  EXPECT_EQ(s.nnz, 5);
  EXPECT_EQ(s.max_row, 3);
  EXPECT_EQ(s.empty_rows, 1);
  tulle_csr *sorted = nullptr, *summed = nullptr;
  TULLE_ASSERT_OK(tulle_csr_sort(context.get(), matrix.get(), &sorted));
  const csr_handle owned(sorted);
  TULLE_ASSERT_OK(tulle_csr_sum_duplicates(context.get(), sorted, &summed));
  const csr_handle owned_sum(summed);
  tulle_csr_arrays arrays;
  TULLE_ASSERT_OK(tulle_csr_get_arrays(summed, &arrays));
  EXPECT_EQ(arrays.nnz, 4);
}

TEST_P(capi_matrix, goes_through_a_file) {
  const auto matrix = copy(small().arrays());
  const auto path = std::filesystem::temp_directory_path() / "tulle_capi_matrix.mtx";
  TULLE_ASSERT_OK(tulle_csr_write_matrix_market(context.get(), matrix.get(), path.c_str(), 0));
  EXPECT_EQ(tulle_csr_write_matrix_market(context.get(), matrix.get(), path.c_str(), 1), TULLE_STATUS_INVALID_ARGUMENT);
  tulle_csr* read = nullptr;
  TULLE_ASSERT_OK(tulle_csr_read_matrix_market(context.get(), path.c_str(), TULLE_F64, &read));
  const csr_handle owned(read);
  EXPECT_EQ(dense(owned), expected);
  std::filesystem::remove(path);
}

TEST_P(capi_matrix, kernels_are_listed) {
  std::int64_t count = 0;
  TULLE_ASSERT_OK(tulle_kernel_count(context.get(), &count));
  int chosen = 0;
  bool has_product = false;
  for (std::int64_t i = 0; i < count; ++i) {
    tulle_kernel_info kernel;
    TULLE_ASSERT_OK(tulle_kernel_at(context.get(), i, &kernel));
    chosen += kernel.chosen;
    has_product = has_product || std::string(kernel.operation) == "C = A B";
    EXPECT_GT(std::string(kernel.name).size(), 0u);
  }
  EXPECT_TRUE(chosen > 1 && has_product);
  tulle_kernel_info none;
  EXPECT_EQ(tulle_kernel_at(context.get(), count, &none), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, plans_have_dot_products_and_jacobi_steps) {
  if (GetParam() != std::string("cpu")) GTEST_SKIP() << "its vectors are on the host";
  const double values[] = {4, -1, -1, 4};
  const std::int32_t colind[] = {0, 1, 0, 1};
  const std::int64_t rowptr[] = {0, 2, 4};
  tulle_csr_arrays a{2, 2, 4, TULLE_F64, TULLE_OFFSET_I64, 0, TULLE_HOST, rowptr, colind, values};
  const auto matrix = copy(a);
  tulle_spmv_plan* made = nullptr;
  TULLE_ASSERT_OK(tulle_spmv_plan_create(context.get(), matrix.get(), nullptr, &made));
  const plan_handle plan(made);
  const double x[] = {1, 2}, b[] = {2, 7}, d[] = {0.25, 0.25};
  double y[2], dots[2];
  TULLE_ASSERT_OK(tulle_spmv_plan_apply_dots(plan.get(), 1, x, 2, 0, y, 2, x, dots));
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], 7);
  EXPECT_EQ(dots[0], 16);
  EXPECT_EQ(dots[1], 53);
  TULLE_ASSERT_OK(tulle_spmv_plan_jacobi(plan.get(), 1, x, b, d, y, 2));
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 2);
  EXPECT_EQ(tulle_spmv_plan_jacobi(plan.get(), 1, x, nullptr, d, y, 2), TULLE_STATUS_NULL_POINTER);
}

INSTANTIATE_TEST_SUITE_P(backends, capi_matrix, testing::Values("cpu", "cuda"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tulle::test

// Other formats, matrices made of matrices, statistics, files and kernels in the C API.
#include <limits>

#include "handles.hpp"
#include "support/files.hpp"

namespace tulle::test {
namespace {

class capi_matrix : public on_each_backend {
 protected:
  /// 3 x 4, without its indices.
  static tulle_matrix_arrays arrays(tulle_format format, std::int64_t nnz, const double* values) {
    tulle_matrix_arrays m{};
    m.format = format, m.rows = 3, m.cols = 4, m.nnz = nnz, m.scalar_type = TULLE_F64, m.values = values;
    return m;
  }
  csr_handle converted(const tulle_matrix_arrays& arrays) const {
    return made<csr_handle>(tulle_csr_convert, context, &arrays);
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
  static std::int64_t nnz_of(const csr_handle& m) { return got<tulle_csr_arrays>(tulle_csr_get_arrays, m).nnz; }

  const plain_csr<double, std::int64_t> small = small_matrix<double, std::int64_t>();
  const std::vector<double> expected{1, 0, 2, 0, 0, 0, 0, 0, -3, 4, 0, 5};
};
TULLE_ON_BOTH_BACKENDS(capi_matrix);

TEST_P(capi_matrix, every_format_becomes_the_same_csr) {
  EXPECT_EQ(dense(placed(context, small)), expected);

  const std::int32_t rowind[] = {2, 0, 2, 0, 2}, colind[] = {3, 2, 0, 0, 1}, broken[] = {2, 0, 3, 0, 2};
  const double values[] = {5, 2, -3, 1, 4};
  tulle_matrix_arrays coo = arrays(TULLE_COO, 5, values);
  coo.rowind = rowind, coo.colind = colind;
  EXPECT_EQ(dense(converted(coo)), expected);
  coo.rowind = broken;
  EXPECT_EQ(refused(coo), TULLE_STATUS_INVALID_STRUCTURE);
  coo.rowind = nullptr;
  EXPECT_EQ(refused(coo), TULLE_STATUS_NULL_POINTER);

  const auto t = transposed(small_matrix<double, std::int32_t>());
  tulle_matrix_arrays csc = arrays(TULLE_CSC, 5, t.values.data());
  csc.offset_type = TULLE_OFFSET_I32, csc.offsets = t.rowptr.data(), csc.rowind = t.colind.data();
  EXPECT_EQ(dense(converted(csc)), expected);

  tulle_matrix_arrays full = arrays(TULLE_DENSE, 0, expected.data());
  full.order = TULLE_ROW_MAJOR, full.ld = 4;
  EXPECT_EQ(dense(converted(full)), expected);
  full.ld = 3;
  EXPECT_EQ(refused(full), TULLE_STATUS_INVALID_DIMENSIONS);
  full.format = 7;
  EXPECT_EQ(refused(full), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, blocks_go_out_and_come_back) {
  const auto matrix = placed(context, small);
  std::int64_t blocks = 0;
  TULLE_ASSERT_OK(tulle_csr_copy_out_bsr(context.get(), matrix.get(), 2, &blocks, nullptr, nullptr, nullptr));
  ASSERT_EQ(blocks, 4);
  std::vector<std::int64_t> rowptr(3);
  std::vector<std::int32_t> colind(4);
  std::vector<double> values(16);
  TULLE_ASSERT_OK(
      tulle_csr_copy_out_bsr(context.get(), matrix.get(), 2, &blocks, rowptr.data(), colind.data(), values.data()));
  tulle_matrix_arrays bsr = arrays(TULLE_BSR, 4, values.data());
  bsr.offset_type = TULLE_OFFSET_I64, bsr.offsets = rowptr.data(), bsr.colind = colind.data(), bsr.block = 2;
  EXPECT_EQ(dense(converted(bsr)), expected);
  bsr.block = 9;
  EXPECT_EQ(refused(bsr), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, bins_go_out_and_come_back) {
  const auto matrix = placed(context, small);
  std::int64_t slots = 0;
  TULLE_ASSERT_OK(tulle_csr_copy_out_bin_bsr(context.get(), matrix.get(), 2, &slots, nullptr, nullptr, nullptr));
  ASSERT_EQ(slots, 64);  // one bin, two blocks in its longest row
  std::vector<std::int64_t> rowptr(64);
  std::vector<std::int32_t> colptr(64);
  std::vector<double> values(128);
  TULLE_ASSERT_OK(
      tulle_csr_copy_out_bin_bsr(context.get(), matrix.get(), 2, &slots, rowptr.data(), colptr.data(), values.data()));
  EXPECT_EQ(colptr[2], 0);
  EXPECT_EQ(colptr[34], 1);
  EXPECT_EQ(colptr[3], -1);
  tulle_matrix_arrays bins = arrays(TULLE_BIN_BSR, slots, values.data());
  bins.offset_type = TULLE_OFFSET_I64, bins.offsets = rowptr.data(), bins.colind = colptr.data(), bins.block = 2;
  EXPECT_EQ(dense(converted(bins)), expected);
  bins.nnz = 32;
  EXPECT_EQ(refused(bins), TULLE_STATUS_INVALID_STRUCTURE);
  bins.nnz = slots;
  colptr[2] = 2;
  EXPECT_EQ(refused(bins), TULLE_STATUS_INVALID_STRUCTURE);
  bins.offset_type = TULLE_OFFSET_I32;
  EXPECT_EQ(refused(bins), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, sums_transposes_and_zeros) {
  const auto matrix = placed(context, small);
  std::vector<double> three = expected;
  for (double& v : three) v *= 3;
  EXPECT_EQ(dense(made<csr_handle>(tulle_csr_add, context, 2, matrix, 1, matrix)), three);
  const auto difference = made<csr_handle>(tulle_csr_add, context, 1, matrix, -1, matrix);
  EXPECT_EQ(nnz_of(difference), 5);
  EXPECT_EQ(nnz_of(made<csr_handle>(tulle_csr_eliminate_zeros, context, difference)), 0);
  const auto transpose = made<csr_handle>(tulle_csr_transpose, context, matrix);
  EXPECT_EQ(dense(made<csr_handle>(tulle_csr_transpose, context, transpose)), expected);
  tulle_csr* wrong = nullptr;
  EXPECT_EQ(tulle_csr_add(context.get(), 1, matrix.get(), 1, transpose.get(), &wrong), TULLE_STATUS_INVALID_DIMENSIONS);
}

TEST_P(capi_matrix, says_what_it_is) {
  auto m = small;
  m.colind = {2, 0, 0, 0, 3};
  m.values[3] = std::numeric_limits<double>::infinity();
  const auto matrix = placed(context, m);
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
  const auto sorted = made<csr_handle>(tulle_csr_sort, context, matrix);
  EXPECT_EQ(nnz_of(made<csr_handle>(tulle_csr_sum_duplicates, context, sorted)), 4);
}

TEST_P(capi_matrix, goes_through_a_file) {
  const auto matrix = placed(context, small);
  const temporary_directory directory;
  const std::string path = directory / "a.mtx";
  TULLE_ASSERT_OK(tulle_csr_write_matrix_market(context.get(), matrix.get(), path.c_str(), 0));
  EXPECT_EQ(tulle_csr_write_matrix_market(context.get(), matrix.get(), path.c_str(), 1), TULLE_STATUS_INVALID_ARGUMENT);
  const auto read = made<csr_handle>(tulle_csr_read_matrix_market, context, path.c_str(), TULLE_F64);
  EXPECT_EQ(dense(read), expected);
  EXPECT_EQ(nnz_of(read), 5);
  EXPECT_EQ(got<tulle_csr_arrays>(tulle_csr_get_arrays, read).space,
            got<tulle_memory_space>(tulle_context_space, context));
}

TEST_P(capi_matrix, kernels_are_listed) {
  const auto count = got<std::int64_t>(tulle_kernel_count, context);
  int chosen = 0;
  bool has_product = false;
  tulle_kernel_info kernel;
  for (std::int64_t i = 0; i < count; ++i) {
    TULLE_ASSERT_OK(tulle_kernel_at(context.get(), i, &kernel));
    chosen += kernel.chosen;
    has_product = has_product || std::string(kernel.operation) == "C = A B";
    EXPECT_GT(std::string(kernel.name).size(), 0u);
  }
  EXPECT_TRUE(chosen > 1 && has_product);
  EXPECT_EQ(tulle_kernel_at(context.get(), count, &kernel), TULLE_STATUS_INVALID_ARGUMENT);
}

TEST_P(capi_matrix, plans_have_dot_products_and_jacobi_steps) {
  if (!is_cpu()) GTEST_SKIP() << "its vectors are on the host";
  const auto matrix = placed(context, plain_csr<>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, -1, -1, 4}});
  const auto plan = made<plan_handle>(tulle_spmv_plan_create, context, matrix, nullptr);
  const double x[] = {1, 2}, b[] = {2, 7}, d[] = {0.25, 0.25};
  std::vector<double> y(2), dots(2);
  TULLE_ASSERT_OK(tulle_spmv_plan_apply_dots(plan.get(), 1, x, 2, 0, y.data(), 2, x, dots.data()));
  EXPECT_EQ(y, (std::vector<double>{2, 7}));
  EXPECT_EQ(dots, (std::vector<double>{16, 53}));
  TULLE_ASSERT_OK(tulle_spmv_plan_jacobi(plan.get(), 1, x, b, d, y.data(), 2));
  EXPECT_EQ(y, (std::vector<double>{1, 2}));
  EXPECT_EQ(tulle_spmv_plan_jacobi(plan.get(), 1, x, nullptr, d, y.data(), 2), TULLE_STATUS_NULL_POINTER);
}

}  // namespace
}  // namespace tulle::test

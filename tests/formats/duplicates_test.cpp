// sort_and_sum_duplicates against std::map, for several numbers of threads.
#include <map>

#include "battery.hpp"

namespace tulle::testing {
namespace {

class duplicates : public ::testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(battery, duplicates,
                         ::testing::Combine(::testing::Values(1, 2, 5),
                                            ::testing::Range(0, static_cast<int>(battery().size()))));

TEST_P(duplicates, are_added_up_in_storage_order_and_rows_sorted) {
  const auto [threads, number] = GetParam();
  const context ctx = context::cpu(threads);
  const matrix& m = battery()[static_cast<std::size_t>(number)];
  for_each_type(m, [&]<class T, class O>() {
    matrix want{m.name, m.rows, m.cols, {0}, {}, {}};
    for (index_t r = 0; r < m.rows; ++r) {
      std::map<index_t, double> row;
      for (auto k = m.rowptr[r]; k < m.rowptr[r + 1]; ++k) {
        const auto [at, is_new] = row.try_emplace(m.colind[k], m.values[k]);
        if (!is_new) at->second += m.values[k];
      }
      for (const auto& [column, value] : row) {
        want.colind.push_back(column);
        want.values.push_back(value);
      }
      want.rowptr.push_back(want.nnz());
    }
    csr<T, O> a = upload<T, O>(ctx, m);
    EXPECT_EQ(sort_and_sum_duplicates(ctx, a), m.nnz() - want.nnz());
    expect_csr(ctx, a, want);
    EXPECT_EQ(sort_and_sum_duplicates(ctx, a), 0);
  });
}

TEST(duplicates_order, sums_run_in_storage_order) {
  const context ctx = context::cpu(2);
  csr<double, std::int32_t> a{1, 2, to_buffer(ctx, std::vector<std::int32_t>{0, 4}),
                              to_buffer(ctx, std::vector<index_t>{1, 0, 1, 1}),
                              to_buffer(ctx, std::vector<double>{1e16, 5, 1, -1e16})};
  EXPECT_EQ(sort_and_sum_duplicates(ctx, a), 2);
  EXPECT_EQ(to_vector(ctx, a.values), (std::vector<double>{5, (1e16 + 1) - 1e16}));
}

TEST(duplicates_order, integers_wrap) {
  const context ctx = context::cpu(1);
  csr<std::int32_t, std::int32_t> a{1, 1, to_buffer(ctx, std::vector<std::int32_t>{0, 2}),
                                    to_buffer(ctx, std::vector<index_t>{0, 0}),
                                    to_buffer(ctx, std::vector<std::int32_t>{2147483647, 1})};
  EXPECT_EQ(sort_and_sum_duplicates(ctx, a), 1);
  EXPECT_EQ(a.values.host()[0], -2147483648);
}

}  // namespace
}  // namespace tulle::testing

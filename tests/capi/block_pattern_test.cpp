// Blocks from pairs in the C API.
#include "handles.hpp"

namespace tulle::test {
namespace {

using pattern_handle =
    std::unique_ptr<tulle_block_pattern, destroyer<tulle_block_pattern, tulle_block_pattern_destroy>>;

TEST(capi_block_pattern, sums_what_falls_on_a_block) {
  const context_handle context = cpu_context();
  const std::int32_t rowind[] = {1, 0, 1}, colind[] = {0, 0, 0};
  tulle_block_pairs pairs{2, 2, 3, rowind, colind, 1, 1, 1};
  const auto pattern = made<pattern_handle>(tulle_block_pattern_create, context, &pairs);
  std::int64_t blocks = 0;
  const std::int64_t* rowptr = nullptr;
  const std::int32_t* columns = nullptr;
  TULLE_ASSERT_OK(tulle_block_pattern_get_arrays(pattern.get(), &blocks, &rowptr, &columns));
  ASSERT_EQ(blocks, 4);
  EXPECT_EQ(std::vector<std::int64_t>(rowptr, rowptr + 3), (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(std::vector<std::int32_t>(columns, columns + 4), (std::vector<std::int32_t>{0, 1, 0, 1}));
  const double values[] = {3, 5, 4};
  std::vector<double> sums(4, -1);
  TULLE_ASSERT_OK(tulle_block_pattern_assemble(pattern.get(), TULLE_F64, values, sums.data()));
  EXPECT_EQ(sums, (std::vector<double>{5, 7, 7, 0}));

  EXPECT_EQ(tulle_block_pattern_assemble(pattern.get(), TULLE_F64, nullptr, sums.data()), TULLE_STATUS_NULL_POINTER);
  EXPECT_EQ(tulle_block_pattern_assemble(pattern.get(), 9, values, sums.data()), TULLE_STATUS_INVALID_ARGUMENT);
  tulle_block_pattern* refused = nullptr;
  pairs.block = 9;
  EXPECT_EQ(tulle_block_pattern_create(context.get(), &pairs, &refused), TULLE_STATUS_INVALID_ARGUMENT);
  pairs.block = 1, pairs.block_rows = 1, pairs.block_cols = 1;
  EXPECT_EQ(tulle_block_pattern_create(context.get(), &pairs, &refused), TULLE_STATUS_INVALID_STRUCTURE);
  EXPECT_EQ(refused, nullptr);
}

}  // namespace
}  // namespace tulle::test

// Real matrices: shape and nonzeros as their catalogue says.
#include "parse.hpp"

namespace tulle::test {
namespace {

TEST(MatrixMarketCatalogue, ShapesAndNonzeros) {
  const std::filesystem::path root = shared_directory() / "matrices";
  if (!std::filesystem::exists(root / "CATALOGUE.tsv")) GTEST_SKIP() << "no collection of matrices at " << root;
  const auto table = read_table(root / "CATALOGUE.tsv");
  ASSERT_GT(table.size(), 50U);
  for (const auto& row : table) {
    const temporary_directory directory;
    SCOPED_TRACE(row.at(0));
    const std::filesystem::path file = decompressed(root / row.at(12), directory);
    if (file.empty()) GTEST_SKIP() << "xz is missing";
    if (row.at(5) == "complex") {
      expect_error(status::unsupported, "line 1", [&] { read_matrix_market<double>(file); });
      continue;
    }
    matrix_market_info info;
    const auto a = read_matrix_market<double>(file, {}, &info);
    EXPECT_EQ(std::to_string(a.rows), row.at(1));
    EXPECT_EQ(std::to_string(a.cols), row.at(2));
    EXPECT_EQ(std::to_string(info.stored_entries), row.at(3));
    EXPECT_EQ(std::to_string(a.nnz()), row.at(4));
  }
}

}  // namespace
}  // namespace tulle::test

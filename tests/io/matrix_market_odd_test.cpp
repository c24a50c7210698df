// Odd files as found in the wild and in other readers' test suites, each against what their index expects of it.
#include <map>
#include <set>

#include "parse.hpp"

namespace tulle::test {
namespace {

/// Valid for long double; too large for anything that tulle reads them as.
const std::set<std::string> wider_than_double{"fast_matrix_market/python/long_double/longdouble_array.mtx",
                                              "fast_matrix_market/python/long_double/longdouble_coordinate.mtx"};
/// Overflows of types narrower than ours.
const std::set<std::string> narrower{"fast_matrix_market/overflow/overflow_index_gt_int8.mtx",
                                     "fast_matrix_market/overflow/overflow_value_gt_int32.mtx"};

bool is_complex(const std::string& text) {
  const std::string banner = text.substr(0, text.find_first_of("\r\n"));
  return banner.find("complex") != std::string::npos;
}

class MatrixMarketOdd : public testing::Test {
 protected:
  void SetUp() override {
    root_ = shared_directory() / "odd";
    if (!std::filesystem::exists(root_ / "INDEX.tsv")) GTEST_SKIP() << "no collection of odd files at " << root_;
  }
  /// Empty when it cannot be decompressed here.
  std::filesystem::path file(const std::string& name) { return decompressed(root_ / name, directory_); }
  plain_csr<double> read(const std::string& name, matrix_market_info* info = nullptr) {
    return plain(read_matrix_market<double>(file(name), {}, info));
  }
  plain_csr<double> fmm(const std::string& name) { return read("fast_matrix_market/" + name); }

  void check(const std::string& name, const std::string& expectation, const std::filesystem::path& path) {
    SCOPED_TRACE(name + ": " + expectation);
    const auto call = [&] { read_matrix_market<double>(path); };
    EXPECT_EQ(error_of([&] { read_matrix_market_entries<double>(path); }), error_of(call));
    if (is_complex(read_file(path))) {
      expect_error(status::unsupported, "line 1", call);
    } else if (expectation.find("must be rejected") != std::string::npos && !narrower.contains(name)) {
      const auto [code, message] = failure_of(call);
      EXPECT_TRUE(code == status::invalid_format || code == status::overflow) << message;
      EXPECT_NE(message.find(path.string() + ": line "), std::string::npos) << message;
    } else if (expectation.starts_with("permissive") || expectation.starts_with("as found") ||
               expectation.starts_with("scipy crashed")) {
      const std::string message = failure_of(call).second;
      EXPECT_TRUE(message.empty() || message.find(": line ") != std::string::npos) << message;
    } else if (wider_than_double.contains(name)) {
      expect_error(status::overflow, "line 4", call);
    } else {
      EXPECT_NO_THROW(call());
    }
  }
  std::filesystem::path root_;
  temporary_directory directory_;
};

TEST_F(MatrixMarketOdd, EveryFileAsTheIndexSays) {
  int skipped = 0;
  const auto table = read_table(root_ / "INDEX.tsv");
  ASSERT_GT(table.size(), 100U);
  for (const auto& row : table) {
    const std::filesystem::path path = file(row.at(0));
    if (path.empty()) {
      ++skipped;
      continue;
    }
    check(row.at(0), row.at(2), path);
  }
  if (skipped > 0) GTEST_SKIP() << skipped << " files need xz, which is missing; the others are as they should be";
}

TEST_F(MatrixMarketOdd, IdentityInAllItsForms) {
  const std::vector<double> identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const char* name : {"eye3.mtx", "eye3_array.mtx", "eye3_pattern.mtx", "eye3_str.mtx", "python/eye3.mtx",
                           "python/misc/windows_newlines.mtx", "python/matrix_coordinate_integer_general.mtx",
                           "python/matrix_coordinate_pattern_general.mtx", "python/matrix_coordinate_real_general.mtx",
                           "permissive/permissive_banner_leading_spaces_eye3.mtx"}) {
    EXPECT_EQ(dense(fmm(name)), identity) << name;
  }
}

TEST_F(MatrixMarketOdd, NistExampleInAllItsForms) {
  const std::vector<double> expected{1, 0, 0, 6,     0, 0,    10.5,  0, 0, 0, 0, 0, 0.015,
                                     0, 0, 0, 250.5, 0, -280, 33.32, 0, 0, 0, 0, 12};
  for (const char* name :
       {"fast_matrix_market/nist_ex1.mtx", "fast_matrix_market/nist_ex1_freeformat.mtx",
        "fast_matrix_market/nist_ex1_more_freeformat.mtx",
        "fast_matrix_market/permissive/windows_lineendings_nist_ex1_more_freeformat.mtx", "wild/mm0", "wild/mm01"}) {
    EXPECT_EQ(dense(read(name)), expected) << name;
  }
}

TEST_F(MatrixMarketOdd, SymmetricFilesAreTheirGeneralTwins) {
  EXPECT_EQ(fmm("symmetry/coordinate_symmetric_row.mtx"), fmm("symmetry/coordinate_symmetric_row_general.mtx"));
  EXPECT_EQ(fmm("symmetry/coordinate_symmetric_row.mtx"), fmm("symmetry/coordinate_symmetric_row_general_zero.mtx"));
  EXPECT_EQ(fmm("symmetry/coordinate_pattern_symmetric_row.mtx"),
            fmm("symmetry/coordinate_pattern_symmetric_row_general.mtx"));
  EXPECT_EQ(fmm("symmetry/coordinate_skew_symmetric_row.mtx"),
            fmm("symmetry/coordinate_skew_symmetric_row_general.mtx"));
  EXPECT_EQ(fmm("symmetry_array/array_symmetric.mtx"), fmm("symmetry_array/array_symmetric_general.mtx"));
  EXPECT_EQ(fmm("symmetry_array/array_skew-symmetric.mtx"), fmm("symmetry_array/array_skew-symmetric_general.mtx"));
  EXPECT_EQ(dense(fmm("symmetry/coordinate_symmetric_row_general_dup.mtx")),
            (std::vector<double>{0, 0, 10, 0, 0, 20, 10, 20, 60}));
  EXPECT_EQ(dense(fmm("python/matrix_coordinate_real_symmetric.mtx")),
            (std::vector<double>{0, 0, 10, 0, 0, 20, 10, 20, 30}));
  EXPECT_EQ(dense(fmm("python/matrix_coordinate_pattern_symmetric.mtx")),
            (std::vector<double>{0, 0, 1, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(dense(fmm("python/matrix_coordinate_real_skew-symmetric.mtx")),
            (std::vector<double>{0, 0, -10, 0, 0, -20, 10, 20, 30}));
}

TEST_F(MatrixMarketOdd, SmallMatricesAndVectors) {
  const std::map<std::string, std::vector<double>> expected{
      {"2col_array.mtx", {10, 20, 11, 21, 12, 22}},
      {"row_3by4.mtx", {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"python/matrix_array_integer_general.mtx", {1, 11, 2, 22, 3, 33}},
      {"python/matrix_array_real_general.mtx", {1, 11, 2, 22, 3, 33}},
      {"vector_array.mtx", {101, 202, 0, 404}},
      {"vector_coordinate.mtx", {101, 202, 0, 404}},
      {"vector_coordinate_dupes.mtx", {101, 202, 0, 404}},
      {"python/scipy_crashes/vector_array_real_general.mtx", {101, 202, 0, 404}},
      {"python/scipy_crashes/vector_coordinate_real_general.mtx", {101, 202, 0, 404}},
      {"kepner_gilbert_graph.mtx", {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0,
                                    0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}},
  };
  for (const auto& [name, elements] : expected) EXPECT_EQ(dense(fmm(name)), elements) << name;
  for (const char* type :
       {"bool", "double", "float", "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64", "uint8"}) {
    EXPECT_EQ(dense(fmm(fmt::format("graphblas/matrix_{}.mtx", type))), (std::vector<double>{1, 1, 2})) << type;
  }
}

TEST_F(MatrixMarketOdd, NarrowTypes) {
  expect_error(status::overflow, "line 4", [&] {
    read_matrix_market<std::int32_t>(file("fast_matrix_market/overflow/overflow_value_gt_int32.mtx"));
  });
  EXPECT_EQ(fmm("overflow/overflow_value_gt_int32.mtx").values, (std::vector<double>{8589934592.0}));
  for (const char* name :
       {"overflow_value_gt_int64.mtx", "overflow_value_gt_float64.mtx", "overflow_value_gt_float128.mtx"}) {
    for (const auto call : {+[](const std::filesystem::path& p) { read_matrix_market<float>(p); },
                            +[](const std::filesystem::path& p) { read_matrix_market<double>(p); }}) {
      expect_error(status::overflow, "line ", [&] { call(file(fmt::format("fast_matrix_market/overflow/{}", name))); });
    }
  }
  expect_error(status::overflow, "line 3: number of rows: 1099511627776",
               [&] { read(std::string("fast_matrix_market/python/scipy_crashes/dim_over_32_bit.mtx")); });
}

TEST_F(MatrixMarketOdd, DuplicatesInTheWild) {
  const std::filesystem::path path = file("wild/EVA_duplicates.mtx.xz");
  if (path.empty()) GTEST_SKIP() << "xz is missing";
  matrix_market_info info;
  const auto a = read_matrix_market<double>(path, {}, &info);
  EXPECT_GT(info.duplicates_summed, 0);
  EXPECT_EQ(info.note, fmt::format("summed {} duplicate entries; mirrored 5534 upper entries of a symmetric file",
                                   info.duplicates_summed));
  EXPECT_EQ(info.stored_entries, 6726);
  expect_error(status::invalid_format, ": line ", [&] { read_matrix_market<double>(path, {.strict = true}); });
}

}  // namespace
}  // namespace tulle::test

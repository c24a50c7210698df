// What the reader accepts, and the values it makes of it.
#include <cmath>
#include <limits>

#include "parse.hpp"

namespace tulle::test {
namespace {

const std::string header = "%%MatrixMarket matrix coordinate real general\n";

using elements = std::vector<double>;

TEST(MatrixMarketSyntax, CoordinateGeneral) {
  const auto a = parse(header + "% a comment\n2 3 3\n2 3 -1.5\n1 1 2\n2 1 4e1\n");
  EXPECT_EQ(a.rowptr, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ(a.colind, (std::vector<index_t>{0, 0, 2}));
  EXPECT_EQ(a.values, (elements{2, 40, -1.5}));
  EXPECT_EQ(a.cols, 3);
}

TEST(MatrixMarketSyntax, EmptyShapes) {
  EXPECT_EQ(parse(header + "0 0 0\n").rowptr, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(parse(header + "0 5 0\n").cols, 5);
  EXPECT_EQ(parse(header + "3 0 0").rowptr, (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real general\n0 4\n").cols, 4);
  EXPECT_EQ(parse("%%MatrixMarket matrix array real skew-symmetric\n0 0\n").rows, 0);
  EXPECT_EQ(parse("%%MatrixMarket matrix array real skew-symmetric\n1 1\n").values, (elements{0}));
}

TEST(MatrixMarketSyntax, WhiteSpaceLinesAndComments) {
  const auto expected = parse(header + "2 2 2\n1 1 1\n2 2 2\n");
  for (const std::string text :
       {"%%matrixmarket\tMATRIX  Coordinate REAL gEnErAl  \n\n%\n  % indented\n \t2 2\t2 \n\n\t1  1\t1\n\n% between\n2 "
        "2 2",
        "%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1\r\n2 2 2\r\n",
        "%%MatrixMarket matrix coordinate real general\r2 2 2\r1 1 1\r2 2 2\r",
        "%%MatrixMarket matrix coordinate real general\r2 2 2\r\n1 1 1\n\n2 2 2",
        "  %%MatrixMarket matrix coordinate double general\n2 2 2\n1 1 1\n2 2 2\n\n\n   \n% the end",
        "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n+2 +2 +2\n+1 01 +1\n2 2 2.\n"}) {
    EXPECT_EQ(parse(text), expected) << text;
  }
}

TEST(MatrixMarketSyntax, Fields) {
  const std::string entries = " general\n1 2 2\n1 1 -7\n1 2 +8\n";
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate integer" + entries).values, (elements{-7, 8}));
  EXPECT_EQ(parse<std::int32_t>("%%MatrixMarket matrix coordinate integer" + entries).values, (std::vector{-7, 8}));
  EXPECT_EQ(parse<std::int32_t>("%%MatrixMarket matrix coordinate real" + entries).values, (std::vector{-7, 8}));
  EXPECT_EQ(parse<std::int32_t>(header + "1 1 1\n1 1 -2.147483648E9").values,
            (std::vector{std::numeric_limits<std::int32_t>::min()}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate pattern general\n1 2 2\n1 2\n1 1").values, (elements{1, 1}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775807").values,
            (elements{9223372036854775808.0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -9223372036854775808").values,
            (elements{-9223372036854775808.0}));
}

TEST(MatrixMarketSyntax, SymmetricEitherTriangle) {
  const elements expected{1, 2, 0, 2, 0, 3, 0, 3, 4};
  const std::string banner = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n";
  EXPECT_EQ(dense(parse(banner + "1 1 1\n2 1 2\n3 2 3\n3 3 4\n")), expected);
  EXPECT_EQ(dense(parse(banner + "1 1 1\n1 2 2\n2 3 3\n3 3 4\n")), expected);
}

TEST(MatrixMarketSyntax, SymmetricWithBothTrianglesCountsAsDuplicates) {
  matrix_market_info info;
  const auto a = parse("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 5\n1 2 7\n2 2 1\n", {}, &info);
  EXPECT_EQ(dense(a), (elements{0, 12, 12, 1}));
  EXPECT_EQ(info.duplicates_summed, 1);
}

TEST(MatrixMarketSyntax, SkewSymmetric) {
  matrix_market_info info;
  const std::string text = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 5\n2 2 3\n";
  EXPECT_EQ(dense(parse(text, {}, &info)), (elements{0, -5, 5, 3}));
  EXPECT_EQ(info.note, "kept 1 diagonal entry of a skew-symmetric matrix");
  expect_error(status::invalid_format, "line 4", [&] { parse(text, {.strict = true}); });
}

TEST(MatrixMarketSyntax, Arrays) {
  EXPECT_EQ(dense(parse("%%MatrixMarket matrix array real general\n2 3\n1\n2\n\n3\n4\n% x\n5\n6\n")),
            (elements{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(dense(parse("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n")),
            (elements{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(dense(parse("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n")),
            (elements{0, -1, -2, 1, 0, -3, 2, 3, 0}));
  EXPECT_EQ(parse("%%MatrixMarket matrix array real general\n1 2\n0\n0\n").values.size(), 2U);
}

TEST(MatrixMarketSyntax, LargeArrayAcrossSegments) {
  constexpr int rows = 700;
  constexpr int cols = 300;
  std::string text = fmt::format("%%MatrixMarket matrix array integer general\n{} {}\n", rows, cols);
  for (int k = 0; k < rows * cols; ++k) text += fmt::format("{}\n{}", k, k % 7 == 0 ? "\n" : "");
  const auto a = parse<std::int32_t>(text, {.threads = 3});
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) ASSERT_EQ(a.values[static_cast<std::size_t>(i * cols + j)], j * rows + i);
  }
}

TEST(MatrixMarketSyntax, Vectors) {
  EXPECT_EQ(dense(parse("%%MatrixMarket vector array real general\n3\n1\n0\n2\n")), (elements{1, 0, 2}));
  const auto a = parse("%%MatrixMarket vector coordinate real general\n4 2\n4 1\n1 2\n");
  EXPECT_EQ(dense(a), (elements{2, 0, 0, 1}));
  EXPECT_EQ(a.cols, 1);
  EXPECT_EQ(dense(parse("%%MatrixMarket vector coordinate pattern general\n2 1\n2\n")), (elements{0, 1}));
}

TEST(MatrixMarketSyntax, DuplicatesAreSummedWithANote) {
  const std::string text = header + "2 2 5\n1 2 1\n2 2 8\n1 2 2\n1 1 9\n1 2 4\n";
  matrix_market_info info;
  const auto a = parse(text, {}, &info);
  EXPECT_EQ(a.colind, (std::vector<index_t>{0, 1, 1}));
  EXPECT_EQ(a.values, (elements{9, 7, 8}));
  EXPECT_EQ(info.duplicates_summed, 2);
  EXPECT_EQ(info.note, "summed 2 duplicate entries");
  expect_error(status::invalid_format, "text: line 5: entry (1, 2)", [&] { parse(text, {.strict = true}); });
}

TEST(MatrixMarketSyntax, SumsThatOverflowAreNoted) {
  matrix_market_info info;
  const std::string text = "2 2 4\n2 1 1e308\n2 1 1e308\n2 2 inf\n2 2 1\n";
  EXPECT_EQ(parse(header + text, {}, &info).values, (elements{HUGE_VAL, HUGE_VAL}));
  EXPECT_EQ(info.note, "summed 2 duplicate entries; 1 of the sums overflowed to infinity");
  parse("%%MatrixMarket matrix coordinate real symmetric\n" + text, {}, &info);
  EXPECT_EQ(info.note, "summed 2 duplicate entries; 1 of the sums overflowed to infinity");
}

TEST(MatrixMarketSyntax, UpperEntriesOfSymmetricFilesAreNoted) {
  matrix_market_info info;
  parse("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 2 1\n3 1 1\n3 3 1\n", {}, &info);
  EXPECT_EQ(info.note, "mirrored 1 upper entry of a symmetric file");
  parse("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 4\n1 2 1\n1 3 1\n2 1 1\n3 3 1\n", {}, &info);
  EXPECT_EQ(info.note,
            "summed 1 duplicate entry; mirrored 2 upper entries of a skew-symmetric file; "
            "kept 1 diagonal entry of a skew-symmetric matrix");
  parse("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 1\n", {}, &info);
  EXPECT_EQ(info.note, "");
}

TEST(MatrixMarketSyntax, Information) {
  matrix_market_info info;
  const std::string text = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n1 1 1\n3 1 2\n";
  parse(text, {}, &info);
  EXPECT_EQ(info.field, mm_field::integer);
  EXPECT_EQ(info.symmetry, mm_symmetry::symmetric);
  EXPECT_FALSE(info.array);
  EXPECT_EQ(info.stored_entries, 2);
  EXPECT_EQ(info.bytes, static_cast<std::int64_t>(text.size()));
  EXPECT_GT(info.seconds, 0);
  EXPECT_EQ(info.note, "");
}

}  // namespace
}  // namespace tulle::test

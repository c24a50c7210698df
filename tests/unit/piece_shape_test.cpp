// How csr.pieces divides rows into pieces on a device of 132 multiprocessors.
#include "kernels/piece_shape.hpp"

#include <gtest/gtest.h>

namespace tulle::test {
namespace {

constexpr int multiprocessors = 132, at_once = multiprocessors * piece_share::stream_warps;

csr_stats rows_of(index_t rows, index_t mean, index_t longest) {
  csr_stats s;
  s.rows = rows, s.cols = rows, s.nnz = std::int64_t{rows} * mean, s.mean = mean, s.max = longest;
  s.skew = static_cast<double>(longest) / mean;
  return s;
}
double pieces(const csr_stats& s, const piece_shape& shape) {
  return static_cast<double>(s.nnz + row_work * std::int64_t{s.rows}) / shape.work;
}

TEST(PieceShape, TakesLongRowsByColumn) {
  for (const int groups : {1, 2, 3, 4}) {
    EXPECT_TRUE(shape_of_streams(rows_of(20'000, 1500, 1500), multiprocessors, {groups, 1}).by_column) << groups;
    EXPECT_FALSE(shape_of_streams(rows_of(50'000, 250, 300), multiprocessors, {groups, 1}).by_column) << groups;
    EXPECT_FALSE(shape_of_streams(rows_of(200, 1500, 1500), multiprocessors, {groups, 1}).by_column) << groups;  // few
  }
}
TEST(PieceShape, TakesLongRowsByColumnWhereRowsOfXAreShort) {
  EXPECT_TRUE(short_piece::shape(rows_of(20'000, 1500, 1500), multiprocessors).by_column);
  EXPECT_FALSE(short_piece::shape(rows_of(50'000, 250, 3000), multiprocessors).by_column);
  EXPECT_FALSE(short_piece::shape(rows_of(200, 1500, 1500), multiprocessors).by_column);  // few
}
TEST(PieceShape, FillsWholeWaves) {
  for (const index_t rows : {20'000, 30'000, 42'000, 60'000, 80'000}) {
    const csr_stats s = rows_of(rows, 25, 27);
    for (const int groups : {2, 4}) {
      const double waves = pieces(s, shape_of_streams(s, multiprocessors, {groups, 1})) / at_once;
      if (waves > 2) continue;
      EXPECT_GT(waves - std::ceil(waves) + 1, 0.9) << rows << ' ' << groups;
    }
  }
  const csr_stats s = rows_of(42'000, 25, 27);
  EXPECT_LT(pieces(s, shape_of_streams(s, multiprocessors, {4, 1})), at_once);
  EXPECT_GT(pieces(s, shape_of_streams(s, multiprocessors, {4, 1})), 0.95 * at_once);
}
TEST(PieceShape, LeavesShortRowsWhole) {
  for (const index_t rows : {100, 3000, 100'000, 3'000'000}) {
    for (const index_t mean : {1, 7, 30, 60}) {
      for (const int groups : {1, 2, 3, 4}) {
        for (const index_t longest : {mean, 20 * mean}) {
          const piece_shape shape = shape_of_streams(rows_of(rows, mean, longest), multiprocessors, {groups, 1});
          EXPECT_GE(shape.longest_whole(), 64) << rows << ' ' << mean << ' ' << groups;
        }
      }
    }
  }
}
/// As csr.warp takes them, for 32 columns of f32: a line of X for each entry.
TEST(PieceShape, LeavesRowsOfOneLengthWholeInSmallMatrices) {
  const auto stay_whole = [](double mean, index_t longest, std::int64_t nnz, index_t columns = 32) {
    return short_rows::stay_whole(longest, mean, nnz, columns, 4);
  };
  EXPECT_TRUE(stay_whole(3, 32, 150'000));
  EXPECT_TRUE(stay_whole(40, 128, 150'000));
  EXPECT_FALSE(stay_whole(3, 33, 150'000));
  EXPECT_FALSE(stay_whole(30, 128, 150'000));
  EXPECT_FALSE(stay_whole(129, 129, 150'000));
  EXPECT_FALSE(stay_whole(3, 0, 150'000));  // not inspected
  EXPECT_FALSE(stay_whole(5, 5, 170'000));
  EXPECT_FALSE(stay_whole(5, 5, 100'000, 64));
}
/// What a warp has room for is twice the work of a piece.
TEST(PieceShape, OfShortRowsOfXFitsSharedMemory) {
  for (const index_t rows : {1, 1000, 100'000, 3'000'000}) {
    for (const index_t mean : {1, 30, 500}) {
      const piece_shape shape = short_piece::shape(rows_of(rows, mean, 40 * mean), multiprocessors);
      EXPECT_LE(shape.work + shape.longest_whole(), 2 * short_piece::most_work) << rows << ' ' << mean;
      EXPECT_GE(shape.longest_whole(), 64) << rows << ' ' << mean;
    }
  }
}
TEST(PieceShape, IsForRowsThatDifferAndManyEntriesOfF64) {
  EXPECT_FALSE(short_piece::pays(rows_of(10'000, 10, 30), 8));
  EXPECT_TRUE(short_piece::pays(rows_of(10'000, 10, 100), 4));
  EXPECT_TRUE(short_piece::pays(rows_of(10'000, 100, 600), 4));
  EXPECT_FALSE(short_piece::pays(rows_of(300'000, 10, 30), 4));
  EXPECT_TRUE(short_piece::pays(rows_of(300'000, 10, 30), 8));
}

}  // namespace
}  // namespace tulle::test

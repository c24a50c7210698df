// The parts of pictures that can be told without looking: ticks, classes, cells, colours, and words that XML takes.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "plot/axis.hpp"
#include "plot/pattern.hpp"
#include "plot/picture.hpp"
#include "plot/row_lengths.hpp"
#include "plot/text.hpp"

namespace tulle::cli::plot {
namespace {

using words = std::vector<std::string>;

words labels(const axis& a) {
  words result;
  for (const tick& t : a.ticks) result.push_back(t.label);
  return result;
}

TEST(Axis, TicksAreAtRoundNumbers) {
  EXPECT_EQ(labels(linear_axis("", -0.5, 9.5, 6, 1)), (words{"0", "2", "4", "6", "8"}));
  EXPECT_EQ(labels(linear_axis("", -0.5, 0.5, 8, 1)), words{"0"});
  EXPECT_EQ(labels(linear_axis("", 0, 62451, 4)), (words{"0", "20k", "40k", "60k"}));
  EXPECT_EQ(labels(linear_axis("", 0, 2'147'483'646, 3)), (words{"0", "1000M", "2000M"}));
  EXPECT_EQ(labels(linear_axis("", 0, 2100, 3)), (words{"0", "1,000", "2,000"}));
  EXPECT_EQ(labels(linear_axis("", 0, 0.3, 3)), (words{"0", "0.1", "0.2", "0.3"}));
}

TEST(Axis, HasNoMoreTicksThanFit) {
  for (const double high : {1.0, 7.0, 99.0, 1e5, 3.1e9}) {
    for (const int most : {1, 2, 5, 9}) {
      EXPECT_LE(linear_axis("", 0, high, most).ticks.size(), static_cast<std::size_t>(most) + 1) << high;
      EXPECT_LE(logarithmic_axis("", 1e-300, high, most).ticks.size(), static_cast<std::size_t>(most) + 1) << high;
    }
  }
}

TEST(Axis, LogarithmsReachPastTheValues) {
  const axis a = logarithmic_axis("", 3e-9, 4, 10);
  EXPECT_DOUBLE_EQ(a.low, 2e-9);
  EXPECT_DOUBLE_EQ(a.high, 5);
  EXPECT_EQ(labels(a), (words{"1e-8", "1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1", "1"}));
  EXPECT_DOUBLE_EQ(a.share(2e-9), 0);
  EXPECT_NEAR(a.share(1e-4), 0.5, 1e-12);
  EXPECT_EQ(labels(logarithmic_axis("", 12, 40, 10)), (words{"10", "20", "50"}));
  EXPECT_EQ(labels(logarithmic_axis("", 500, 10'000, 10)), (words{"500", "1,000", "2,000", "5,000", "10,000"}));
  for (const double v : {1.0, 1e-300, 2.0, 1e300}) {
    const axis one = logarithmic_axis("", v, v, 10);
    EXPECT_LT(one.low, one.high) << v;
    EXPECT_TRUE(std::isfinite(one.share(v))) << v;
  }
}

/// A CSR whose row i has the columns given.
struct pattern {
  std::vector<std::int64_t> rowptr{0};
  std::vector<index_t> colind;
  std::vector<double> values;
  index_t cols;

  pattern(index_t columns, const std::vector<std::vector<index_t>>& rows) : cols(columns) {
    for (const auto& row : rows) {
      colind.insert(colind.end(), row.begin(), row.end());
      rowptr.push_back(static_cast<std::int64_t>(colind.size()));
    }
    values.resize(colind.size());  // all of them stored zeros
  }
  [[nodiscard]] matrix_ref ref() const {
    const auto rows = static_cast<index_t>(rowptr.size() - 1);
    return csr_view<double, std::int64_t>{rows, cols, rowptr.back(), rowptr.data(), colind.data(), values.data()};
  }
};

pattern diagonal(index_t n) {
  std::vector<std::vector<index_t>> rows;
  for (index_t i = 0; i < n; ++i) rows.push_back({i});
  return {n, rows};
}

TEST(Density, IsACellForEachEntryWhereThatFitsAndCountsStoredZeros) {
  const density d = count_entries(pattern(3, {{0, 2}, {}, {1}}).ref(), 400, 300);
  EXPECT_EQ(d.count, (std::vector<std::int64_t>{1, 0, 1, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(d.rows.block, 1);
  EXPECT_EQ(d.rows.pixels, 300);
  EXPECT_EQ(d.cols.pixels, 300);
  EXPECT_EQ(d.bandwidth, 2);
}

TEST(Density, CellsAreAllOfOneSizeSoThatADiagonalIsOneShade) {
  const density d = count_entries(diagonal(1000).ref(), 300, 300);
  EXPECT_EQ(d.rows.block, 4);
  EXPECT_EQ(d.rows.cells, 250);
  EXPECT_EQ(std::accumulate(d.count.begin(), d.count.end(), std::int64_t{0}), 1000);
  for (int i = 0; i < 250; ++i) EXPECT_EQ(d.count[static_cast<std::size_t>(i) * 251], 4);
}

TEST(Density, NeverLeavesTheRoomGivenAndKeepsThinSidesVisible) {
  for (const auto& [rows, cols] :
       std::vector<std::pair<index_t, index_t>>{{1, 1}, {1, 100'000}, {3, 900}, {641, 641}, {0, 5}, {0, 0}, {7, 0}}) {
    for (const int room : {100, 590}) {
      const density wide = count_entries(
          pattern(cols, std::vector<std::vector<index_t>>(static_cast<std::size_t>(rows))).ref(), room, room);
      EXPECT_LE(std::max(wide.rows.pixels, wide.cols.pixels), room);
      EXPECT_GE(std::max(wide.rows.pixels, wide.cols.pixels), room * 79 / 100) << rows << " x " << cols;
      EXPECT_GE(std::min(wide.rows.pixels, wide.cols.pixels), std::max(wide.rows.pixels, wide.cols.pixels) / 25);
      EXPECT_GE(std::int64_t{wide.rows.cells} * wide.rows.block, rows);
      EXPECT_GE(std::int64_t{wide.cols.cells} * wide.cols.block, cols);
      EXPECT_EQ(wide.most(), 0);
    }
  }
}

TEST(Density, ClassesFollowEachOtherUpToTheMost) {
  using classes = std::vector<density_class>;
  EXPECT_EQ(classes_of_density(0), classes{});
  EXPECT_EQ(classes_of_density(1), (classes{{1, 1}}));
  EXPECT_EQ(classes_of_density(9), (classes{{1, 1}, {2, 3}, {4, 7}, {8, 9}}));
  EXPECT_EQ(classes_of_density(353), (classes{{1, 3}, {4, 15}, {16, 63}, {64, 255}, {256, 353}}));
  for (std::int64_t most = 1; most < (std::int64_t{1} << 40); most = most * 3 + 1) {
    const classes all = classes_of_density(most);
    EXPECT_LE(all.size(), 7U);
    EXPECT_EQ(all.back().most, most);
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].least, all[i - 1].most + 1);
  }
}

double lightness(colour c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue; }

TEST(Shades, DarkenSteadilyFromOneThatIsSeenOnWhite) {
  for (int count = 1; count <= 7; ++count) {
    const std::vector<colour> all = shades(count);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(count));
    EXPECT_LT(lightness(all.front()), 190);
    EXPECT_LT(lightness(all.back()), 40);
    for (int i = 1; i < count; ++i) {
      EXPECT_GT(lightness(all[static_cast<std::size_t>(i) - 1]) - lightness(all[static_cast<std::size_t>(i)]), 15)
          << count;
    }
  }
}

TEST(RowLengths, HaveAClassEachOrDoubleWhereTheLongestIsFarAway) {
  const std::vector<length_class> few = classes_of_lengths({3, 3, 5}, 10);
  ASSERT_EQ(few.size(), 3U);
  EXPECT_EQ(few[0].rows, 2);
  EXPECT_EQ(few[1].rows, 0);
  EXPECT_EQ(few[2].shortest, 5);
  const std::vector<length_class> skewed = classes_of_lengths({0, 1, 1, 2, 900}, 10);
  ASSERT_EQ(skewed.size(), 11U);
  EXPECT_EQ(skewed[0].longest, 0);
  EXPECT_EQ(skewed[2].shortest, 2);
  EXPECT_EQ(skewed[2].longest, 3);
  EXPECT_EQ(skewed.back().longest, 900);
  EXPECT_EQ(classes_of_lengths({}, 10).size(), 0U);
}

TEST(RowLengths, EveryRowIsInItsClassAndClassesAreFew) {
  for (const std::int64_t longest : {1, 9, 63, 64, 1000, 2'000'000'000}) {
    for (const std::int64_t shortest : {std::int64_t{0}, longest / 2, longest}) {
      const std::vector<length_class> classes = classes_of_lengths({shortest, longest, longest}, 40);
      EXPECT_LE(classes.size(), 40U) << shortest << " " << longest;
      EXPECT_LE(classes.front().shortest, shortest);
      EXPECT_GE(classes.front().longest, shortest);
      EXPECT_EQ(classes.back().longest, longest);
      EXPECT_GE(classes.back().rows, 2);
    }
  }
}

TEST(Text, IsWhatXmlTakes) {
  EXPECT_EQ(plain_text("a\x1b[31m\tb"), "a\\x1b[31m\\x09b");
  EXPECT_EQ(plain_text("x\xffy\xc3"), "x\xef\xbf\xbdy\xef\xbf\xbd");
  EXPECT_EQ(plain_text("\xef\xbf\xbf"), "\xef\xbf\xbd");
  EXPECT_EQ(plain_text("Ω \xf0\x9f\x99\x82"), "Ω \xf0\x9f\x99\x82");
}

TEST(Text, IsShortenedInTheMiddle) {
  EXPECT_EQ(shortened("short", 12, 100), "short");
  const std::string cut = shortened("a very long name of a matrix that ends in .mtx", 12, 150);
  EXPECT_LE(text_width(cut, 12), 150);
  EXPECT_TRUE(cut.starts_with("a very") && cut.ends_with(".mtx")) << cut;
  EXPECT_NE(cut.find("…"), std::string::npos);
  EXPECT_EQ(plain_text(shortened("ΩΩΩΩΩΩΩΩΩΩΩΩ", 12, 60)), shortened("ΩΩΩΩΩΩΩΩΩΩΩΩ", 12, 60))
      << "characters stay whole";
  EXPECT_EQ(shortened("anything", 12, 0), "…");
}

TEST(Picture, NamesEndInAKind) {
  for (const char* right : {"", "-", "a.svg", "a.SVG"}) EXPECT_NO_THROW(check_picture("-o", right));
  for (const char* wrong : {"a.pdf", "a", "svg", "x/.svg", "a.png.gz"})
    EXPECT_THROW(check_picture("-o", wrong), error) << wrong;
}

}  // namespace
}  // namespace tulle::cli::plot

// The line that says what runs and how long it takes yet.
#include "common/progress.hpp"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

TEST(ProgressLine, SaysWhatRunsAndWhatIsLeft) {
  EXPECT_EQ(progress_line(0.5, 10, "cant f64 ell: cold", 100),
            "[==========          ]  50% cant f64 ell: cold; 10 s left");
  EXPECT_EQ(progress_line(0.5, 1, "cant", 100), "[==========          ]  50% cant") << "too early to tell";
  EXPECT_EQ(progress_line(0.25, 300, "cant", 100), "[=====               ]  25% cant; 15 min 0 s left");
  EXPECT_EQ(progress_line(0, 30, "cant", 100), "[                    ]   0% cant");
}

TEST(ProgressLine, Fits) {
  for (const std::size_t width : {40, 80}) {
    EXPECT_LT(progress_line(0.5, 10, std::string(200, 'x'), width).size(), width);
  }
}

TEST(Progress, MovesWithinAnItemAndStaysBelowOne) {
  progress_bar bar;
  EXPECT_EQ(bar.done(), 0);
  bar.expect(2);
  bar.next();
  bar.step("preparing");
  EXPECT_DOUBLE_EQ(bar.done(), 0);
  bar.divide(4);
  bar.step("a");
  bar.within(0.5);
  EXPECT_DOUBLE_EQ(bar.done(), 0.0625);
  bar.step("b");
  EXPECT_DOUBLE_EQ(bar.done(), 0.125);
  bar.next();
  EXPECT_DOUBLE_EQ(bar.done(), 0.5);
  bar.divide(1);
  for (int i = 0; i < 3; ++i) bar.step("more than was said");
  EXPECT_DOUBLE_EQ(bar.done(), 1);
}

}  // namespace
}  // namespace tulle::cli

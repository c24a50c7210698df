// Tables that fit a width.
#include "common/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tulle::cli {
namespace {

std::string text_of(const table& t, std::size_t width) {
  std::string text;
  for (const auto& [line, style] : t.fit(width).lines) text += line + '\n';
  return text;
}

table kernels() {
  table t({{.title = "kernel", .left = true}, {"median"}, {"GFLOP/s", 2}, {"% bw"}, {"plan", 1}});
  t.row({"csr.rows", "31.2 us", "4.57", "", "1.02 ms"});
  t.row({"packed", "9.1 us", "12.3", "", "20.1 ms"}, '*');
  return t;
}

TEST(Table, AlignsColumnsAndLeavesOutThoseWithoutACell) {
  EXPECT_EQ(text_of(kernels(), 80),
            "  kernel     median  GFLOP/s     plan\n"
            "  csr.rows  31.2 us     4.57  1.02 ms\n"
            "* packed     9.1 us     12.3  20.1 ms\n");
}

TEST(Table, LeavesOutTheLeastImportantFirst) {
  const table::layout narrower = kernels().fit(36), narrow = kernels().fit(20);
  EXPECT_EQ(narrower.left_out, std::vector<std::string>{"GFLOP/s"});
  EXPECT_EQ(narrow.left_out, (std::vector<std::string>{"GFLOP/s", "plan"}));
  EXPECT_EQ(narrow.lines[1].text, "  csr.rows  31.2 us") << "what stays, stays";
}

TEST(Table, BreaksAColumnThatHasAWidthWhereTheTableIsTooWide) {
  table t({{.title = "kernel", .left = true}, {.title = "types", .left = true, .most = 8}, {"median"}});
  t.row({"csr.rows", "f64 f32 i32", "31.2 us"});
  EXPECT_EQ(text_of(t, 40),
            "  kernel    types         median\n"
            "  csr.rows  f64 f32 i32  31.2 us\n");
  EXPECT_EQ(text_of(t, 30),
            "  kernel    types      median\n"
            "  csr.rows  f64 f32   31.2 us\n"
            "            i32\n");
}

TEST(Table, BreaksTextIntoLinesThatFit) {
  table t({{.title = "kernel", .left = true}, {.title = "what it does", .wraps = true}});
  t.row({"ell", "rows padded to the longest, slot by slot, and some more words that need a line"});
  for (const std::size_t width : {40, 60, 80, 120}) {
    const table::layout layout = t.fit(width);
    for (const auto& line : layout.lines) EXPECT_LE(columns_of(line.text), width) << line.text;
    EXPECT_TRUE(layout.left_out.empty());
  }
  EXPECT_EQ(t.fit(40).lines[2].text, "          slot by slot, and some more") << text_of(t, 40);
}

TEST(Table, HasNoControlCharactersAndCountsCodePoints) {
  table t({{.title = "name", .left = true}, {"x"}});
  t.row({"a\x1b[31m\n", "1"});
  t.row({"\xc3\xa9", "1"});
  EXPECT_EQ(text_of(t, 80), "  name           x\n  a\\x1b[31m\\x0a  1\n  \xc3\xa9              1\n");
}

TEST(Table, IsNothingWithoutRows) { EXPECT_TRUE(table({{"a"}}).fit(80).lines.empty()); }

TEST(LinesWithin, BreaksAtSpacesAndWithinLongWords) {
  EXPECT_EQ(lines_within("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(lines_within("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(lines_within("", 4), std::vector<std::string>{""});
  EXPECT_EQ(lines_within("\xc3\xa9\xc3\xa9\xc3\xa9", 2), (std::vector<std::string>{"\xc3\xa9\xc3\xa9", "\xc3\xa9"}));
}

}  // namespace
}  // namespace tulle::cli

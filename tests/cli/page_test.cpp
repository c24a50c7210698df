// Lines and facts that fit a width, and colour.
#include "common/page.hpp"

#include <gtest/gtest.h>

namespace tulle::cli {
namespace {

TEST(Page, BreaksLinesAndFacts) {
  page to(40);
  to.line("  * csr.rows: rows are short and there are many of them")
      .fact("kernel", "packed: values take fewer bytes here");
  EXPECT_EQ(to.text(),
            "  * csr.rows: rows are short and there\n"
            "    are many of them\n"
            "  kernel        packed: values take\n"
            "                fewer bytes here\n");
}

TEST(Page, KeepsWidthsWithNamesOfAnyKind) {
  for (const std::size_t width : {40, 80, 120}) {
    page to(width);
    to.line(std::string(500, 'x')).fact(std::string(13, 'l'), std::string(300, 'y')).line("a\nb\x1b[0m");
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = to.text().find('\n', begin)) != std::string::npos; begin = end + 1) {
      EXPECT_LE(end - begin, width);
    }
    EXPECT_EQ(to.text().find('\x1b'), std::string::npos);
  }
}

TEST(Page, StylesLinesWhereThereIsColour) {
  EXPECT_EQ(page(80, false).line("bold", look::bold).text(), "bold\n");
  EXPECT_EQ(page(80, true).line("bold", look::bold).text(), "\x1b[1mbold\x1b[0m\n");
  EXPECT_NE(page(80, true).verdict(false, "3 rows").text().find("\x1b[31m"), std::string::npos);
}

TEST(Page, SaysOnceWhatWasLeftOut) {
  table t({{.title = "kernel", .left = true}, {.title = "more", .drop = 1, .left = true}});
  t.row({"a", std::string(60, 'm')});
  page to(40);
  to.add(t).add(t);
  EXPECT_EQ(to.text(), "  kernel\n  a\n  (40 columns are too few for: more)\n  kernel\n  a\n");
}

TEST(Width, IsThatOfColumns) {
  const char* const before = getenv("COLUMNS");
  const std::string kept = before == nullptr ? "" : before;
  for (const auto& [set, width] :
       {std::pair{"80", 80u}, {"7", 40u}, {"99999", 1000u}, {"nonsense", 100u}, {"", 100u}}) {
    setenv("COLUMNS", set, 1);
    std::FILE* const file = tmpfile();
    EXPECT_EQ(width_of(file), width) << set;
    fclose(file);
  }
  setenv("COLUMNS", kept.c_str(), 1);
}

TEST(Color, IsAskedForOrRefused) {
  std::FILE* const file = tmpfile();
  EXPECT_FALSE(has_color(file));
  set_color(color_choice::always);
  EXPECT_TRUE(has_color(file));
  set_color(color_choice::automatic);
  fclose(file);
}

}  // namespace
}  // namespace tulle::cli

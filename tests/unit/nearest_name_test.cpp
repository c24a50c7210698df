// Which name was probably meant.
#include <gtest/gtest.h>

#include <tulle/core/nearest_name.hpp>
#include <vector>

namespace tulle {
namespace {

const std::vector<std::string_view> names{"info",     "spmv",     "spgemm",       "solve",   "convert",
                                          "generate", "csr.warp", "csr.balanced", "--verify"};

TEST(NearestName, TakesWhatIsMistyped) {
  const std::pair<std::string_view, std::string_view> meant[] = {{"spvm", "spmv"},
                                                                 {"spm", "spmv"},
                                                                 {"spmvv", "spmv"},
                                                                 {"sovle", "solve"},
                                                                 {"SPMV", "spmv"},
                                                                 {"Convert", "convert"},
                                                                 {"genarete", "generate"},
                                                                 {"gen", "generate"},
                                                                 {"warp", "csr.warp"},
                                                                 {"balanced", "csr.balanced"},
                                                                 {"--verfy", "--verify"},
                                                                 {"-verify", "--verify"},
                                                                 {"csr.blanced", "csr.balanced"}};
  for (const auto& [word, name] : meant) EXPECT_EQ(nearest_name(word, names), name) << word;
}

TEST(NearestName, LeavesWhatIsFar) {
  for (const std::string_view word : {"", "x", "frobnicate", "multiply", "in"}) {
    EXPECT_NE(nearest_name(word, names), "spmv") << word;
  }
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), names), "");
  EXPECT_EQ(nearest_name("spmv", {}), "");
  const std::vector<std::string_view> letters{"a", "b"};
  EXPECT_EQ(nearest_name("x", letters), "") << "one letter for another is another name";
}

TEST(NearestName, TheFirstOfSeveral) {
  const std::vector<std::string_view> types{"f32", "f64", "i32"};
  EXPECT_EQ(nearest_name("f46", types), "f64");
  EXPECT_EQ(nearest_name("f33", types), "f32");
  EXPECT_EQ(nearest_name("x32", types), "f32");
}

TEST(NearestName, EndsAMessage) {
  const std::vector<std::string_view> types{"f32", "f64"};
  EXPECT_EQ(alternatives("f46", types), "; did you mean 'f64'? There are: f32, f64");
  EXPECT_EQ(alternatives("double", types), "; there are: f32, f64");
}

}  // namespace
}  // namespace tulle

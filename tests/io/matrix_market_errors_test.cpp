// What the reader refuses: the status, the line, and the words.
#include <random>

#include "parse.hpp"

namespace tulle::test {
namespace {

struct bad_text {
  std::string text;
  status code;
  std::string message;
};

void PrintTo(const bad_text& bad, std::ostream* out) { *out << bad.message; }

class MatrixMarketErrors : public testing::TestWithParam<bad_text> {};

TEST_P(MatrixMarketErrors, NamesTheLine) {
  for (const int threads : {1, 3}) {
    expect_error(GetParam().code, "text: " + GetParam().message, [&] { parse(GetParam().text, {.threads = threads}); });
    expect_error(GetParam().code, "text: " + GetParam().message,
                 [&] { parse_matrix_market_entries<double>(GetParam().text, "text", {.threads = threads}); });
  }
}

const std::string real = "%%MatrixMarket matrix coordinate real general\n";
const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";

constexpr status format = status::invalid_format;

INSTANTIATE_TEST_SUITE_P(
    Header, MatrixMarketErrors,
    testing::Values(
        bad_text{"", format, "line 1: no %%MatrixMarket banner (the file is empty)"},
        bad_text{"\n" + real + "1 1 0\n", format, "line 1: no %%MatrixMarket banner"},
        bad_text{"%MatrixMarket matrix coordinate real general\n1 1 0\n", format, "line 1: no %%MatrixMarket banner"},
        bad_text{"version https://git-lfs.github.com/spec/v1\n", format,
                 "line 1: no %%MatrixMarket banner: this is a git-LFS pointer"},
        bad_text{std::string("\xfd\x37zXZ\0", 6), format, "line 1: no %%MatrixMarket banner: it is compressed twice"},
        bad_text{"BZh91AY&SY", format, "line 1: no %%MatrixMarket banner: this is bzip2 data"},
        bad_text{"PK\x03\x04", format, "line 1: no %%MatrixMarket banner: this is a zip archive"},
        bad_text{std::string(257, 'a') + "ustar", format, "line 1: no %%MatrixMarket banner: this is a tar archive"},
        bad_text{"%%MatrixMarket", format, "line 1: the banner names no object"},
        bad_text{"%%MatrixMarket tensor coordinate real general\n", format, "line 1: 'tensor' is not a known object"},
        bad_text{"%%MatrixMarket matrix sparse real general\n", format, "line 1: 'sparse' is not a known format"},
        bad_text{"%%MatrixMarket matrix coordinate float general\n", format, "line 1: 'float' is not a known field"},
        bad_text{"%%MatrixMarket matrix coordinate real\n1 1 0\n", format, "line 1: the banner names no symmetry"},
        bad_text{"%%MatrixMarket matrix coordinate real general 2\n", format, "line 1: '2' follows"},
        bad_text{"%%MatrixMarket matrix coordinate complex general\n1 1 0\n", status::unsupported, "line 1: complex"},
        bad_text{"%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n", status::unsupported, "line 1: complex"},
        bad_text{"%%MatrixMarket vector coordinate real hermitian\n1 0\n", format, "line 1: a vector must be general"},
        bad_text{"%%MatrixMarket matrix array pattern general\n1 1\n", format, "line 1: an array cannot be a pattern"},
        bad_text{"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", format,
                 "line 1: a pattern has no signs"},
        bad_text{"%%MatrixMarket vector coordinate real symmetric\n1 0\n", format, "line 1: a vector must be general"},
        bad_text{real + "% only comments\n\n", format, "line 3: the file ends before the size line"},
        bad_text{real + "\n\n1 1\n", format, "line 4: the size line has 2 numbers; 3 would be right"},
        bad_text{real + "1 1 1 1\n", format, "line 2: the size line has 4 numbers"},
        bad_text{real + "-1 1 0\n", format, "line 2: number of rows: -1 is negative"},
        bad_text{real + "1 1.0 0\n", format, "line 2: number of columns: '1.0' is not an integer"},
        bad_text{real + "1 2147483648 0\n", status::overflow, "line 2: number of columns: 2147483648"},
        bad_text{real + "99999999999999999999 1 0\n", status::overflow, "line 2: number of rows"},
        bad_text{real + "1 1 99999999999999999999\n", status::overflow, "line 2: number of entries"},
        bad_text{"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", format, "line 2: 2 x 3 is not square"}));

INSTANTIATE_TEST_SUITE_P(
    Entries, MatrixMarketErrors,
    testing::Values(
        bad_text{real + "2 2 1\n0 1 1\n", format, "line 3: row index 0 is outside 1 to 2"},
        bad_text{real + "2 2 1\n1 3 1\n", format, "line 3: column index 3 is outside 1 to 2"},
        bad_text{real + "2 2 1\n\n% x\n-1 1 1\n", format, "line 5: row index -1"},
        bad_text{real + "2 2 1\r\n\r\n1 x 1\r\n", format, "line 4: column index 'x' is not an integer"},
        bad_text{real + "2 2 1\r\r1 1.5 1\r", format, "line 4: column index '1.5' is not an integer"},
        bad_text{real + "2 2 1\n4294967297 1 1\n", format, "line 3: row index 4294967297 is outside"},
        bad_text{real + "2 2 1\n18446744073709551617 1 1\n", status::overflow,
                 "line 3: row index 18446744073709551617"},
        bad_text{real + "2 2 1\n1 1\n", format, "line 3: an entry is row, column, value; this line has 2 words"},
        bad_text{real + "2 2 1\n1 1 1 1\n", format, "line 3: an entry is row, column, value; this line has 4 words"},
        bad_text{real + "2 2 1\n1", format, "line 3: an entry is row, column, value; this line has 1 word"},
        bad_text{real + "2 2 1\n1 1 abc\n", format, "line 3: value 'abc' is not a number"},
        bad_text{pattern + "2 2 1\n1 1 1\n", format, "line 3: an entry is row, column; this line has 3 words"},
        bad_text{pattern + "2 2 1\n1 2x\n", format, "line 3: column index '2x'"},
        bad_text{real + "2 2 1\n1 1 1\n2 2 2\n", format, "line 4: entry number 2; the size line (line 2) allows 1"},
        bad_text{real + "2 2 3\n1 1 1\n2 2 2\n", format,
                 "line 4: the file ends after entry number 2; the size line (line 2) wants 3"},
        bad_text{real + "2 2 0\n1 1 1\n", format, "line 3: entry number 1"},
        bad_text{"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", format,
                 "line 3: value '1.5' is not an integer"},
        bad_text{"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n", status::overflow,
                 "line 3: value"},
        bad_text{"%%MatrixMarket matrix array real general\n1 2\n1 2\n", format,
                 "line 3: an array has one value per line; this one has 2"},
        bad_text{"%%MatrixMarket matrix array real general\n1 2\n1\n", format,
                 "line 3: the file ends after value number 1"},
        bad_text{"%%MatrixMarket matrix array real general\n1 1\n1\n2\n", format, "line 4: value number 2"},
        bad_text{"%%MatrixMarket vector coordinate real general\n2 1\n1 2 3\n", format,
                 "line 3: an entry is row, value; this line has 3 words"}));

TEST(MatrixMarketErrors, IntegerMatrices) {
  const std::string integer = "%%MatrixMarket matrix coordinate integer ";
  expect_error(status::overflow, "line 3: value 2147483648 does not fit 32 bits",
               [&] { parse<std::int32_t>(integer + "general\n1 1 1\n1 1 2147483648\n"); });
  expect_error(status::overflow, "text: line 6: the duplicates of entry (2, 1), of which this is the last, add up",
               [&] { parse<std::int32_t>(integer + "general\n2 1 4\n1 1 1\n2 1 2147483647\n% x\n2 1 1\n1 1 1\n"); });
  expect_error(status::overflow, "text: line 4: the duplicates of entry (1, 2)",
               [&] { parse<std::int32_t>(integer + "symmetric\n2 2 2\n2 1 2147483647\n1 2 1\n"); });
  expect_error(status::overflow, "line 3: the negative of value",
               [&] { parse<std::int32_t>(integer + "skew-symmetric\n2 2 1\n2 1 -2147483648\n"); });
}

TEST(MatrixMarketErrors, NegativeNumberOfThreads) {
  expect_error(status::invalid_argument, "threads", [] { parse(real + "1 1 0\n", {.threads = -1}); });
}

/// Whatever a line holds, the message says what is wrong with it.
TEST(MatrixMarketErrors, EveryLineHasItsReason) {
  constexpr std::string_view pieces[] = {"1", "2", "3",  "0", "+",   "-",   ".",  "e",
                                         "d", " ", "  ", "x", "inf", "nan", "\t", "9"};
  std::mt19937 random(5);
  for (const std::string banner : {"matrix coordinate real general", "matrix coordinate integer skew-symmetric",
                                   "matrix coordinate pattern symmetric", "vector coordinate integer general"}) {
    for (int k = 0; k < 20000; ++k) {
      std::string line = k % 2 == 0 ? "2 1 " : "";
      for (unsigned i = 0; i <= random() % 6; ++i) line += pieces[random() % std::size(pieces)];
      const bool vector = banner.starts_with("vector");
      const std::string text = fmt::format("%%MatrixMarket {}\n{}\n{}\n", banner, vector ? "2 1" : "2 2 1", line);
      for (const bool strict : {false, true}) {
        for (const auto& [code, message] :
             {failure_of([&] { parse<double>(text, {.strict = strict, .threads = 1}); }),
              failure_of([&] { parse<std::int32_t>(text, {.strict = strict, .threads = 1}); })}) {
          ASSERT_EQ(message.find("not an entry"), std::string::npos) << text << message;
        }
      }
    }
  }
}

/// The first error in the order of the file is the one that is named, however the text is cut.
TEST(MatrixMarketErrors, FirstOneWins) {
  std::string text = real + "1000 1000 100000\n";
  for (int k = 0; k < 100000; ++k) {
    const bool bad = k == 60000 || k == 60001 || k == 99999;
    text += fmt::format("{} {} 1\n", bad ? 1001 + k % 7 : 1 + k % 1000, 1 + k / 100);
  }
  for (const int threads : {1, 2, 7}) {
    expect_error(format, "text: line 60003: row index 1004 is outside 1 to 1000",
                 [&] { parse(text, {.threads = threads}); });
  }
}

}  // namespace
}  // namespace tulle::test

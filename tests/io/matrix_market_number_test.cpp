// Numbers: correctly rounded, in every notation that files use.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "parse.hpp"

namespace tulle::test {
namespace {

const std::string coordinate = "%%MatrixMarket matrix coordinate real general\n";

template <scalar T>
T read_one(std::string_view number) {
  return parse<T>(fmt::format("{}1 1 1\n1 1 {}\n", coordinate, number)).values.at(0);
}

TEST(MatrixMarketNumbers, Notations) {
  EXPECT_EQ(read_one<double>("1.0D+03"), 1000.0);
  EXPECT_EQ(read_one<double>("-2.5d-1"), -0.25);
  EXPECT_EQ(read_one<double>("1.2345678901234567890123D5"), 123456.78901234567890123);
  EXPECT_EQ(read_one<double>("+.5"), 0.5);
  EXPECT_EQ(read_one<double>("5."), 5.0);
  EXPECT_EQ(read_one<double>("1E0"), 1.0);
  EXPECT_EQ(read_one<double>("00000000000000000000001.50"), 1.5);
  EXPECT_EQ(read_one<double>("1e000002"), 100.0);
  EXPECT_EQ(read_one<double>("25e-000001"), 2.5);
  EXPECT_EQ(read_one<double>(fmt::format("1d+{:05000}", 2)), 100.0);
  EXPECT_EQ(read_one<double>(fmt::format("1.{:0600}d1", 0)), 10.0);
  EXPECT_EQ(read_one<double>(fmt::format("{}e-4999", std::string(5000, '1'))), 10.0 / 9);
  EXPECT_TRUE(std::signbit(read_one<double>("-0")));
  EXPECT_TRUE(std::isnan(read_one<double>("nan")));
  EXPECT_TRUE(std::isnan(read_one<float>("NaN")));
  EXPECT_EQ(read_one<double>("-Inf"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_one<double>("+infinity"), std::numeric_limits<double>::infinity());
}

TEST(MatrixMarketNumbers, LeadingZeros) {
  const std::string zeros(30, '0');
  const auto a =
      parse<std::int32_t>(fmt::format("%%MatrixMarket matrix coordinate integer general\n{0}3 +{0}4 {0}2\n"
                                      "{0}2 +{0}4 -{0}7\n3 {0}1 +{0}8\n",
                                      zeros));
  EXPECT_EQ(a.rowptr, (std::vector<std::int64_t>{0, 0, 1, 2}));
  EXPECT_EQ(a.colind, (std::vector<index_t>{3, 0}));
  EXPECT_EQ(a.values, (std::vector<std::int32_t>{-7, 8}));
}

TEST(MatrixMarketNumbers, UnderflowIsNoError) {
  EXPECT_EQ(read_one<double>("1e-310"), 1e-310);
  EXPECT_EQ(read_one<double>("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(read_one<double>("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(read_one<double>("-1e-400")));
  EXPECT_EQ(read_one<double>("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(read_one<double>("0e999999999"), 0.0);
  EXPECT_EQ(read_one<double>("0." + std::string(400, '0') + "1e10"), 0.0);
  EXPECT_EQ(read_one<double>("0." + std::string(400, '0') + "1e401"), 1.0);
  EXPECT_EQ(read_one<float>("1e-60"), 0.0F);
  EXPECT_EQ(read_one<float>("1e-40"), 1e-40F);
}

TEST(MatrixMarketNumbers, OverflowIsAnErrorThatNamesTheLine) {
  for (const std::string& number :
       std::vector<std::string>{"1e309", "-1E310", "1D400", "1e99999999999999999999", "1" + std::string(400, '0'),
                                "1" + std::string(400, '0') + "e-50"}) {
    expect_error(status::overflow, "line 3", [&] { read_one<double>(number); });
  }
  expect_error(status::overflow, "value 1e39 does not fit f32", [] { read_one<float>("1e39"); });
  expect_error(status::overflow, "i32", [] { read_one<std::int32_t>("2147483648"); });
  expect_error(status::overflow, "i32", [] { read_one<std::int32_t>("-2147483649.0"); });
  EXPECT_EQ(read_one<double>("1" + std::string(400, '0') + "e-400"), 1.0);
}

TEST(MatrixMarketNumbers, MalformedOnesAreRefused) {
  for (const std::string_view number :
       {"1e",    "1e+", "e5",   ".",   "+",  "-",    "--1",   "+-1", "+-7",  "-+7",  "++7",
        "1.2.3", "1,5", "0x10", "1_0", "1d", "nano", "1e5e5", "1 2", "1.5f", "\x01", "1\xc2\xa0"}) {
    expect_error(status::invalid_format, "line 3", [&] { read_one<double>(number); });
  }
  expect_error(status::invalid_format, "line 3: value '+-7' is not a number", [] { read_one<double>("+-7"); });
  expect_error(status::invalid_format, "whole number", [] { read_one<std::int32_t>("1.5"); });
  expect_error(status::invalid_format, "line 3", [] { read_one<std::int32_t>("nan"); });
  expect_error(status::invalid_format, "line 3", [] { read_one<std::int32_t>("inf"); });
}

/// Random digits, points and exponents around the limits of the exact fast path, against the C library.
TEST(MatrixMarketNumbers, CorrectlyRounded) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string number = random() % 2 == 0 ? "-" : "";
    const std::size_t digits = 1 + random() % 21;
    const std::size_t point = random() % (digits + 1);
    for (std::size_t d = 0; d < digits; ++d) {
      if (d == point) number += '.';
      number += static_cast<char>('0' + random() % 10);
    }
    if (random() % 2 == 0) number += fmt::format("e{}", static_cast<int>(random() % 44) - 26);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read_one<double>(number)),
              std::bit_cast<std::uint64_t>(std::strtod(number.c_str(), nullptr)))
        << number;
    if (std::isinf(std::strtof(number.c_str(), nullptr))) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(read_one<float>(number)),
              std::bit_cast<std::uint32_t>(std::strtof(number.c_str(), nullptr)))
        << number;
  }
}

}  // namespace
}  // namespace tulle::test

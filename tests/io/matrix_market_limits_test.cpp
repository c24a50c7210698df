// Memory is bounded by what a file holds, never by what its header claims.
#include <cstdio>
#include <tulle/ops/spgemm.hpp>

#include "limited.hpp"
#include "parse.hpp"

namespace tulle::test {
namespace {

class MatrixMarketLimits : public testing::Test {
 protected:
  void SetUp() override {
    if (TULLE_SANITIZED) GTEST_SKIP() << "sanitizers reserve more address space than any limit";
  }
  static void expect_status(status code, std::string_view text) {
    const auto parse = [&] { parse_matrix_market<double>(text, "text", {.threads = 1}); };
    EXPECT_EQ(run_limited(512 * megabyte, parse), static_cast<int>(code)) << text.substr(0, 120);
  }
};

TEST_F(MatrixMarketLimits, ClaimsAreNotBelieved) {
  const std::string coordinate = "%%MatrixMarket matrix coordinate real general\n";
  expect_status(status::invalid_format, coordinate + "1000000000 1000000000 900000000000\n1 1 1\n");
  expect_status(status::invalid_format, coordinate + "2147483647 2147483647 9223372036854775807\n");
  expect_status(status::invalid_format, coordinate + "2147483647 2147483647 1\n1 1 x\n");
  expect_status(status::invalid_format, "%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n");
  expect_status(status::invalid_format, "%%MatrixMarket matrix array real symmetric\n2147483647 2147483647\n1\n");
  expect_status(status::invalid_format, "%%MatrixMarket vector array integer general\n2147483647\n1\n");
}

/// Legal, but its row offsets would take 17 GB for one entry.
TEST_F(MatrixMarketLimits, TooLargeForTheMachineIsOutOfMemory) {
  expect_status(status::out_of_memory,
                "%%MatrixMarket matrix coordinate real general\n2147483647 1 1\n2147483647 1 1\n");
}

TEST_F(MatrixMarketLimits, BlankLinesTakeNoRoom) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n";
  text.resize(64 * megabyte, '\n');
  expect_status(status::success, text);
}

/// Row offsets of what stores next to nothing.
TEST_F(MatrixMarketLimits, RowsWithoutEntries) {
  expect_status(status::out_of_memory, "%%MatrixMarket matrix array real general\n2000000000 0\n");
  expect_status(status::out_of_memory, "%%MatrixMarket matrix coordinate real general\n100000000 1 0\n");
  expect_status(status::out_of_memory, "%%MatrixMarket matrix coordinate real symmetric\n100000000 100000000 0\n");
  expect_status(status::success, "%%MatrixMarket matrix coordinate real general\n10000000 1 0\n");
  expect_status(status::success, "%%MatrixMarket matrix coordinate real general\n3 2147483647 0\n");
  expect_status(status::success, "%%MatrixMarket matrix array real general\n0 2000000000\n");
}

/// C = A A^T where A^T has 2^31 - 1 rows, all but a few of them empty.
TEST_F(MatrixMarketLimits, ProductOverManyEmptyColumns) {
  const std::string_view text =
      "%%MatrixMarket matrix coordinate real general\n3 2147483647 5\n"
      "1 5 2\n1 2147483647 3\n2 7 1\n3 5 10\n3 1000 7\n";
  EXPECT_EQ(run_limited(512 * megabyte,
                        [&] {
                          const context ctx = context::cpu(1);
                          const auto a = parse_matrix_market<double>(text, "text", {.threads = 1});
                          const matrix_ref c = spgemm(ctx, a, a, {.transpose_b = true});
                          const auto v = c.as<double, std::int32_t>();
                          const std::vector<double> values(v.values, v.values + v.nnz);
                          if (values != std::vector<double>{13, 20, 1, 20, 149}) _exit(100);
                        }),
            static_cast<int>(status::success));
}

/// Gigabytes of text in some kilobytes: refused early, and with the reason.
TEST_F(MatrixMarketLimits, DecompressionBombs) {
  const temporary_directory directory;
  const auto many = [](const std::string& line) { return bomb_of(line, zstd); };
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  const struct {
    std::string bytes;
    std::string reason;
    status cause = status::invalid_format;
  } bombs[] = {
      {many(std::string(1, '\0')), "line 1: no %%MatrixMarket banner"},
      {zstd("%%MatrixMarket matrix coordinate float general\n") + many("1 1 1\n"), "line 1: 'float' is not a known field"},
      {zstd(banner) + many("% more\n"), "no size line in the first"},
      {zstd(banner + "3 3 1\n") + many("1 1 1\n"), "line 2: the size line claims 1 entry, but"},
      {zstd(banner + "3 3 1\n1 1 1\n") + many("\n"), "line 2: the size line claims 1 entry, but"},
      {zstd(banner + "3 3 900000000\n") + many(std::string(1, '\0')),
       "line 2: the size line claims 900000000 entries, but"},
      {zstd(banner + "3 3 900000000\n") + many("% more\n"), "line 2: the size line claims 900000000 entries, but"},
  };
  for (const auto& [bytes, reason, cause] : bombs) {
    const std::filesystem::path file = directory / "bomb.mtx.zst";
    write_file(file, bytes);
    const int outcome = run_limited(192 * megabyte, [&, reason = std::string_view(reason)] {
      const auto [code, message] = failure_of([&] { read_matrix_market<double>(file, {.threads = 1}); });
      if (message.find(file.string()) == message.npos || message.find(reason) == message.npos) {
        std::fprintf(stderr, "%s\n", message.c_str());
        _exit(100);
      }
      throw error(code, message);
    });
    EXPECT_EQ(outcome, static_cast<int>(cause)) << reason;
  }
}

/// An endless pipe ends as early.
TEST_F(MatrixMarketLimits, EndlessPipe) {
  const auto read = [] {
    if (std::freopen("/dev/zero", "r", stdin) == nullptr) _exit(100);
    read_matrix_market<double>("-", {.threads = 1});
  };
  EXPECT_EQ(run_limited(256 * megabyte, read), static_cast<int>(status::invalid_format));
}

/// Many comments and blank lines are no bomb.
TEST_F(MatrixMarketLimits, CompressedComments) {
  const temporary_directory directory;
  const std::string comments(32 * megabyte, '\n');
  write_file(directory / "a.mtx.zst",
             zstd("%%MatrixMarket matrix coordinate real general\n" + comments + "2 2 1\n" + comments + "1 1 1"));
  EXPECT_EQ(read_matrix_market<double>(directory / "a.mtx.zst").nnz(), 1);
}

}  // namespace
}  // namespace tulle::test

// Memory is bounded by what a file holds, never by what its header claims.
#include <csignal>
#include <fstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parse.hpp"

namespace tulle::test {
namespace {

constexpr rlim_t megabyte = rlim_t{1} << 20;

/// Bytes of address space that this process has mapped.
rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// Runs `call` in a child process that may use `limit` more bytes of address space, on one thread (the child of a
/// process with threads has none). Returns the status that it ends in, -1 for a crash.
template <class F>
int run_limited(rlim_t limit, F call) {
  const pid_t child = fork();
  if (child == 0) {
    const rlim_t most = address_space() + limit;  // on top of what the tests before have left mapped
    const rlimit bound{most, most};
    setrlimit(RLIMIT_AS, &bound);
    _exit(static_cast<int>(status_of(call)));
  }
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

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

/// 16 GB of zeros in some hundred kilobytes: an error, with no more memory than is to be had.
TEST_F(MatrixMarketLimits, DecompressionBomb) {
  const temporary_directory directory;
  const std::string frame = zstd(std::string(16 * megabyte, '\0'));
  std::string bomb;
  for (int k = 0; k < 1024; ++k) bomb += frame;
  write_file(directory / "bomb.mtx.zst", bomb);
  const auto read = [&] { read_matrix_market<double>(directory / "bomb.mtx.zst", {.threads = 1}); };
  EXPECT_EQ(run_limited(256 * megabyte, read), static_cast<int>(status::out_of_memory));
}

}  // namespace
}  // namespace tulle::test

// What is said of a machine that other processes keep busy.
#include "bench/load.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tulle::cli::bench {
namespace {

TEST(Load, SaysWhenThreadsAndOthersAreMoreThanTheCores) {
  EXPECT_EQ(overload({}, 4, 2), "");  // not known
  EXPECT_EQ(overload(0.1, 2, 2), "");
  EXPECT_EQ(overload(3.0, 4, 8), "");
  EXPECT_NE(overload(1.0, 2, 2).find("2 threads here and 1.0 cores' worth of other processes on 2 cores"),
            std::string::npos);
  EXPECT_NE(overload(0.0, 8, 2), "");
  EXPECT_NE(overload(1.5, 1, 1).find("1 thread here and 1.5 cores' worth of other processes on 1 core;"),
            std::string::npos);
  EXPECT_FALSE(is_overloaded(0.1, 2, 2));
  EXPECT_TRUE(is_overloaded(1.0, 2, 2));
}

TEST(Load, CountsWhatAnotherProcessDoesAndNotItself) {
  const auto busy_until = [](std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  const load_watch watch;
  EXPECT_FALSE(watch.others().has_value());  // too early to tell
  const pid_t other = fork();
  if (other == 0) {
    busy_until(end);
    _exit(0);
  }
  std::thread own(busy_until, end);
  own.join();
  waitpid(other, nullptr, 0);
  const std::optional<double> others = watch.others();
  if (!others) GTEST_SKIP() << "/proc/stat tells nothing here";
  EXPECT_GT(*others, 0.1);
  EXPECT_LE(*others, static_cast<double>(cores()) + 0.5);
}

}  // namespace
}  // namespace tulle::cli::bench

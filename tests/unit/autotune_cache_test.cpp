// What autotuning remembers: whatever is in an entry's place, whoever writes at the same time.
#include "kernels/autotune_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>
#include <tulle/tulle.hpp>
#include <vector>

#include "support/files.hpp"

namespace tulle::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class AutotuneCache : public ::testing::Test {
 protected:
  temporary_directory directory;
  environment_variable variable{"TULLE_CACHE_DIR", directory.path()};

  /// Where `key` is remembered, once it is.
  [[nodiscard]] fs::path entry() const {
    remember_winner(key, "csr.rows");
    const std::vector<fs::path> files(fs::directory_iterator(directory / "autotune"), {});
    EXPECT_EQ(files.size(), 1u) << "one entry, and no draft left behind";
    return files.at(0);
  }
  const std::string key = "0123456789abcdef/f64/some CPU/8";
};

TEST_F(AutotuneCache, RemembersByKey) {
  EXPECT_EQ(cached_winner(key), std::nullopt);
  remember_winner(key, "csr.rows");
  remember_winner("another", "sell");
  remember_winner(key, "packed");
  EXPECT_EQ(cached_winner(key), "packed");
  EXPECT_EQ(cached_winner("another"), "sell");
  EXPECT_EQ(cached_winner("a third"), std::nullopt);
}

TEST_F(AutotuneCache, KeepsFoldersApart) {
  remember_winner(key, "packed", "processor");
  EXPECT_EQ(cached_winner(key), std::nullopt);
  EXPECT_EQ(cached_winner(key, "processor"), "packed");
}

TEST_F(AutotuneCache, TakesNoBrokenEntry) {
  const fs::path file = entry();
  const std::string right = read_file(file);
  std::string of_another_version = right, of_another_key = right;
  of_another_version.replace(right.find(TULLE_VERSION_STRING), 1, "9");
  of_another_key.replace(right.find(key), 1, "9");
  std::string nested(200000, '['), objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  const std::string wrong[] = {"",
                               "\n",
                               right.substr(0, right.size() - 1),
                               right + "\n",
                               right + right,
                               nested,
                               objects,
                               of_another_version,
                               of_another_key,
                               right + std::string(5000, 'x'),
                               "{}",
                               std::string(100, '\0'),
                               right.substr(0, right.size() - 9) + "\n"};
  for (const std::string& text : wrong) {
    write_file(file, text);
    EXPECT_EQ(cached_winner(key), std::nullopt) << text.substr(0, 200);
  }
  write_file(file, right);
  EXPECT_EQ(cached_winner(key), "csr.rows");
}

TEST_F(AutotuneCache, ForgetsInTime) {
  const fs::path file = entry();
  for (const auto& [age, known] :
       {std::pair{170 * 24h, true}, {190 * 24h, false}, {-10 * 24h, true}, {-999 * 24h, false}}) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
    EXPECT_EQ(cached_winner(key).has_value(), known) << age.count() << " h old";
  }
}

/// Whatever is there, both calls return, and they do what can be done.
TEST_F(AutotuneCache, TakesAnythingInItsPlace) {
  const fs::path file = entry(), folder = file.parent_path();
  const auto make_pipe = [](const fs::path& at) { ASSERT_EQ(mkfifo(at.c_str(), 0600), 0); };
  const auto make_directory = [](const fs::path& at) { fs::create_directories(at / "full"); };
  const auto make_loop = [](const fs::path& at) { fs::create_symlink(at, at); };
  const auto make_file = [](const fs::path& at) { write_file(at, "a file"); };
  const struct {
    const char* what;
    fs::path place;
    std::function<void(const fs::path&)> make;
    bool is_replaced;
  } cases[] = {{"a pipe", file, make_pipe, true},
               {"a directory", file, make_directory, false},
               {"a symbolic link to itself", file, make_loop, true},
               {"a pipe for the directory", folder, make_pipe, false},
               {"a file for the directory", folder, make_file, false},
               {"a link to itself for the directory", folder, make_loop, false}};
  for (const auto& [what, place, make, is_replaced] : cases) {
    fs::remove_all(folder);
    fs::create_directories(place.parent_path());
    make(place);
    alarm(10);  // a call that waits ends the test
    EXPECT_EQ(cached_winner(key), std::nullopt) << what;
    remember_winner(key, "csr.rows");
    EXPECT_EQ(cached_winner(key).has_value(), is_replaced) << what;
    alarm(0);
  }
  const environment_variable nowhere("TULLE_CACHE_DIR", "/dev/null/cache");
  remember_winner(key, "csr.rows");
  EXPECT_EQ(cached_winner(key), std::nullopt);
}

/// Of earlier versions, which read and wrote one file for all.
TEST_F(AutotuneCache, LeavesOtherFilesAlone) {
  const fs::path of_before = directory / "autotune.json";
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  write_file(of_before, objects);
  remember_winner(key, "csr.rows");
  EXPECT_EQ(cached_winner(key), "csr.rows");
  EXPECT_EQ(read_file(of_before), objects);
  fs::remove(of_before);
  ASSERT_EQ(mkfifo(of_before.c_str(), 0600), 0);
  alarm(10);
  remember_winner(key, "sell");
  EXPECT_EQ(cached_winner(key), "sell");
  alarm(0);
}

TEST_F(AutotuneCache, WritersLoseNothingOfOneAnother) {
  constexpr int writers = 12, entries_of_each = 20;
  const auto key_of = [](const char* kind, int writer, int i) { return fmt::format("{} {}: {}", kind, writer, i); };
  const auto write = [&](const char* kind, int writer) {
    for (int i = 0; i < entries_of_each; ++i) {
      remember_winner(key_of(kind, writer, i), "sell");
      remember_winner("shared", "sell");
    }
  };
  std::vector<pid_t> processes;
  for (int w = 0; w < writers; ++w) {
    processes.push_back(fork());
    ASSERT_GE(processes.back(), 0);
    if (processes.back() == 0) {
      write("process", w);
      _exit(0);
    }
  }
  {
    std::vector<std::jthread> threads;
    for (int w = 0; w < writers; ++w) threads.emplace_back([&, w] { write("thread", w); });
  }
  for (const pid_t process : processes) {
    int how = -1;
    waitpid(process, &how, 0);
    EXPECT_EQ(how, 0);
  }
  for (const char* kind : {"process", "thread"}) {
    for (int w = 0; w < writers; ++w) {
      for (int i = 0; i < entries_of_each; ++i)
        EXPECT_EQ(cached_winner(key_of(kind, w, i)), "sell") << key_of(kind, w, i);
    }
  }
  EXPECT_EQ(cached_winner("shared"), "sell");
  for (const auto& file : fs::directory_iterator(directory / "autotune")) {
    EXPECT_FALSE(file.path().filename().string().starts_with("draft")) << "left behind";
  }
}

}  // namespace
}  // namespace tulle::test

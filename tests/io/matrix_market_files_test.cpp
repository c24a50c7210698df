// Files: plain, compressed, through a pipe, broken, missing.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "file_test.hpp"

namespace tulle::test {
namespace {

const std::string& text = small_text;

std::string gzip(const std::string& bytes) {
  std::string out(compressBound(static_cast<uLong>(bytes.size())) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class MatrixMarketFiles : public file_test {};

/// Another file in place of standard input, until the end.
class standard_input {
 public:
  explicit standard_input(const std::filesystem::path& file) : before_(dup(STDIN_FILENO)) {
    const int fd = open(file.c_str(), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
  }
  standard_input(const standard_input&) = delete;
  standard_input& operator=(const standard_input&) = delete;
  ~standard_input() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST_F(MatrixMarketFiles, CompressedOnesAreToldByContent) {
  const auto expected = parse(text);
  EXPECT_EQ(read(text), expected);
  EXPECT_EQ(read(gzip(text)), expected);
  EXPECT_EQ(read(zstd(text)), expected);
  EXPECT_EQ(read(gzip(text), "a.mtx.gz"), expected);
  EXPECT_EQ(read(zstd(text), "a.mtx.zst"), expected);
}

TEST_F(MatrixMarketFiles, SeveralMembersAndFrames) {
  const auto expected = parse(text);
  const std::string head = text.substr(0, 50);
  const std::string tail = text.substr(50);
  EXPECT_EQ(read(gzip(head) + gzip(tail)), expected);
  EXPECT_EQ(read(gzip(text) + std::string(512, '\0')), expected);
  EXPECT_EQ(read(zstd(head) + zstd(tail)), expected);
}

/// pzstd begins with a skippable frame; others put them anywhere.
TEST_F(MatrixMarketFiles, SkippableFrames) {
  using namespace std::string_literals;
  const std::string skippable = "\x50\x2a\x4d\x18\x04\0\0\0rest"s;
  EXPECT_EQ(read(skippable + zstd(text.substr(0, 50)) + skippable + zstd(text.substr(50)) + skippable), parse(text));
}

/// A frame by hand: no checksum, no size, a window of 2^(10 + exponent) bytes, one raw block.
TEST_F(MatrixMarketFiles, ZstdWindows) {
  const auto frame = [](int exponent) {
    const auto block = static_cast<unsigned>(text.size() << 3 | 1);
    std::string bytes = "\x28\xb5\x2f\xfd";
    for (const unsigned byte : {0U, static_cast<unsigned>(exponent) << 3, block, block >> 8, block >> 16}) {
      bytes += static_cast<char>(byte);
    }
    return bytes + text;
  };
  for (const int exponent : {10, 17, 18, 21}) EXPECT_EQ(read(frame(exponent)), parse(text)) << exponent;
  expect_unreadable(frame(22), "window of more than 2048 MiB");
}

TEST_F(MatrixMarketFiles, LargeCompressed) {
  const std::string large = large_text();
  const auto expected = parse(large);
  matrix_market_info info;
  write_file(directory_ / "l", gzip(large));
  EXPECT_EQ(plain(read_matrix_market<double>(directory_ / "l", {}, &info)), expected);
  EXPECT_EQ(info.bytes, static_cast<std::int64_t>(large.size()));
  EXPECT_EQ(read(zstd(large)), expected);
}

TEST_F(MatrixMarketFiles, TruncatedOrCorrupt) {
  const std::string large = large_text();
  const std::string gz = gzip(large);
  const std::string zst = zstd(large);
  expect_unreadable(gz.substr(0, gz.size() / 2), "truncated");
  expect_unreadable(gz.substr(0, gz.size() - 4), "truncated");
  expect_unreadable(gz.substr(0, 5), "truncated");
  expect_unreadable(gz + "x", "corrupt");
  expect_unreadable(zst.substr(0, zst.size() / 2), "truncated");
  expect_unreadable(zst.substr(0, 6), "truncated");
  expect_unreadable(zst + "x", "corrupt");
  std::string broken = gz;
  broken[gz.size() - 6] = static_cast<char>(~broken[gz.size() - 6]);  // the checksum
  expect_unreadable(broken, "corrupt");
  broken = zst;
  broken[6] = static_cast<char>(~broken[6]);
  for (std::size_t k = 20; k < 60; ++k) broken[k] = '\xff';
  EXPECT_THROW(read(broken), error);
}

TEST_F(MatrixMarketFiles, MissingUnreadableDirectory) {
  expect_error(status::file_io, "none.mtx: No such file", [&] { read_matrix_market<double>(directory_ / "none.mtx"); });
  expect_error(status::file_io, "Is a directory", [&] { read_matrix_market<double>(directory_.path()); });
  expect_error(status::invalid_format, "the file is empty", [&] { read(""); });
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write_file(directory_ / "secret", text);
  chmod((directory_ / "secret").c_str(), 0);
  expect_error(status::file_io, "secret: Permission denied",
               [&] { read_matrix_market<double>(directory_ / "secret"); });
}

TEST_F(MatrixMarketFiles, Pipe) {
  const auto pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string large = large_text();
  for (const std::string& bytes : {large, gzip(large), zstd(large)}) {
    const auto writer = std::async(std::launch::async, [&] { write_file(pipe, bytes); });
    EXPECT_EQ(plain(read_matrix_market<double>(pipe)), parse(large));
  }
}

TEST_F(MatrixMarketFiles, StandardInput) {
  const std::string large = large_text();
  for (const std::string& bytes : {large, gzip(large), zstd(large)}) {
    write_file(directory_ / "a", bytes);
    const standard_input input(directory_ / "a");
    EXPECT_EQ(plain(read_matrix_market<double>("-")), parse(large));
  }
  write_file(directory_ / "a", "skipped\n" + text);
  const standard_input input(directory_ / "a");
  ASSERT_EQ(lseek(STDIN_FILENO, 8, SEEK_SET), 8);
  EXPECT_EQ(plain(read_matrix_market<double>("-")), parse(text));
  write_file(directory_ / "a", "text");
  const standard_input bad(directory_ / "a");
  expect_error(status::invalid_format, "stdin: line 1", [] { read_matrix_market<double>("-"); });
}

/// Large plain files are read segment by segment; matrices and messages are those of their text.
TEST_F(MatrixMarketFiles, LargePlainOnesAreAsTheirText) {
  const std::string large = large_text();
  const std::string data = large.substr(large.find("1 1 0\n"));
  const std::string banner = "%%MatrixMarket matrix coordinate integer ";
  const std::string size = "1000 1000 100000\n";
  std::string comments = "% a comment\n";
  while (comments.size() < 500000) comments += comments;
  std::string carriage_returns = large;
  std::ranges::replace(carriage_returns, '\n', '\r');
  std::string array = "%%MatrixMarket matrix array real general\n1000 300\n";
  for (int k = 0; k < 300000; ++k) array += fmt::format("{}.0\n", k);
  const std::string texts[] = {large,
                               large.substr(0, large.size() - 1),
                               carriage_returns,
                               banner + "general\n" + comments + size + data,
                               banner + "symmetric\n" + size + data,
                               banner + "general\n1000 1000 100001\n" + data + "1 1 2147483647\n",
                               array,
                               array + "x",
                               array + "1\n",
                               large + "1 1 1\n",
                               large + "% more\n1 1 x",
                               large.substr(0, large.size() - 4000),
                               banner + "general\n1000 999 100000\n" + data,
                               banner + "general\n1000 1000\n" + data,
                               banner + "hermitian\n" + data,
                               comments + comments + comments + large,
                               banner + "general\n" + comments + comments + comments};
  for (const std::string& bytes : texts) {
    const std::filesystem::path file = directory_ / "a.mtx";
    write_file(file, bytes);
    ASSERT_GT(bytes.size(), std::size_t{1} << 20);
    for (const bool strict : {false, true}) {
      for (const int threads : {1, 3}) {
        const matrix_market_options options{.strict = strict, .threads = threads};
        plain_csr<std::int32_t> expected, found;
        matrix_market_info of_text, of_file;
        const std::string name = file.string();
        const auto from_text =
            failure_of([&] { expected = plain(parse_matrix_market<std::int32_t>(bytes, name, options, &of_text)); });
        const auto from_file =
            failure_of([&] { found = plain(read_matrix_market<std::int32_t>(file, options, &of_file)); });
        EXPECT_EQ(from_file, from_text);
        EXPECT_EQ(found, expected);
        EXPECT_EQ(of_file.note, of_text.note);
        EXPECT_EQ(of_file.bytes, of_text.bytes);
      }
    }
  }
}

/// Cut and written again while it is read: an error or a matrix, never a signal.
TEST_F(MatrixMarketFiles, ShrinksWhileItIsRead) {
  std::string large = large_text();
  while (large.size() < (std::size_t{1} << 24)) large += "% comments that take long to read\n";
  const std::filesystem::path file = directory_ / "a.mtx";
  write_file(file, large);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<bool> done = false;
    std::thread cutter([&] {
      while (!done) {
        std::error_code gone;
        std::filesystem::resize_file(file, 10, gone);
        write_file(file, large);
      }
    });
    bool right = true;
    for (int k = 0; k < 30; ++k) {
      const status found = status_of([&] { read_matrix_market<double>(file, {.threads = 1}); });
      right = right && (found == status::success || found == status::file_io || found == status::invalid_format);
    }
    done = true;
    cutter.join();
    _exit(right ? 0 : 1);
  }
  int state = 0;
  waitpid(child, &state, 0);
  EXPECT_TRUE(WIFEXITED(state)) << "signal " << WTERMSIG(state);
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

/// The kernel says of such files that they have 4096 bytes, which they have not.
TEST_F(MatrixMarketFiles, ShorterThanItsSize) {
  const std::filesystem::path file = "/sys/kernel/mm/transparent_hugepage/enabled";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  expect_error(status::file_io, "enabled: became shorter than 4096 bytes", [&] { read_matrix_market<double>(file); });
}

/// Files whose size is a whole number of pages, and text of every length, end where they end.
TEST_F(MatrixMarketFiles, EveryLength) {
  const long page = sysconf(_SC_PAGESIZE);
  std::string padded = text + "%";
  padded.resize(static_cast<std::size_t>(page), 'x');
  EXPECT_EQ(read(padded), parse(text));
  std::string number = text;
  number.insert(number.size() - 1, std::string(static_cast<std::size_t>(page) - text.size() + 1, '0'));
  number.pop_back();
  ASSERT_EQ(number.size(), static_cast<std::size_t>(page));
  expect_error(status::overflow, "line 4", [&] { read(number); });
  for (std::size_t length = 0; length < text.size() - 4; ++length)
    EXPECT_THROW(read(text.substr(0, length)), error) << length;
}

}  // namespace
}  // namespace tulle::test

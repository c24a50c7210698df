// .xz files: read, written, broken, and those that claim or hold too much.
#include <lzma.h>
#include <sys/stat.h>

#include <cstdio>
#include <future>
#include <random>

#include "file_test.hpp"
#include "limited.hpp"

namespace tulle::test {
namespace {

const std::string& text = small_text;

std::string xz(const std::string& bytes) {
  std::string out(lzma_stream_buffer_bound(bytes.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                    bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

class Xz : public file_test {};

TEST_F(Xz, IsToldByContent) {
  const auto expected = parse(text);
  EXPECT_EQ(read(xz(text)), expected);
  EXPECT_EQ(read(xz(text), "a.mtx.xz"), expected);
  EXPECT_EQ(read(xz(text), "a.mtx.gz"), expected);
  EXPECT_EQ(read(xz(large_text())), parse(large_text()));
}

TEST_F(Xz, SeveralStreamsAndPadding) {
  const std::string both = xz(text.substr(0, 50)) + std::string(8, '\0') + xz(text.substr(50)) + std::string(512, '\0');
  EXPECT_EQ(read(both), parse(text));
}

TEST_F(Xz, TruncatedOrCorrupt) {
  const std::string whole = xz(large_text());
  expect_unreadable(whole.substr(0, whole.size() / 2), "truncated");
  expect_unreadable(whole.substr(0, whole.size() - 4), "truncated");
  expect_unreadable(whole.substr(0, 7), "truncated");
  expect_unreadable(whole + "something else follows", "corrupt");
  expect_unreadable(whole + std::string(3, '\0'), "corrupt");  // padding comes in fours
  for (const std::size_t place : {std::size_t{8}, whole.size() / 2, whole.size() - 6}) {
    std::string broken = whole;
    broken[place] = static_cast<char>(~broken[place]);
    expect_unreadable(broken, "corrupt");
  }
  expect_error(status::invalid_format, "compressed twice", [&] { read(xz(xz(text))); });
}

TEST_F(Xz, Pipe) {
  const auto pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto writer = std::async(std::launch::async, [&] { write_file(pipe, xz(large_text())); });
  EXPECT_EQ(plain(read_matrix_market<double>(pipe)), parse(large_text()));
}

TEST_F(Xz, WhatIsWrittenReadsBack) {
  std::mt19937 random(3);
  std::vector<double> values(50000);
  for (double& v : values) v = std::uniform_real_distribution(-1.0, 1.0)(random);
  const auto a = diagonal_matrix(values);
  write_matrix_market(directory_ / "a.mtx.xz", a.view());
  EXPECT_EQ(read_file(directory_ / "a.mtx.xz").substr(0, 5), "\xfd\x37zXZ");
  EXPECT_EQ(plain(read_matrix_market<double>(directory_ / "a.mtx.xz")), a);
  write_matrix_market(directory_ / "empty.xz", plain_csr<>{0, 0, {0}, {}, {}}.view());
  EXPECT_EQ(plain(read_matrix_market<double>(directory_ / "empty.xz")).rows, 0);
  std::filesystem::create_symlink("/dev/full", directory_ / "full.mtx.xz");
  expect_error(status::file_io, "No space left", [&] { write_matrix_market(directory_ / "full.mtx.xz", a.view()); });
}

/// A stream by hand of 4 GiB of dictionary, in a file of some bytes.
TEST_F(Xz, ClaimsOfMemoryAreNotBelieved) {
  std::string whole = xz(text);
  // The stream's header has 12 bytes; the block's: size, flags, sizes, filter 0x21, 1 byte of properties: the
  // dictionary.
  const std::size_t filter = whole.find("\x21\x01", 14);
  ASSERT_LT(filter, 40U);
  whole[filter + 2] = 40;  // 4 GiB - 1
  const auto size = static_cast<std::size_t>(4 * (static_cast<unsigned char>(whole[12]) + 1) - 4);
  const std::uint32_t crc = lzma_crc32(reinterpret_cast<const std::uint8_t*>(whole.data() + 12), size, 0);
  for (std::size_t i = 0; i < 4; ++i) whole[12 + size + i] = static_cast<char>(crc >> (8 * i));
  expect_unreadable(whole, "more than 2048 MiB to decompress");
}

/// Gigabytes of text in some kilobytes: refused early, and with the reason.
TEST_F(Xz, DecompressionBombs) {
  if (TULLE_SANITIZED) GTEST_SKIP() << "sanitizers reserve more address space than any limit";
  const auto many = [](const std::string& line) { return bomb_of(line, xz); };
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  const struct {
    std::string bytes;
    std::string reason;
  } bombs[] = {{many(std::string(1, '\0')), "line 1: no %%MatrixMarket banner"},
               {xz(banner) + many("% more\n"), "no size line in the first"},
               {xz(banner + "3 3 1\n") + many("1 1 1\n"), "line 2: the size line claims 1 entry, but"}};
  for (const auto& [bytes, reason] : bombs) {
    const std::filesystem::path file = directory_ / "bomb.mtx.xz";
    write_file(file, bytes);
    const int outcome = run_limited(192 * megabyte, [&, reason = std::string_view(reason)] {
      const auto [code, message] = failure_of([&] { read_matrix_market<double>(file, {.threads = 1}); });
      if (message.find(file.string()) == message.npos || message.find(reason) == message.npos) {
        std::fprintf(stderr, "%s\n", message.c_str());
        _exit(100);
      }
      throw error(code, message);
    });
    EXPECT_EQ(outcome, static_cast<int>(status::invalid_format)) << reason;
  }
}

}  // namespace
}  // namespace tulle::test

// Files: plain, compressed, through a pipe, broken, missing.
#include <future>

#include <sys/stat.h>
#include <zlib.h>

#include "parse.hpp"

namespace tulle::test {
namespace {

const std::string text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 -2\n";

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

std::string large_text() {
  std::string large = "%%MatrixMarket matrix coordinate integer general\n1000 1000 100000\n";
  for (int k = 0; k < 100000; ++k) large += fmt::format("{} {} {}\n", 1 + k % 1000, 1 + k / 1000, k);
  return large;
}

class MatrixMarketFiles : public testing::Test {
 protected:
  plain_csr<double> read(const std::string& bytes, std::string_view file = "a.mtx") {
    write_file(directory_ / file, bytes);
    return plain(read_matrix_market<double>(directory_ / file));
  }
  void expect_unreadable(const std::string& bytes, std::string_view why) {
    const std::string message = expect_error(status::file_io, why, [&] { read(bytes); });
    EXPECT_NE(message.find("a.mtx"), std::string::npos) << message;
  }
  temporary_directory directory_;
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
  for (const std::string& bytes : {large, gzip(large)}) {
    const auto writer = std::async(std::launch::async, [&] { write_file(pipe, bytes); });
    EXPECT_EQ(plain(read_matrix_market<double>(pipe)), parse(large));
  }
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

// The writer: what is written reads back bit for bit, and nothing is lost when it fails.
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <limits>
#include <random>
#include <tulle/io/write_file.hpp>

#include "parse.hpp"

namespace tulle::test {
namespace {

/// Every bit pattern is as likely as any other, so all magnitudes are there, subnormals included.
template <scalar T, class Bits>
std::vector<T> random_finite(std::size_t count) {
  std::mt19937_64 random(3);
  std::vector<T> values;
  while (values.size() < count) {
    const T value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

class MatrixMarketWrite : public testing::Test {
 protected:
  template <scalar T>
  plain_csr<T> round_trip(const plain_csr<T>& a, std::string_view file = "a.mtx") {
    write_matrix_market(directory_ / file, a.view());
    return plain(read_matrix_market<T>(directory_ / file));
  }
  temporary_directory directory_;
};

TEST_F(MatrixMarketWrite, Text) {
  const plain_csr<double, std::int32_t> a{2, 3, {0, 2, 3}, {0, 2, 1}, {0.1, -3, 1e300}};
  write_matrix_market(directory_ / "a.mtx", a.view());
  EXPECT_EQ(read_file(directory_ / "a.mtx"),
            "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 0.1\n1 3 -3\n2 2 1e+300\n");
  write_matrix_market(directory_ / "b.mtx", diagonal_matrix<std::int32_t>({7, -8}).view());
  EXPECT_EQ(read_file(directory_ / "b.mtx"),
            "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 7\n2 2 -8\n");
}

TEST_F(MatrixMarketWrite, FieldsThatTheValuesAllow) {
  const auto field_of = [&](const auto& a, mm_field wish) {
    matrix_market_info info;
    write_matrix_market(directory_ / "f.mtx", a.view(), false, wish);
    EXPECT_EQ(plain(read_matrix_market<double>(directory_ / "f.mtx", {}, &info)).values,
              std::vector<double>(a.values.begin(), a.values.end()));
    return info.field;
  };
  EXPECT_EQ(field_of(diagonal_matrix<double>({1, 1}), mm_field::pattern), mm_field::pattern);
  EXPECT_EQ(field_of(diagonal_matrix<double>({1, 2}), mm_field::pattern), mm_field::integer);
  EXPECT_EQ(field_of(diagonal_matrix<double>({1, 0.5}), mm_field::pattern), mm_field::real);
  EXPECT_EQ(field_of(diagonal_matrix<double>({-3, 0x1p53}), mm_field::integer), mm_field::integer);
  EXPECT_EQ(field_of(diagonal_matrix<double>({-3, 0x1p54}), mm_field::integer), mm_field::real);
  EXPECT_EQ(field_of(diagonal_matrix<double>({-3, HUGE_VAL}), mm_field::integer), mm_field::real);
  EXPECT_EQ(field_of(diagonal_matrix<double>({1, 1}), mm_field::real), mm_field::real);
  EXPECT_EQ(field_of(diagonal_matrix<float>({-3, 1e7F}), mm_field::integer), mm_field::integer);
  EXPECT_EQ(field_of(diagonal_matrix<std::int32_t>({1, 1}), mm_field::pattern), mm_field::pattern);
  EXPECT_EQ(field_of(diagonal_matrix<std::int32_t>({1, 7}), mm_field::real), mm_field::integer);
  write_matrix_market(directory_ / "p.mtx", diagonal_matrix<double>({1, 1}).view(), true, mm_field::pattern);
  EXPECT_EQ(read_file(directory_ / "p.mtx"), "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 2\n");
}

TEST_F(MatrixMarketWrite, RoundTripsAreExact) {
  auto doubles = random_finite<double, std::uint64_t>(20000);
  doubles.insert(doubles.end(),
                 {0.0, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                  std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(same_bits(round_trip(diagonal_matrix(doubles)).values, doubles));
  const auto floats = random_finite<float, std::uint32_t>(20000);
  EXPECT_TRUE(same_bits(round_trip(diagonal_matrix(floats)).values, floats));
  const std::vector<std::int32_t> integers{0, -1, std::numeric_limits<std::int32_t>::min(),
                                           std::numeric_limits<std::int32_t>::max()};
  EXPECT_EQ(round_trip(diagonal_matrix(integers)).values, integers);
  EXPECT_TRUE(std::isnan(round_trip(diagonal_matrix<double>({std::nan("")})).values[0]));
}

TEST_F(MatrixMarketWrite, Compressed) {
  const auto values = random_finite<double, std::uint64_t>(50000);
  const auto a = diagonal_matrix(values);
  EXPECT_EQ(round_trip(a, "a.mtx.gz"), a);
  EXPECT_EQ(round_trip(a, "a.mtx.zst"), a);
  EXPECT_EQ(read_file(directory_ / "a.mtx.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(read_file(directory_ / "a.mtx.zst").substr(0, 4), "\x28\xb5\x2f\xfd");
}

TEST_F(MatrixMarketWrite, Empty) {
  EXPECT_EQ(round_trip(plain_csr<>{0, 0, {0}, {}, {}}).rows, 0);
  EXPECT_EQ(round_trip(plain_csr<>{3, 2, {0, 0, 0, 0}, {}, {}}, "a.gz").rowptr,
            (std::vector<std::int64_t>{0, 0, 0, 0}));
}

TEST_F(MatrixMarketWrite, Symmetric) {
  const plain_csr<> a{3, 3, {0, 2, 4, 6}, {1, 0, 0, 2, 2, 1}, {2, 1, 2, 3, 4, 3}};
  write_matrix_market(directory_ / "s.mtx", a.view(), true);
  matrix_market_info info;
  const auto b = plain(read_matrix_market<double>(directory_ / "s.mtx", {}, &info));
  EXPECT_EQ(dense(b), (std::vector<double>{1, 2, 0, 2, 0, 3, 0, 3, 4}));
  EXPECT_EQ(info.symmetry, mm_symmetry::symmetric);
  EXPECT_EQ(info.stored_entries, 4);
}

TEST_F(MatrixMarketWrite, WhatIsNotSymmetricIsRefused) {
  const auto refuse = [&](const plain_csr<>& a) {
    expect_error(status::invalid_argument, "symmetric",
                 [&] { write_matrix_market(directory_ / "s.mtx", a.view(), true); });
    EXPECT_FALSE(std::filesystem::exists(directory_ / "s.mtx"));
  };
  refuse(plain_csr<>{2, 3, {0, 0, 0}, {}, {}});
  refuse(plain_csr<>{2, 2, {0, 1, 1}, {1}, {5}});
  refuse(plain_csr<>{2, 2, {0, 0, 1}, {0}, {5}});
  refuse(plain_csr<>{2, 2, {0, 1, 2}, {1, 0}, {5, 6}});
}

TEST_F(MatrixMarketWrite, FailuresNameTheFileAndLoseNothing) {
  const auto a = diagonal_matrix<double>({1, 2});
  expect_error(status::file_io, "none/a.mtx", [&] { write_matrix_market(directory_ / "none/a.mtx", a.view()); });
  expect_error(status::file_io, directory_.path().string(), [&] { write_matrix_market(directory_.path(), a.view()); });
  if (std::filesystem::exists("/dev/full")) {
    for (const char* file : {"full.mtx", "full.mtx.gz", "full.mtx.zst"}) {
      std::filesystem::create_symlink("/dev/full", directory_ / file);
      expect_error(status::file_io, "No space left", [&] {
        write_matrix_market(directory_ / file, diagonal_matrix(std::vector<double>(300000, 0.1)).view());
      });
    }
  }
}

TEST_F(MatrixMarketWrite, FailureHalfwayKeepsTheOldFile) {
  write_file(directory_ / "a.mtx", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100000, before.rlim_max};
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const auto large = diagonal_matrix(random_finite<double, std::uint64_t>(50000));
  expect_error(status::file_io, "a.mtx", [&] { write_matrix_market(directory_ / "a.mtx", large.view()); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(read_file(directory_ / "a.mtx"), "old");
  const auto files = std::distance(std::filesystem::directory_iterator(directory_.path()), {});
  EXPECT_EQ(files, 1) << "a temporary file is left";
}

TEST_F(MatrixMarketWrite, ReplacesTheTargetOfALink) {
  write_file(directory_ / "real.mtx", "old");
  std::filesystem::create_symlink("real.mtx", directory_ / "link.mtx");
  write_matrix_market(directory_ / "link.mtx", diagonal_matrix<double>({1}).view());
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link.mtx"));
  EXPECT_EQ(read_matrix_market<double>(directory_ / "real.mtx").nnz(), 1);
}

TEST_F(MatrixMarketWrite, FilesOfBytesAreReplacedWithTheirPermissions) {
  const auto file = directory_ / "a.txt";
  tulle::write_file(file, "old");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  tulle::write_file(file, "new");
  EXPECT_EQ(read_file(file), "new");
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(file).permissions()), 0600u);
  check_writable(file);
  EXPECT_EQ(read_file(file), "new");
  check_writable(directory_ / "b.txt");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "b.txt"));
  expect_error(status::file_io, "none/b.txt", [&] { check_writable(directory_ / "none/b.txt"); });
  expect_error(status::file_io, "directory", [&] { check_writable(directory_.path()); });
  const std::string longest(255, 'x');
  tulle::write_file(directory_ / longest, "as long as names may be");
  EXPECT_TRUE(std::filesystem::exists(directory_ / longest));
}

}  // namespace
}  // namespace tulle::test

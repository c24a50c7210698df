// Complex and 64-bit integer Matrix Market files: read, refused by name, written and read back.
#include <gtest/gtest.h>

#include <complex>
#include <filesystem>
#include <string>
#include <tulle/tulle.hpp>
#include <unistd.h>

namespace tulle::test {
namespace {

using c128 = std::complex<double>;

constexpr const char* hermitian =
    "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n1 1 2 0\n2 1 1 -3\n3 2 0.5 1e-3\n3 3 -1 0\n";

std::string refusal(const char* text, auto read) {
  try {
    read(text);
  } catch (const error& e) {
    return e.what();
  }
  return "";
}
const auto as_c128 = [](const char* text) { return parse_matrix_market<c128>(text, "a.mtx"); };

TEST(matrix_market_complex, hermitian_is_expanded_with_conjugates) {
  matrix_market_info info;
  const csr<c128> a = parse_matrix_market<c128>(hermitian, "a.mtx", {}, &info);
  ASSERT_EQ(a.nnz(), 6);
  EXPECT_EQ(info.field, mm_field::complex);
  EXPECT_EQ(info.symmetry, mm_symmetry::hermitian);
  EXPECT_EQ(a.values.data()[0], c128(2, 0));
  EXPECT_EQ(a.values.data()[1], c128(1, 3));
  EXPECT_EQ(a.values.data()[2], c128(1, -3));
  EXPECT_EQ(a.values.data()[3], c128(0.5, -1e-3));
  EXPECT_EQ(a.values.data()[4], c128(0.5, 1e-3));
}

TEST(matrix_market_complex, what_is_wrong_is_named) {
  EXPECT_NE(refusal("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 2 1\n", as_c128).find("line 3: entry (1, 1) of a hermitian"), std::string::npos);
  EXPECT_NE(refusal("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2\n", as_c128).find("imaginary part; this line has 3 words"), std::string::npos);
  EXPECT_NE(refusal(hermitian, [](const char* t) { return parse_matrix_market<double>(t, "a.mtx"); }).find("complex values do not fit f64"), std::string::npos);
}

TEST(matrix_market_complex, duplicates_add_up_and_real_files_are_read) {
  const csr<c128> a = as_c128("%%MatrixMarket matrix coordinate complex general\n1 1 2\n1 1 2 1\n1 1 1 4\n");
  ASSERT_EQ(a.nnz(), 1);
  EXPECT_EQ(a.values.data()[0], c128(3, 5));
  EXPECT_EQ(as_c128("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n").values.data()[0], c128(2.5, 0));
  EXPECT_EQ(as_c128("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n").values.data()[0], c128(1, 0));
  const csr<c128> array = as_c128("%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
  EXPECT_EQ(array.values.data()[1], c128(2, -3));
  EXPECT_EQ(array.values.data()[2], c128(2, 3));
}

TEST(matrix_market_complex, whole_numbers_of_64_bits) {
  const auto read = [](const char* t) { return parse_matrix_market<std::int64_t>(t, "a.mtx"); };
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740993\n").values.data()[0], 9007199254740993);
  EXPECT_NE(refusal("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n", read), "");
}

TEST(matrix_market_complex, what_is_written_reads_back) {
  const auto file = std::filesystem::temp_directory_path() / ("tulle_further_" + std::to_string(getpid()) + ".mtx");
  const csr<c128> a = as_c128(hermitian);
  write_matrix_market(file, a.view(), true);
  matrix_market_info info;
  const csr<c128> b = read_matrix_market<c128>(file, {}, &info);
  EXPECT_EQ(info.symmetry, mm_symmetry::hermitian);
  ASSERT_EQ(a.nnz(), b.nnz());
  for (std::int64_t k = 0; k < a.nnz(); ++k) EXPECT_EQ(a.values.data()[k], b.values.data()[k]);
  const csr<std::complex<float>> narrow = read_matrix_market<std::complex<float>>(file);
  EXPECT_EQ(narrow.values.data()[1], std::complex<float>(1, 3));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace tulle::test

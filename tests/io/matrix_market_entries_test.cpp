// Entries as files list them: their order, mirror images, and the same errors as of the reader into a CSR.
#include <complex>
#include <random>
#include <tuple>

#include "parse.hpp"

namespace tulle::test {
namespace {

template <scalar T = double>
using entries = std::vector<std::tuple<index_t, index_t, T>>;

template <scalar T>
entries<T> plain_entries(const mm_entries<T>& list) {
  entries<T> out;
  for (std::int64_t k = 0; k < list.count; ++k) {
    out.emplace_back(list.row.data()[k], list.col.data()[k], list.values.data()[k]);
  }
  return out;
}
template <scalar T = double>
entries<T> listed(std::string_view text, const matrix_market_options& options = {}) {
  return plain_entries(parse_matrix_market_entries<T>(text, "text", options));
}

/// Random entries, in lines with comments, blanks and line ends of every kind between them.
std::pair<std::string, entries<>> random_file(std::string_view symmetry, int count) {
  std::mt19937_64 random(5);
  constexpr index_t n = 3000;
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real {}\n{} {} {}\n", symmetry, n, n, count);
  entries<> expected, mirrored;
  for (int k = 0; k < count; ++k) {
    auto i = static_cast<index_t>(random() % n), j = random() % 4 == 0 ? i : static_cast<index_t>(random() % n);
    if (symmetry != "general" && i < j) std::swap(i, j);
    const double value = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    const char* const after = k % 97 == 0 ? "\n\n% more\n" : k % 31 == 0 ? "\r\n" : k % 41 == 0 ? "  \r" : "\n";
    text += fmt::format("{} {}  {}{}", i + 1, j + 1, value, after);
    expected.emplace_back(i, j, value);
    if (symmetry != "general" && i != j) mirrored.emplace_back(j, i, symmetry == "symmetric" ? value : -value);
  }
  expected.insert(expected.end(), mirrored.begin(), mirrored.end());
  return {text, expected};
}

TEST(MatrixMarketEntries, AreInTheOrderOfTheFile) {
  for (const char* symmetry : {"general", "symmetric", "skew-symmetric"}) {
    for (const int count : {0, 1, 700, 60000}) {
      const auto [text, expected] = random_file(symmetry, count);
      for (const int threads : {1, 2, 7}) {
        EXPECT_EQ(listed(text, {.threads = threads}), expected) << symmetry << ", " << count << ", " << threads;
      }
      temporary_directory folder;
      write_file(folder / "a.mtx", text);
      write_file(folder / "a.mtx.zst", zstd(text));
      EXPECT_EQ(plain_entries(read_matrix_market_entries<double>(folder / "a.mtx")), expected);
      EXPECT_EQ(plain_entries(read_matrix_market_entries<double>(folder / "a.mtx.zst")), expected);
    }
  }
}

TEST(MatrixMarketEntries, KeepDuplicates) {
  const std::string text = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 3\n1 1 0\n2 1 -1\n";
  EXPECT_EQ(listed(text), (entries<>{{1, 0, 3}, {0, 0, 0}, {1, 0, -1}}));
  expect_error(status::invalid_format, "text: line 5: entry (2, 1) is there twice", [&] { listed(text, {.strict = true}); });
}

TEST(MatrixMarketEntries, OfOtherFields) {
  EXPECT_EQ(listed("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n3 1\n2 2\n"),
            (entries<>{{2, 0, 1}, {1, 1, 1}, {0, 2, 1}}));
  EXPECT_EQ(listed<std::int64_t>("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 -9000000000\n"),
            (entries<std::int64_t>{{0, 0, -9000000000}}));
  EXPECT_EQ(listed("%%MatrixMarket vector coordinate real general\n4 1\n3 2.5\n"), (entries<>{{2, 0, 2.5}}));
  using complex = std::complex<double>;
  EXPECT_EQ(listed<complex>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 1 1 5\n1 1 3 0\n"),
            (entries<complex>{{1, 0, {1, 5}}, {0, 0, {3, 0}}, {0, 1, {1, -5}}}));
  for (const char* field : {"real", "integer", "pattern"}) {  // a real hermitian matrix is a symmetric one
    matrix_market_info info;
    const std::string value = std::string(field) == "pattern" ? "" : " 5";
    const auto a = parse(fmt::format("%%MatrixMarket matrix coordinate {} hermitian\n2 2 1\n2 1{}\n", field, value), {}, &info);
    EXPECT_EQ(a.values.size(), 2u) << field;
    EXPECT_EQ(info.symmetry, mm_symmetry::symmetric) << field;
  }
  expect_error(status::invalid_format, "text: line 3: entry (2, 2) of a hermitian matrix has an imaginary part", [] {
    listed<complex>("%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n2 2 1 5\n2 1 3 0\n");
  });
  EXPECT_EQ(listed("%%MatrixMarket matrix array real general\n1 2\n7\n8\n"), (entries<>{{0, 0, 7}, {0, 1, 8}}));
}

TEST(MatrixMarketEntries, AreRefusedAsByTheOtherReader) {
  const auto [text, expected] = random_file("symmetric", 20000);
  const auto broken = [&](std::size_t at, std::string_view with) {
    std::string changed = text;
    return changed.replace(changed.find('\n', at) + 1, 0, with);
  };
  for (const std::string& bad : {text.substr(0, text.size() / 2), broken(text.size() / 2, "1 1 1\n"),
                                 broken(text.size() / 3, "1 x 1\n"), broken(text.size() / 3, "3001 1 1\n"),
                                 broken(text.size() / 3, "3 1 1e999\n"), broken(text.size() / 3, "3 1\n")}) {
    const std::string said = error_of([&] { parse(bad); });
    EXPECT_NE(said, "");
    for (const int threads : {1, 3}) EXPECT_EQ(error_of([&] { listed(bad, {.threads = threads}); }), said);
    temporary_directory folder;
    write_file(folder / "a.mtx", bad);
    EXPECT_EQ(error_of([&] { read_matrix_market_entries<double>(folder / "a.mtx"); }),
              error_of([&] { read_matrix_market<double>(folder / "a.mtx"); }));
  }
}

}  // namespace
}  // namespace tulle::test

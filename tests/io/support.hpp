// What the tests of the readers and writers share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <tulle/core/status.hpp>
#include <tulle/io/matrix_market.hpp>

namespace tulle::test {

/// The arrays of a CSR, comparable. NaNs differ from everything.
template <scalar T>
struct plain_csr {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<std::int64_t> rowptr;
  std::vector<index_t> colind;
  std::vector<T> values;
  friend bool operator==(const plain_csr&, const plain_csr&) = default;
};

template <scalar T>
plain_csr<T> plain(const csr<T>& a) {
  return {a.rows, a.cols, {a.rowptr.host().begin(), a.rowptr.host().end()}, {a.colind.host().begin(), a.colind.host().end()},
          {a.values.host().begin(), a.values.host().end()}};
}

template <scalar T = double>
plain_csr<T> parse(std::string_view text, const matrix_market_options& options = {}, matrix_market_info* info = nullptr) {
  return plain(parse_matrix_market<T>(text, "text", options, info));
}

/// Row-major elements, absent ones 0.
template <scalar T>
std::vector<T> dense(const plain_csr<T>& a) {
  std::vector<T> elements(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(a.cols), T{0});
  for (std::size_t r = 0; r < static_cast<std::size_t>(a.rows); ++r) {
    for (auto k = static_cast<std::size_t>(a.rowptr[r]); k < static_cast<std::size_t>(a.rowptr[r + 1]); ++k) {
      elements[r * static_cast<std::size_t>(a.cols) + static_cast<std::size_t>(a.colind[k])] += a.values[k];
    }
  }
  return elements;
}

/// Expects an error of this status whose message has `fragment`. Returns the message.
template <class F>
std::string expect_error(status code, std::string_view fragment, F call) {
  try {
    call();
  } catch (const error& e) {
    EXPECT_EQ(name(e.code()), name(code)) << e.what();
    EXPECT_NE(std::string(e.what()).find(fragment), std::string::npos) << e.what() << "\nlacks: " << fragment;
    return e.what();
  }
  ADD_FAILURE() << "no error; expected " << name(code) << ": " << fragment;
  return {};
}

/// A directory of its own, gone with its contents at the end.
class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tulle-io-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path operator/(std::string_view file) const { return path_ / file; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The collection of real and odd matrices: TULLE_SHARED, or ../shared beside the source tree. Empty when it is absent.
std::filesystem::path shared_directory();
/// The rows of a tab-separated table without its heading.
std::vector<std::vector<std::string>> read_table(const std::filesystem::path& file);
/// The file itself, or for .xz what `xz -dc` makes of it in `directory`. Empty when there is no xz.
std::filesystem::path decompressed(const std::filesystem::path& file, const temporary_directory& directory);

}  // namespace tulle::test

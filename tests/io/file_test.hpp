// A test that writes files of whatever bytes and reads them, and two texts for them.
#pragma once

#include <gtest/gtest.h>

#include "parse.hpp"

namespace tulle::test {

inline const std::string small_text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.5\n2 1 -2\n";

inline std::string large_text() {
  std::string large = "%%MatrixMarket matrix coordinate integer general\n1000 1000 100000\n";
  for (int k = 0; k < 100000; ++k) large += fmt::format("{} {} {}\n", 1 + k % 1000, 1 + k / 1000, k);
  return large;
}

class file_test : public testing::Test {
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

}  // namespace tulle::test

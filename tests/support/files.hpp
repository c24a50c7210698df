// Files and directories of a test's own, environment variables, and the collection of matrix files beside the source.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tulle::test {

/// A directory of its own, gone with its contents at the end.
class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tulle-test-XXXXXX").string();
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

/// An environment variable, set until the end.
class environment_variable {
 public:
  environment_variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  environment_variable(const environment_variable&) = delete;
  environment_variable& operator=(const environment_variable&) = delete;
  ~environment_variable() { unsetenv(name_); }

 private:
  const char* name_;
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

#include "support/files.hpp"

#include <fmt/format.h>

#include <sstream>

namespace tulle::test {

std::filesystem::path shared_directory() {
  const char* chosen = std::getenv("TULLE_SHARED");
  const std::filesystem::path directory = chosen != nullptr ? chosen : TULLE_SHARED_DIR;
  return std::filesystem::is_directory(directory) ? directory : std::filesystem::path();
}

std::vector<std::vector<std::string>> read_table(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

std::filesystem::path decompressed(const std::filesystem::path& file, const temporary_directory& directory) {
  if (file.extension() != ".xz") return file;
  const std::filesystem::path to = directory / file.stem().string();
  const std::string command = fmt::format("xz -dc '{}' > '{}' 2>/dev/null", file.string(), to.string());
  return std::system(command.c_str()) == 0 ? to : std::filesystem::path();
}

}  // namespace tulle::test

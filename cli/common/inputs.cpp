#include "inputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tulle/core/status.hpp>
#include <tulle/io/generate.hpp>

namespace tulle::cli {
namespace {

void check_input(const std::string& spec) {
  if (spec == "-") return;
  if (is_generator(spec)) return check_generator(spec);
  std::error_code unknown;
  errno = std::filesystem::is_directory(spec, unknown) ? EISDIR : 0;
  if (errno == 0 && access(spec.c_str(), R_OK) == 0) return;
  throw error(status::file_io, fmt::format("{}: {}", spec, std::strerror(errno)));
}

}  // namespace

void check_inputs(const std::vector<std::string>& specs) {
  std::string all;
  status first = status::success;
  for (const std::string& spec : specs) {
    try {
      check_input(spec);
    } catch (const error& e) {
      if (first == status::success) first = e.code();
      all += (all.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  if (first != status::success) throw error(first, all);
}

}  // namespace tulle::cli

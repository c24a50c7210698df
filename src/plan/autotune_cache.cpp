#include "plan/autotune_cache.hpp"

#include <cstdlib>
#include <fstream>
#include <system_error>
#include <tulle/ops/spmv.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tulle {
namespace {

std::filesystem::path cache_file() {
  const auto directory = cache_directory();
  return directory.empty() ? directory : directory / "autotune.json";
}

nlohmann::json read_cache() {
  std::ifstream in(cache_file());
  auto json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

}  // namespace

std::filesystem::path cache_directory() {
  if (const char* own = std::getenv("TULLE_CACHE_DIR"); own != nullptr && *own != '\0') return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0') {
    return std::filesystem::path(xdg) / "tulle";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::filesystem::path(home) / ".cache" / "tulle";
  }
  return {};
}

std::optional<std::string> cached_winner(const std::string& key) {
  if (cache_file().empty()) return std::nullopt;
  const auto json = read_cache();
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

void remember_winner(const std::string& key, const std::string& kernel) {
  const auto file = cache_file();
  if (file.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  auto json = read_cache();
  json[key] = kernel;
  const auto draft = file.string() + fmt::format(".{}", getpid());
  {
    std::ofstream out(draft);
    out << json.dump(1) << '\n';
    if (!out) return;
  }
  std::filesystem::rename(draft, file, ignored);
}

}  // namespace tulle

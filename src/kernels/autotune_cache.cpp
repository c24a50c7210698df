#include "kernels/autotune_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <system_error>
#include <tulle/ops/spmv.hpp>
#include <tulle/version.hpp>

#include "core/split_mix.hpp"

namespace tulle {
namespace {

/// The least number of bytes that no entry reaches.
constexpr std::size_t too_long = 1024;
constexpr std::time_t oldest = 182 * 24 * 60 * 60;  // seconds

class file_descriptor {
 public:
  explicit file_descriptor(int number) : number_(number) {}
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;
  ~file_descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

std::filesystem::path entries(std::string_view folder) {
  const auto directory = cache_directory();
  return directory.empty() ? directory : directory / folder;
}

/// Where the entry of `key` is. Keys that share a name take turns: an entry says whose it is.
std::filesystem::path entry_of(std::string_view folder, std::string_view key) {
  std::uint64_t hash = 0;
  for (const char c : key) hash = split_mix(hash ^ static_cast<unsigned char>(c));
  return entries(folder) / fmt::format("{:016x}", hash);
}

/// An entry is this and the kernel, on a line of its own.
std::string head(std::string_view key) { return fmt::format("tulle {} autotune\n{}\n", TULLE_VERSION_STRING, key); }

/// The contents of a young regular file shorter than an entry can be; else "". Never waits, as for the writer of a
/// pipe.
std::string read_entry(const std::filesystem::path& file) {
  const file_descriptor in(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat found {};
  if (in.number() < 0 || fstat(in.number(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const std::time_t age = std::time(nullptr) - found.st_mtime;
  if (age > oldest || age < -oldest) return {};
  std::array<char, too_long> bytes{};
  const ssize_t length = read(in.number(), bytes.data(), bytes.size());
  if (length < 0 || static_cast<std::size_t>(length) == bytes.size()) return {};
  return {bytes.data(), static_cast<std::size_t>(length)};
}

bool write_new(std::string& pattern, std::string_view bytes) {
  const file_descriptor out(mkostemp(pattern.data(), O_CLOEXEC));
  return out.number() >= 0 && write(out.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
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

std::optional<std::string> cached_winner(std::string_view key, std::string_view folder) {
  if (entries(folder).empty()) return std::nullopt;
  const std::string entry = read_entry(entry_of(folder, key)), expected = head(key);
  std::string_view text = entry;
  if (!text.starts_with(expected)) return std::nullopt;
  text.remove_prefix(expected.size());
  if (text.size() < 2 || text.find('\n') != text.size() - 1) return std::nullopt;
  text.remove_suffix(1);
  return std::string(text);
}

void remember_winner(std::string_view key, std::string_view kernel, std::string_view folder) {
  const auto directory = entries(folder);
  const std::string entry = head(key) + std::string(kernel) + '\n';
  if (directory.empty() || entry.size() >= too_long) return;
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string draft = (directory / "draft-XXXXXX").string();
  if (!write_new(draft, entry) || std::rename(draft.c_str(), entry_of(folder, key).c_str()) != 0) unlink(draft.c_str());
}

}  // namespace tulle

// Opening, mapping and reading of files.
#include "io/matrix_market_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tulle/core/status.hpp>

namespace tulle::matrix_market {
namespace {

constexpr std::size_t first_capacity = std::size_t{1} << 20;

std::size_t largest_text() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  return std::max(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2, first_capacity);
}

[[noreturn]] void fail(const std::string& name, int code) {
  throw error(status::file_io, fmt::format("{}: {}", name, std::strerror(code)));
}

class descriptor {
 public:
  explicit descriptor(const std::string& name) : fd_(open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) fail(name, errno);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { close(fd_); }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

growing_text read_all(int fd, const std::string& name) {
  growing_text text;
  while (true) {
    char* to = text.reserve(1, name);
    const ssize_t got = read(fd, to, text.room());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(name, errno);
    if (got == 0) return text;
    text.grow(static_cast<std::size_t>(got));
  }
}

}  // namespace

char* growing_text::reserve(std::size_t bytes, const std::string& name) {
  if (room() >= bytes) return data_.get() + size_;
  static const std::size_t limit = largest_text();
  if (size_ + bytes > limit) {
    throw error(status::file_io,
                fmt::format("{}: holds more than {} bytes of text, half of this machine's memory", name, limit));
  }
  const std::size_t capacity = std::min(std::max({size_ + bytes, 2 * capacity_, first_capacity}), limit);
  auto* data = static_cast<char*>(std::realloc(data_.get(), capacity));
  if (data == nullptr) {
    throw error(status::out_of_memory, fmt::format("{}: no memory for {} bytes of text", name, capacity));
  }
  static_cast<void>(data_.release());  // realloc has freed it
  data_.reset(data);
  capacity_ = capacity;
  return data + size_;
}

void file_text::unmap::operator()(char* p) const noexcept { munmap(p, size); }

file_text::file_text(const std::filesystem::path& file) {
  const std::string name = file.string();
  const descriptor input(name);
  struct stat info {};
  if (fstat(input.get(), &info) != 0) fail(name, errno);
  if (S_ISDIR(info.st_mode)) fail(name, EISDIR);
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = MAP_FAILED;
  if (S_ISREG(info.st_mode) && size > 0) start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, input.get(), 0);
  if (start != MAP_FAILED) {
    madvise(start, size, MADV_WILLNEED);
    mapped_ = {static_cast<char*>(start), unmap{size}};
    view_ = {mapped_.get(), size};
  } else {
    held_ = read_all(input.get(), name);
    view_ = held_.view();
  }
  if (!is_gzip(view_) && !is_zstd(view_)) return;
  held_ = is_gzip(view_) ? decompress_gzip(view_, name) : decompress_zstd(view_, name);
  view_ = held_.view();
}

}  // namespace tulle::matrix_market

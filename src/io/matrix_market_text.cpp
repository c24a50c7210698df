// Opening, mapping and reading of files.
#include "io/matrix_market_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/// The bytes of a regular file that has any; empty where mapping is not to be had.
std::string_view map(int fd, const struct stat& info) {
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return {};
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (start == MAP_FAILED) return {};
  madvise(start, size, MADV_WILLNEED);
  return {static_cast<const char*>(start), size};
}

}  // namespace

growing_text::growing_text(growing_text&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

growing_text& growing_text::operator=(growing_text&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

growing_text::~growing_text() { std::free(data_); }

char* growing_text::reserve(std::size_t bytes, const std::string& name) {
  if (room() >= bytes) return data_ + size_;
  static const std::size_t limit = largest_text();
  if (size_ + bytes > limit) {
    throw error(status::file_io,
                fmt::format("{}: holds more than {} bytes of text, half of this machine's memory", name, limit));
  }
  const std::size_t capacity = std::min(std::max({size_ + bytes, 2 * capacity_, first_capacity}), limit);
  auto* data = static_cast<char*>(std::realloc(data_, capacity));
  if (data == nullptr) {
    throw error(status::out_of_memory, fmt::format("{}: no memory for {} bytes of text", name, capacity));
  }
  data_ = data;
  capacity_ = capacity;
  return data_ + size_;
}

file_text::file_text(const std::filesystem::path& file) {
  const std::string name = file.string();
  const descriptor input(name);
  struct stat info {};
  if (fstat(input.get(), &info) != 0) fail(name, errno);
  if (S_ISDIR(info.st_mode)) fail(name, EISDIR);
  mapped_ = map(input.get(), info);
  view_ = mapped_;
  try {
    if (mapped_.empty()) {
      held_ = read_all(input.get(), name);
      view_ = held_.view();
    }
    if (is_gzip(view_)) {
      held_ = decompress_gzip(view_, name);
      view_ = held_.view();
    } else if (is_zstd(view_)) {
      held_ = decompress_zstd(view_, name);
      view_ = held_.view();
    }
  } catch (...) {
    if (!mapped_.empty()) munmap(const_cast<char*>(mapped_.data()), mapped_.size());
    throw;
  }
}

file_text::~file_text() {
  if (!mapped_.empty()) munmap(const_cast<char*>(mapped_.data()), mapped_.size());
}

}  // namespace tulle::matrix_market

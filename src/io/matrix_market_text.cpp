// Opening and reading of files.
#include "io/matrix_market_text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <tulle/core/status.hpp>
#include <utility>

#include "core/interruption_point.hpp"
#include "core/parallel.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr std::size_t small = std::size_t{1} << 16;  // a file that is read at once
constexpr int shorter = -1;  // in place of an error number

std::size_t largest_text() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L));
  return std::max(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2, piece);
}

[[noreturn]] void fail(const std::string& name, int code) {
  throw error(status::file_io, fmt::format("{}: {}", name, std::strerror(code)));
}

growing_text read_pipe(std::string_view first, byte_source& rest, const std::string& name) {
  growing_text text;
  text_judge judge(name);
  for (; !first.empty(); first = rest.next()) {
    std::memcpy(text.reserve(first.size(), name), first.data(), first.size());
    text.grow(first.size());
    judge(text.view());
  }
  return text;
}

/// Reads `size` bytes at a place. Returns 0, an error number or `shorter`.
int read_part(int fd, char* to, std::size_t size, off_t place) noexcept {
  while (size > 0) {
    const ssize_t got = pread(fd, to, size, place);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : shorter;
    to += got;
    place += got;
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

bool is_compressed(int fd, off_t offset) {
  std::array<char, 6> bytes{};
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), offset);
  const std::string_view first(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return is_gzip(first) || is_zstd(first) || is_xz(first);
}

/// `size` bytes of a regular file from `offset` on, read by several threads.
growing_text read_parts(int fd, std::size_t size, off_t offset, const std::string& name, int threads) {
  growing_text text;
  char* to = text.reserve(size, name);
  const auto parts = static_cast<std::int64_t>((size + piece - 1) / piece);
  std::atomic<int> failure = 0;
  const int useful = static_cast<int>(std::clamp<std::int64_t>(parts, 1, threads));
  parallel_for(useful, parts, 1, [&](std::int64_t i) {
    const std::size_t begin = static_cast<std::size_t>(i) * piece;
    const int code = read_part(fd, to + begin, std::min(piece, size - begin), offset + static_cast<off_t>(begin));
    if (code != 0) failure = code;
  });
  if (failure == shorter) {
    throw error(status::file_io, fmt::format("{}: became shorter than {} bytes while it was read", name, size));
  }
  if (failure != 0) fail(name, failure);
  text.grow(size);
  return text;
}

}  // namespace

char* growing_text::reserve(std::size_t bytes, const std::string& name) {
  if (room() >= bytes) return data_.get() + size_;
  static const std::size_t limit = largest_text();
  if (bytes > limit - size_) {
    throw error(status::file_io,
                fmt::format("{}: holds more than {} bytes of text, half of this machine's memory", name, limit));
  }
  const std::size_t capacity = size_ == 0 ? bytes : std::min(std::max({size_ + bytes, 2 * capacity_, piece}), limit);
  auto* data = static_cast<char*>(std::realloc(data_.get(), capacity));
  if (data == nullptr) {
    throw error(status::out_of_memory, fmt::format("{}: no memory for {} bytes of text", name, capacity));
  }
  static_cast<void>(data_.release());  // realloc has freed it
  data_.reset(data);
  capacity_ = capacity;
  return data + size_;
}

byte_source::byte_source(int fd, const std::string& name)
    : fd_(fd), name_(name), piece_(std::make_unique_for_overwrite<char[]>(piece)) {}

std::string_view byte_source::next() {
  look_for_interruption();
  std::size_t size = 0;
  while (size < piece) {
    const ssize_t got = read(fd_, piece_.get() + size, piece - size);
    if (got < 0 && errno == EINTR) {  // a signal, while a pipe had nothing
      look_for_interruption(true);
      continue;
    }
    if (got < 0) fail(name_, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return {piece_.get(), size};
}

descriptor::descriptor(const std::filesystem::path& file, const std::string& name)
    : fd_(file == "-" ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) fail(name, errno);
}

descriptor::~descriptor() { close(fd_); }

bool read_at(int fd, char* to, std::size_t size, std::int64_t place) noexcept {
  return read_part(fd, to, size, place) == 0;
}

file_text::file_text(const std::filesystem::path& file, std::string name)
    : name_(std::move(name)), input_(file, name_), start_(std::max<off_t>(lseek(input_.get(), 0, SEEK_CUR), 0)) {
  struct stat info {};
  if (fstat(input_.get(), &info) != 0) fail(name_, errno);
  if (S_ISDIR(info.st_mode)) fail(name_, EISDIR);
  if (S_ISREG(info.st_mode) && info.st_size > start_ && !is_compressed(input_.get(), start_)) {
    open_bytes_ = static_cast<std::size_t>(info.st_size - start_);
    if (open_bytes_ < small) load(1);
    return;
  }
  byte_source bytes(input_.get(), name_);
  const std::string_view first = bytes.next();
  text_ = is_gzip(first)   ? decompress_gzip(first, bytes, name_)
          : is_zstd(first) ? decompress_zstd(first, bytes, name_)
          : is_xz(first)   ? decompress_xz(first, bytes, name_)
                           : read_pipe(first, bytes, name_);
}

void file_text::load(int threads) {
  text_ = read_parts(input_.get(), open_bytes_, start_, name_, threads);
  open_bytes_ = 0;
}

}  // namespace tulle::matrix_market

// The text of a file: segment by segment where it is a plain file, else in memory: decompressed, or out of a pipe. It
// is not mapped: a file that becomes shorter would end the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/matrix_market_header.hpp"

namespace tulle::matrix_market {

/// Characters appended one piece after the other, moved rather than copied when they grow.
class growing_text {
 public:
  /// Room for at least `bytes` more; returns where it starts. Throws OUT_OF_MEMORY, and FILE_IO (naming the file) when
  /// the text would pass half of this machine's memory.
  char* reserve(std::size_t bytes, const std::string& name);
  void grow(std::size_t bytes) noexcept { size_ += bytes; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - size_; }
  [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }

 private:
  struct deleter {
    void operator()(char* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<char, deleter> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Judges text whose length is not known while it arrives, so that a decompression bomb or an endless pipe ends early:
/// its banner and size line as soon as they are there, then whether more follows than the entries claimed could need.
class text_judge {
 public:
  explicit text_judge(std::string_view name) : name_(name) {}
  /// `text`: all that has arrived. Throws what read_header throws, and INVALID_FORMAT.
  void operator()(std::string_view text);

 private:
  std::string_view name_;
  std::size_t next_try_ = 0;  // size of text at which the header is looked for again
  std::optional<header> header_;
  std::size_t counted_ = 0;  // text in which entries were counted
  std::int64_t entries_ = 0;
};

/// An open file, closed at the end.
class descriptor {
 public:
  /// Throws FILE_IO with the name.
  descriptor(const std::filesystem::path& file, const std::string& name);
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor();
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// The bytes of an open file or pipe in their order, a piece at a time. Throws FILE_IO naming the file.
class byte_source {
 public:
  byte_source(int fd, const std::string& name);
  /// Up to 1 MiB; empty at the end. Valid until the next call.
  std::string_view next();

 private:
  int fd_;
  const std::string& name_;
  std::unique_ptr<char[]> piece_;
};

/// Reads `size` bytes at a place of a regular file. False where there are fewer of them or they cannot be read.
bool read_at(int fd, char* to, std::size_t size, std::int64_t place) noexcept;

/// An open file, and its text where it is small, compressed or a pipe.
class file_text {
 public:
  /// "-" is standard input. Throws FILE_IO naming the file (missing, a directory, unreadable; truncated or corrupt
  /// gzip, zstd or xz data), and what text_judge throws.
  file_text(const std::filesystem::path& file, std::string name);

  /// A plain file of which no text is in memory: `as_source` is to be read segment by segment.
  [[nodiscard]] bool is_open() const noexcept { return open_bytes_ > 0; }
  [[nodiscard]] source as_source() const noexcept {
    return is_open() ? source{{}, name_, input_.get(), start_, open_bytes_} : source{text_.view(), name_};
  }
  /// Reads the text of an open file. Throws FILE_IO where it cannot or where the file became shorter.
  void load(int threads);

 private:
  std::string name_;
  descriptor input_;
  std::int64_t start_ = 0;  // of the text in the file
  std::size_t open_bytes_ = 0;
  growing_text text_;
};

bool is_gzip(std::string_view bytes) noexcept;
bool is_zstd(std::string_view bytes) noexcept;
bool is_xz(std::string_view bytes) noexcept;
/// All members, frames or streams, one after the other, of which `first` is the beginning and `rest` gives what
/// follows. Throws FILE_IO naming the file when the data are truncated or corrupt, and what text_judge throws;
/// decompress_xz UNSUPPORTED where liblzma was not built in.
growing_text decompress_gzip(std::string_view first, byte_source& rest, const std::string& name);
growing_text decompress_zstd(std::string_view first, byte_source& rest, const std::string& name);
growing_text decompress_xz(std::string_view first, byte_source& rest, const std::string& name);

}  // namespace tulle::matrix_market

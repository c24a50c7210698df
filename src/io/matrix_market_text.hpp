// The text of a file: mapped where it is plain, held in memory where it comes compressed or through a pipe.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace tulle::matrix_market {

/// Characters appended one piece after the other, moved rather than copied when they grow.
class growing_text {
 public:
  /// Room for at least `bytes` more; returns where it starts. Throws OUT_OF_MEMORY, and FILE_IO (naming the file) when
  /// the text would pass half of this machine's memory, so that a decompression bomb ends in an error.
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

class file_text {
 public:
  /// Throws FILE_IO naming the file: missing, a directory, unreadable, truncated or corrupt gzip or zstd data.
  explicit file_text(const std::filesystem::path& file);

  [[nodiscard]] std::string_view view() const noexcept { return view_; }

 private:
  struct unmap {
    std::size_t size;
    void operator()(char* p) const noexcept;
  };
  std::unique_ptr<char, unmap> mapped_;
  growing_text held_;
  std::string_view view_;
};

bool is_gzip(std::string_view bytes) noexcept;
bool is_zstd(std::string_view bytes) noexcept;
/// All members or frames, one after the other. Throws FILE_IO naming the file when the data are truncated or corrupt.
growing_text decompress_gzip(std::string_view bytes, const std::string& name);
growing_text decompress_zstd(std::string_view bytes, const std::string& name);

}  // namespace tulle::matrix_market

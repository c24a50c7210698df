// A file being written: plain, gzip or zstd by its name. It takes its name only once it is complete.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace tulle::matrix_market {

/// Takes the bytes of a file in order. Throws FILE_IO naming the file.
class encoder {
 public:
  virtual ~encoder() = default;
  virtual void write(std::string_view bytes) = 0;
  /// Writes what is held back. Nothing may follow.
  virtual void finish() = 0;
};

/// Writes through a temporary file next to `file`, which replaces it on commit(); without commit() nothing is left. What
/// exists and is no regular file (a pipe, a terminal) is written straight. Every call throws FILE_IO naming the file.
class output_file {
 public:
  explicit output_file(const std::filesystem::path& file);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  void write(std::string_view bytes) { encoder_->write(bytes); }
  void commit();

 private:
  void close();

  std::filesystem::path file_;
  std::filesystem::path temporary_;  // empty when written straight
  int fd_ = -1;
  std::unique_ptr<encoder> encoder_;
};

}  // namespace tulle::matrix_market

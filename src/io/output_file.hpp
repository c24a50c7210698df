// A file being written: plain, gzip, zstd or xz by its name. It takes its name only once it is complete.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tulle/io/write_file.hpp>

#include "core/interruption_point.hpp"
#include "io/encoder.hpp"

namespace tulle::detail {

/// Writes through a new file next to `file`, which replaces it on commit(); without commit() nothing is left. The rest
/// is as write_file says. Every call throws FILE_IO naming the file.
class output_file {
 public:
  explicit output_file(const std::filesystem::path& file);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  void write(std::string_view bytes) {
    look_for_interruption();
    encoder_->write(bytes);
  }
  void commit();

 private:
  void open_beside();
  void close();
  void forget();

  std::string name_;  // as given, for messages
  std::filesystem::path file_;
  std::unique_ptr<std::filesystem::path> unfinished_;  // null when written straight
  int fd_ = -1;
  std::unique_ptr<encoder> encoder_;
};

}  // namespace tulle::detail

// Plain, gzip, zstd and xz output to a file descriptor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace tulle::detail {

/// Takes the bytes of a file in order. Throws FILE_IO naming the file.
class encoder {
 public:
  virtual ~encoder() = default;
  virtual void write(std::string_view bytes) = 0;
  /// Writes what is held back. Nothing may follow.
  virtual void finish() = 0;
};

/// gzip, zstd or xz where the name says so. `fd` stays the caller's. Throws UNSUPPORTED for xz without liblzma.
std::unique_ptr<encoder> make_encoder(const std::filesystem::path& file, int fd);

[[noreturn]] void fail_to_write(const std::string& name, const char* why);

}  // namespace tulle::detail

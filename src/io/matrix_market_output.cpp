// Plain, gzip and zstd output to a file descriptor.
#include "io/matrix_market_output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <tulle/core/status.hpp>

namespace tulle::matrix_market {
namespace {

constexpr std::size_t block = std::size_t{1} << 17;

[[noreturn]] void fail(const std::string& name, const char* why) {
  throw error(status::file_io, fmt::format("{}: cannot be written: {}", name, why));
}

class plain_encoder final : public encoder {
 public:
  plain_encoder(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(name_, std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void finish() override {}

 private:
  int fd_;
  std::string name_;
};

class gzip_encoder final : public encoder {
 public:
  gzip_encoder(int fd, std::string name) : name_(std::move(name)), file_(gzdopen(dup(fd), "wb"), gzclose) {
    if (file_ == nullptr) fail(name_, std::strerror(errno));
    gzbuffer(file_.get(), block);
  }
  void write(std::string_view bytes) override {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(block, bytes.size()))) {
      if (gzwrite(file_.get(), bytes.data(), static_cast<unsigned>(std::min(block, bytes.size()))) == 0) {
        fail(name_, std::strerror(errno));
      }
    }
  }
  void finish() override {
    if (gzclose(file_.release()) != Z_OK) fail(name_, std::strerror(errno));
  }

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, decltype(&gzclose)> file_;
};

class zstd_encoder final : public encoder {
 public:
  zstd_encoder(int fd, const std::string& name) : sink_(fd, name), name_(name), out_(ZSTD_CStreamOutSize()) {
    if (stream_ == nullptr) throw error(status::out_of_memory, fmt::format("{}: no memory to compress it", name));
    ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
  }
  void write(std::string_view bytes) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (in.pos < in.size) run(in, ZSTD_e_continue);
  }
  void finish() override {
    ZSTD_inBuffer in{nullptr, 0, 0};
    while (run(in, ZSTD_e_end) != 0) {
    }
  }

 private:
  std::size_t run(ZSTD_inBuffer& in, ZSTD_EndDirective mode) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, mode);
    if (ZSTD_isError(left)) fail(name_, ZSTD_getErrorName(left));
    sink_.write({out_.data(), out.pos});
    return left;
  }

  plain_encoder sink_;
  std::string name_;
  std::vector<char> out_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> stream_{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

std::unique_ptr<encoder> make_encoder(const std::filesystem::path& file, int fd) {
  if (file.extension() == ".gz") return std::make_unique<gzip_encoder>(fd, file.string());
  if (file.extension() == ".zst") return std::make_unique<zstd_encoder>(fd, file.string());
  return std::make_unique<plain_encoder>(fd, file.string());
}

/// The file that a chain of links leads to, so that it is replaced and not the link.
std::filesystem::path target_of(const std::filesystem::path& file) {
  std::error_code none;
  const std::filesystem::path target = std::filesystem::canonical(file, none);
  return none ? file : target;
}

bool written_straight(const std::filesystem::path& file) {
  std::error_code none;
  const auto type = std::filesystem::status(file, none).type();
  return type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found;
}

}  // namespace

output_file::output_file(const std::filesystem::path& file) : file_(target_of(file)) {
  if (file == "-") {
    fd_ = dup(STDOUT_FILENO);
  } else if (written_straight(file_)) {
    fd_ = open(file_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = file_;
    temporary_ += fmt::format(".{}.tmp", getpid());
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) temporary_.clear();
  }
  if (fd_ < 0) fail(file_.string(), std::strerror(errno));
  try {
    encoder_ = make_encoder(file_, fd_);
  } catch (...) {
    close();
    throw;
  }
}

void output_file::commit() {
  encoder_->finish();
  if (::close(std::exchange(fd_, -1)) != 0) fail(file_.string(), std::strerror(errno));
  if (temporary_.empty()) return;
  std::error_code result;
  std::filesystem::rename(temporary_, file_, result);
  if (result) fail(file_.string(), result.message().c_str());
  temporary_.clear();
}

void output_file::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

output_file::~output_file() { close(); }

}  // namespace tulle::matrix_market

#include "io/encoder.hpp"

#include <fmt/format.h>
#ifdef TULLE_HAS_XZ
#include <lzma.h>
#endif
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <tulle/core/status.hpp>
#include <utility>
#include <vector>

#include "core/interruption_point.hpp"

namespace tulle::detail {
namespace {

constexpr std::size_t block = std::size_t{1} << 17;

class plain_encoder final : public encoder {
 public:
  plain_encoder(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  void write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) fail_to_write(name_, std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
      if (!bytes.empty()) look_for_interruption(true);  // a signal, while a pipe was full
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
    if (file_ == nullptr) fail_to_write(name_, std::strerror(errno));
    gzbuffer(file_.get(), block);
  }
  void write(std::string_view bytes) override {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(block, bytes.size()))) {
      if (gzwrite(file_.get(), bytes.data(), static_cast<unsigned>(std::min(block, bytes.size()))) == 0) {
        fail_to_write(name_, std::strerror(errno));
      }
    }
  }
  void finish() override {
    if (gzclose(file_.release()) != Z_OK) fail_to_write(name_, std::strerror(errno));
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
    if (ZSTD_isError(left)) fail_to_write(name_, ZSTD_getErrorName(left));
    sink_.write({out_.data(), out.pos});
    return left;
  }

  plain_encoder sink_;
  std::string name_;
  std::vector<char> out_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> stream_{ZSTD_createCCtx(), ZSTD_freeCCtx};
};

#ifdef TULLE_HAS_XZ
class xz_encoder final : public encoder {
 public:
  xz_encoder(int fd, const std::string& name) : sink_(fd, name), name_(name), out_(block) {
    if (lzma_easy_encoder(&stream_, LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64) != LZMA_OK) {
      throw error(status::out_of_memory, fmt::format("{}: no memory to compress it", name));
    }
  }
  xz_encoder(const xz_encoder&) = delete;
  xz_encoder& operator=(const xz_encoder&) = delete;
  ~xz_encoder() override { lzma_end(&stream_); }

  void write(std::string_view bytes) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    stream_.avail_in = bytes.size();
    while (stream_.avail_in > 0) run(LZMA_RUN);
  }
  void finish() override {
    while (run(LZMA_FINISH) != LZMA_STREAM_END) {
    }
  }

 private:
  lzma_ret run(lzma_action action) {
    stream_.next_out = out_.data();
    stream_.avail_out = out_.size();
    const lzma_ret result = lzma_code(&stream_, action);
    if (result != LZMA_OK && result != LZMA_STREAM_END) fail_to_write(name_, "xz could not compress it");
    sink_.write({reinterpret_cast<const char*>(out_.data()), out_.size() - stream_.avail_out});
    return result;
  }

  plain_encoder sink_;
  std::string name_;
  std::vector<std::uint8_t> out_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};
#endif

std::unique_ptr<encoder> make_xz_encoder([[maybe_unused]] int fd, const std::string& name) {
#ifdef TULLE_HAS_XZ
  return std::make_unique<xz_encoder>(fd, name);
#else
  throw error(status::unsupported,
              fmt::format("{}: this tulle was built without liblzma; .gz and .zst are there", name));
#endif
}

}  // namespace

void fail_to_write(const std::string& name, const char* why) {
  throw error(status::file_io, fmt::format("{}: cannot be written: {}", name, why));
}

std::unique_ptr<encoder> make_encoder(const std::filesystem::path& file, int fd) {
  std::string kind = file.extension().string();
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (kind == ".gz") return std::make_unique<gzip_encoder>(fd, file.string());
  if (kind == ".zst") return std::make_unique<zstd_encoder>(fd, file.string());
  if (kind == ".xz") return make_xz_encoder(fd, file.string());
  return std::make_unique<plain_encoder>(fd, file.string());
}

}  // namespace tulle::detail

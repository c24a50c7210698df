// gzip, zstd and xz data to text, as a stream: the memory held is the text that is there, whatever the headers claim.
#include <fmt/format.h>
#ifdef TULLE_HAS_XZ
#include <lzma.h>
#endif
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tulle/core/status.hpp>

#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr std::size_t largest_piece = 4 * piece;  // of text between two looks of the judge
constexpr const char* bytes_follow = "corrupt (bytes follow the end)";
constexpr std::uint64_t largest_dictionary = std::uint64_t{1} << 31;  // xz makes up to 1.5 GiB
constexpr int largest_window_log = sizeof(void*) == 8 ? 31 : 30;  // all that zstd can do

[[noreturn]] void fail(const std::string& name, const char* format, const char* why) {
  throw error(status::file_io, fmt::format("{}: the {} data are {}", name, format, why));
}

[[noreturn]] void fail_memory(const std::string& name) {
  throw error(status::out_of_memory, fmt::format("{}: no memory to decompress it", name));
}

[[noreturn]] void fail_zstd(const std::string& name, ZSTD_ErrorCode code) {
  if (code == ZSTD_error_memory_allocation) fail_memory(name);
  if (code != ZSTD_error_frameParameter_windowTooLarge) fail(name, "zstd", "corrupt");
  throw error(status::file_io,
              fmt::format("{}: the zstd data need a window of more than {} MiB, the most that is supported", name,
                          std::size_t{1} << (largest_window_log - 20)));
}

#ifdef TULLE_HAS_XZ
[[noreturn]] void fail_xz(const std::string& name, lzma_ret code) {
  if (code == LZMA_MEM_ERROR) fail_memory(name);
  if (code == LZMA_BUF_ERROR) fail(name, "xz", "truncated");  // no input is left, and there is room for text
  if (code != LZMA_MEMLIMIT_ERROR) fail(name, "xz", "corrupt");
  throw error(status::file_io,
              fmt::format("{}: the xz data need more than {} MiB to decompress, the most that is supported", name,
                          largest_dictionary >> 20));
}
#endif

}  // namespace

bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }
bool is_zstd(std::string_view bytes) noexcept {
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return true;
  // A skippable frame, with which pzstd begins.
  return bytes.size() > 3 && bytes.substr(1, 3) == "\x2a\x4d\x18" && (bytes[0] & 0xf0) == 0x50;
}

bool is_xz(std::string_view bytes) noexcept { return bytes.starts_with(std::string_view("\xfd\x37zXZ\0", 6)); }

growing_text decompress_gzip(std::string_view first, byte_source& rest, const std::string& name) {
  growing_text text;
  text_judge judge(name);
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) fail_memory(name);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ending(&stream, inflateEnd);
  bool between_members = false;
  bool more_text = false;  // to come from the bytes that were taken
  for (std::string_view bytes = first; !bytes.empty() || more_text;) {
    if (between_members && bytes.front() != '\x1f') {  // zeros may pad the file to a block
      if (bytes.find_first_not_of('\0') != std::string_view::npos) fail(name, "gzip", bytes_follow);
      bytes = rest.next();
      continue;
    }
    char* to = text.reserve(piece, name);
    const std::size_t room = std::min(text.room(), largest_piece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(to);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) fail_memory(name);
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) {
      fail(name, "gzip", between_members ? bytes_follow : "corrupt");
    }
    text.grow(room - stream.avail_out);
    judge(text.view());
    bytes.remove_prefix(bytes.size() - stream.avail_in);
    between_members = result == Z_STREAM_END;
    if (between_members) inflateReset(&stream);
    more_text = stream.avail_out == 0 && !between_members;
    if (bytes.empty() && !more_text) bytes = rest.next();
  }
  if (!between_members) fail(name, "gzip", "truncated");
  return text;
}

growing_text decompress_zstd(std::string_view first, byte_source& rest, const std::string& name) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> stream(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (stream == nullptr) fail_memory(name);
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, largest_window_log);
  growing_text text;
  text_judge judge(name);
  std::size_t wanted = 0;  // 0 at the end of a frame
  for (ZSTD_inBuffer in{first.data(), first.size(), 0}; in.size > 0;) {
    char* to = text.reserve(piece, name);
    ZSTD_outBuffer out{to, std::min(text.room(), largest_piece), 0};
    wanted = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(wanted)) fail_zstd(name, ZSTD_getErrorCode(wanted));
    text.grow(out.pos);
    judge(text.view());
    if (in.pos < in.size || (out.pos == out.size && wanted != 0)) continue;
    const std::string_view more = rest.next();
    in = {more.data(), more.size(), 0};
  }
  if (wanted != 0) fail(name, "zstd", "truncated");
  return text;
}

#ifdef TULLE_HAS_XZ
growing_text decompress_xz(std::string_view first, byte_source& rest, const std::string& name) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, largest_dictionary, LZMA_CONCATENATED) != LZMA_OK) fail_memory(name);
  const std::unique_ptr<lzma_stream, decltype(&lzma_end)> ending(&stream, lzma_end);
  growing_text text;
  text_judge judge(name);
  lzma_ret result = LZMA_OK;
  for (std::string_view bytes = first; result != LZMA_STREAM_END;) {
    const bool at_end = bytes.empty();
    char* to = text.reserve(piece, name);
    const std::size_t room = std::min(text.room(), largest_piece);
    stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    stream.avail_in = bytes.size();
    stream.next_out = reinterpret_cast<std::uint8_t*>(to);
    stream.avail_out = room;
    result = lzma_code(&stream, at_end ? LZMA_FINISH : LZMA_RUN);
    if (result != LZMA_OK && result != LZMA_STREAM_END) fail_xz(name, result);
    text.grow(room - stream.avail_out);
    judge(text.view());
    bytes.remove_prefix(bytes.size() - stream.avail_in);
    if (bytes.empty() && !at_end) bytes = rest.next();
  }
  return text;
}
#else
growing_text decompress_xz(std::string_view, byte_source&, const std::string& name) {
  throw error(
      status::unsupported,
      fmt::format("{}: xz data, and this tulle was built without liblzma; `xz -dc FILE | tulle ... -` reads them",
                  name));
}
#endif

}  // namespace tulle::matrix_market

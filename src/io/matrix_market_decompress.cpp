// gzip and zstd data to text, as a stream: the memory held is the text that is there, whatever the headers claim.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <tulle/core/status.hpp>

#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t piece = std::size_t{1} << 30;  // zlib counts in 32 bits

[[noreturn]] void fail(const std::string& name, const char* format, const char* why) {
  throw error(status::file_io, fmt::format("{}: the {} data are {}", name, format, why));
}

[[noreturn]] void fail_memory(const std::string& name) {
  throw error(status::out_of_memory, fmt::format("{}: no memory to decompress it", name));
}

}  // namespace

bool is_gzip(std::string_view bytes) noexcept { return bytes.starts_with("\x1f\x8b"); }
bool is_zstd(std::string_view bytes) noexcept {
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return true;
  // A skippable frame, with which pzstd begins.
  return bytes.size() > 3 && bytes.substr(1, 3) == "\x2a\x4d\x18" && (bytes[0] & 0xf0) == 0x50;
}

growing_text decompress_gzip(std::string_view bytes, const std::string& name) {
  growing_text text;
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) fail_memory(name);
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> ending(&stream, inflateEnd);
  while (true) {
    const std::size_t offered = std::min(bytes.size(), piece);
    char* to = text.reserve(1, name);
    const std::size_t room = std::min(text.room(), piece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(to);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    bytes.remove_prefix(offered - stream.avail_in);
    text.grow(room - stream.avail_out);
    if (result == Z_STREAM_END) {
      // Another member may follow; zeros that pad the file to a block may not be taken for one.
      if (bytes.find_first_not_of('\0') == std::string_view::npos) return text;
      if (!is_gzip(bytes)) fail(name, "gzip", "corrupt (bytes follow the end)");
      inflateReset(&stream);
    } else if (result == Z_MEM_ERROR) {
      fail_memory(name);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(name, "gzip", "corrupt");
    } else if (bytes.empty() && stream.avail_out > 0) {
      fail(name, "gzip", "truncated");
    }
  }
}

growing_text decompress_zstd(std::string_view bytes, const std::string& name) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> stream(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (stream == nullptr) fail_memory(name);
  growing_text text;
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    char* to = text.reserve(1, name);
    ZSTD_outBuffer out{to, text.room(), 0};
    const std::size_t result = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(result)) fail(name, "zstd", "corrupt");
    text.grow(out.pos);
    if (in.pos == in.size && out.pos < out.size) {
      if (result != 0) fail(name, "zstd", "truncated");
      return text;
    }
    if (in.pos == in.size && result == 0) return text;
  }
}

}  // namespace tulle::matrix_market

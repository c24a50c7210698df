// The Matrix Market reader on compressed files.
// Input: a byte of flags (1: zstd, else 4: xz, else gzip; 2: the rest is text, to be compressed here in two pieces; else
// it is the compressed file) and, for text, where it is cut in 255ths.
#ifdef TULLE_HAS_XZ
#include <lzma.h>
#endif
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "matrix_market.hpp"
#include "support/files.hpp"

namespace {

using namespace tulle;

std::string gzip(std::string_view text) {
  z_stream stream{};
  fuzz::require(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "no zlib");
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

#ifdef TULLE_HAS_XZ
std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  const auto* from = reinterpret_cast<const std::uint8_t*>(text.data());
  fuzz::require(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, from, text.size(),
                                        reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) == LZMA_OK,
                "no liblzma");
  out.resize(size);
  return out;
}

void begin_xz(const std::string& file, std::string& out) {
  lzma_stream stream = LZMA_STREAM_INIT;
  fuzz::require(lzma_stream_decoder(&stream, std::uint64_t{1} << 31, LZMA_CONCATENATED) == LZMA_OK, "no liblzma");
  stream.next_in = reinterpret_cast<const std::uint8_t*>(file.data());
  stream.avail_in = file.size();
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = out.size();
  while (lzma_code(&stream, LZMA_RUN) == LZMA_OK && stream.avail_out > 0 && stream.avail_in > 0) {
  }
  out.resize(stream.total_out);
  lzma_end(&stream);
}
#else
std::string xz(std::string_view text) { return gzip(text); }
void begin_xz(const std::string&, std::string& out) { out.clear(); }
#endif

/// The first 64 kB of the text, as far as they can be had: enough for a header.
std::string beginning(const std::string& file) {
  std::string out(1 << 16, '\0');
  if (file.starts_with("\x1f\x8b")) {
    z_stream stream{};
    fuzz::require(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "no zlib");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
    stream.avail_in = static_cast<uInt>(file.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    inflate(&stream, Z_SYNC_FLUSH);
    out.resize(stream.total_out);
    inflateEnd(&stream);
  } else if (file.starts_with("\xfd\x37zXZ")) {
    begin_xz(file, out);
  } else {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> stream(ZSTD_createDCtx(), ZSTD_freeDCtx);
    ZSTD_inBuffer from{file.data(), file.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (from.pos < from.size && to.pos < to.size && !ZSTD_isError(ZSTD_decompressStream(stream.get(), &to, &from))) {
    }
    out.resize(to.pos);
  }
  return out;
}

/// "STATUS: message", or the entries, so that two readings can be compared.
template <class Read>
std::string outcome(const std::string& file, Read read) {
  try {
    const csr<double> a = read();
    fuzz::require_valid(a);
    const auto bytes = [](const auto& array) {
      return std::string(reinterpret_cast<const char*>(array.data()), array.size() * sizeof(*array.data()));
    };
    return bytes(a.rowptr) + bytes(a.colind) + bytes(a.values);
  } catch (const error& e) {
    fuzz::require(std::string_view(e.what()).starts_with(file + ": "), "the message does not name the file");
    return std::string(name(e.code())) + ": " + e.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::temporary_directory directory;
  if (size < 2) return 0;
  const bool is_zstd = (data[0] & 1) != 0, is_text = (data[0] & 2) != 0, is_xz = (data[0] & 4) != 0;
  const std::string file = directory / "fuzz.mtx.packed";
  const auto pack = is_zstd ? zstd : is_xz ? xz : gzip;
  const std::string rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto read = [&] { return read_matrix_market<double>(file, {.threads = 1}); };
  if (is_text) {
    if (!fuzz::is_small(rest)) return 0;
    const std::size_t cut = rest.size() * data[1] / 255;
    const std::string first = rest.substr(0, cut), second = rest.substr(cut);
    test::write_file(file, pack(first) + pack(second));
    const auto parse = [&] { return parse_matrix_market<double>(rest, file, {.threads = 1}); };
    fuzz::require(outcome(file, read) == outcome(file, parse), "a compressed file is read otherwise than its text");
  } else if (fuzz::is_small(beginning(rest))) {
    test::write_file(file, rest);
    outcome(file, read);
  }
  return 0;
}

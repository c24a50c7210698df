// Matrix Market text as the tests of the readers and writers compare it.
#pragma once

#include <fmt/format.h>
#include <zstd.h>

#include <tulle/io/matrix_market.hpp>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/plain_csr.hpp"

namespace tulle::test {

template <scalar T = double>
plain_csr<T> parse(std::string_view text, const matrix_market_options& options = {},
                   matrix_market_info* info = nullptr) {
  return plain(parse_matrix_market<T>(text, "text", options, info));
}

inline std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

/// Row-major elements, absent ones 0.
template <scalar T>
std::vector<T> dense(const plain_csr<T>& a) {
  std::vector<T> elements(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(a.cols), T{0});
  for (index_t r = 0; r < a.rows; ++r) {
    for (auto k = a.rowptr[r]; k < a.rowptr[r + 1]; ++k) {
      elements[std::int64_t{r} * a.cols + a.colind[k]] += a.values[k];
    }
  }
  return elements;
}

}  // namespace tulle::test

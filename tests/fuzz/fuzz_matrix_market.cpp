// The Matrix Market reader on any bytes: a valid CSR or a tulle::error, never anything else, whatever the threads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/io/matrix_market.hpp>

#include "io/matrix_market_header.hpp"

namespace {

/// Larger shapes are legal, but their row pointers alone would fill the memory.
constexpr tulle::index_t most_rows = 100000;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_matrix_market: %s\n", what);
  std::abort();
}

template <tulle::scalar T>
void check(const tulle::csr<T>& a) {
  const std::int64_t* rowptr = a.rowptr.data();
  require(a.rowptr.size() == static_cast<std::size_t>(a.rows) + 1 && rowptr[0] == 0, "rowptr does not start at 0");
  for (tulle::index_t r = 0; r < a.rows; ++r) {
    require(rowptr[r] <= rowptr[r + 1], "rowptr descends");
    for (std::int64_t k = rowptr[r]; k < rowptr[r + 1]; ++k) {
      require(a.colind.data()[k] >= 0 && a.colind.data()[k] < a.cols, "a column is out of range");
      require(k == rowptr[r] || a.colind.data()[k - 1] < a.colind.data()[k], "columns do not ascend");
    }
  }
  require(rowptr[a.rows] == a.nnz(), "rowptr does not end at nnz");
}

/// What a reading comes to, for comparison: the message of the error, or the bytes of the matrix.
template <tulle::scalar T>
std::string outcome(std::string_view text, int threads) {
  try {
    const tulle::csr<T> a = tulle::parse_matrix_market<T>(text, "fuzz", {.strict = false, .threads = threads});
    check(a);
    const auto bytes = [](const auto& array) { return std::string(reinterpret_cast<const char*>(array.data()), array.bytes()); };
    return bytes(a.rowptr) + bytes(a.colind) + bytes(a.values);
  } catch (const tulle::error& e) {
    return e.what();
  }
}

bool is_small(std::string_view text) {
  try {
    const auto h = tulle::matrix_market::read_header({text, "fuzz"});
    return h.rows <= most_rows;
  } catch (const tulle::error&) {
    return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!is_small(text)) return 0;
  require(outcome<double>(text, 1) == outcome<double>(text, 2), "threads show");
  outcome<float>(text, 1);
  outcome<std::int32_t>(text, 1);
  return 0;
}

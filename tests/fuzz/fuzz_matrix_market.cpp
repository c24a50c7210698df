// The Matrix Market reader on any bytes: a valid CSR or a tulle::error, never anything else.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

template <tulle::scalar T>
void read(std::string_view text, bool strict) {
  try {
    check(tulle::parse_matrix_market<T>(text, "fuzz", {.strict = strict, .threads = 1}));
  } catch (const tulle::error& e) {
    require(std::string_view(e.what()).starts_with("fuzz: "), "the message does not name the file");
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
  read<double>(text, false);
  read<double>(text, true);
  read<float>(text, false);
  read<std::int32_t>(text, false);
  return 0;
}

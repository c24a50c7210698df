// The Matrix Market reader on any bytes: a valid CSR or a tulle::error, never anything else.
#include "matrix_market.hpp"

namespace tulle::fuzz {
namespace {

template <scalar T>
void read(std::string_view text, bool strict) {
  try {
    require_valid(parse_matrix_market<T>(text, "fuzz", {.strict = strict, .threads = 1}));
  } catch (const error& e) {
    require(std::string_view(e.what()).starts_with("fuzz: "), "the message does not name the file");
  }
}

/// Entries are refused where the CSR is, and are at least as many.
void list(std::string_view text) {
  std::int64_t nnz = -1, listed = -1;
  std::string refused, refused_too;
  try {
    nnz = parse_matrix_market<double>(text, "fuzz", {.threads = 1}).nnz();
  } catch (const error& e) {
    refused = e.what();
  }
  try {
    listed = parse_matrix_market_entries<double>(text, "fuzz", {.threads = 1}).count;
  } catch (const error& e) {
    refused_too = e.what();
  }
  require(refused == refused_too, "entries are judged otherwise than the matrix");
  require(listed >= nnz, "entries are missing");
}

}  // namespace
}  // namespace tulle::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tulle::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!is_small(text)) return 0;
  read<double>(text, false);
  read<double>(text, true);
  read<float>(text, false);
  read<std::int32_t>(text, false);
  list(text);
  return 0;
}

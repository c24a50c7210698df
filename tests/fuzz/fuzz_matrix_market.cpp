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
  return 0;
}

// Specifications of generators: a valid CSR or a tulle::error that says something.
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tulle;
  const std::string_view spec(reinterpret_cast<const char*>(data), size);
  static const context ctx = fuzz::little_context(std::size_t{1} << 18);
  try {
    fuzz::require_valid(generate<double>(ctx, spec));
  } catch (const error& e) {
    fuzz::require(*e.what() != '\0', "an error without a message");
  }
  return 0;
}

// Experiments, by letters of TULLE_TRY. To be deleted.
#pragma once
#include <cstdlib>
#include <cstring>

namespace tulle::cuda {
inline bool tried(char c) {
  const char* const all = std::getenv("TULLE_TRY");
  return all != nullptr && std::strchr(all, c) != nullptr;
}
}  // namespace tulle::cuda

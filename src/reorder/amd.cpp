// Approximate minimum degree by SuiteSparse.
#include <new>
#include <tulle/core/status.hpp>

#include "reorder/libraries.hpp"

#ifdef TULLE_HAS_AMD
#include <amd.h>
#endif

namespace tulle::detail {

#ifdef TULLE_HAS_AMD

bool has_amd() noexcept { return true; }

std::vector<index_t> amd_order(const plain_graph& g) {
  std::vector<index_t> order(static_cast<std::size_t>(g.size()));
  const int done = ::amd_order(g.size(), g.rowptr.data(), g.colind.data(), order.data(), nullptr, nullptr);
  if (done == AMD_OUT_OF_MEMORY) throw std::bad_alloc();
  if (done != AMD_OK && done != AMD_OK_BUT_JUMBLED) throw error(status::internal, "amd: the graph was refused");
  return order;
}

#else

bool has_amd() noexcept { return false; }

std::vector<index_t> amd_order(const plain_graph&) {
  throw error(status::unsupported, "amd: this build has no SuiteSparse (Debian and Ubuntu: libsuitesparse-dev)");
}

#endif

}  // namespace tulle::detail

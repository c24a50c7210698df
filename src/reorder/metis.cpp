// Nested dissection and k-way partitions by METIS.
#include <new>
#include <tulle/core/status.hpp>

#include "reorder/libraries.hpp"

#ifdef TULLE_HAS_METIS
#include <metis.h>
#endif

namespace tulle::detail {

#ifdef TULLE_HAS_METIS

static_assert(sizeof(idx_t) == sizeof(index_t), "METIS is built with 64-bit numbers, which tulle does not take");

namespace {

struct metis_options {
  idx_t values[METIS_NOPTIONS];
  metis_options() {
    METIS_SetDefaultOptions(values);
    values[METIS_OPTION_NUMBERING] = 0;
    values[METIS_OPTION_SEED] = 1;
  }
};

void check(int done) {
  if (done == METIS_ERROR_MEMORY) throw std::bad_alloc();
  if (done != METIS_OK) throw error(status::internal, "metis: the graph was refused");
}

}  // namespace

bool has_metis() noexcept { return true; }

std::vector<index_t> nested_dissection(plain_graph& g) {
  idx_t n = g.size();
  std::vector<index_t> order(static_cast<std::size_t>(n)), inverse(order.size());
  metis_options options;
  check(METIS_NodeND(&n, g.rowptr.data(), g.colind.data(), nullptr, options.values, order.data(), inverse.data()));
  return order;
}

std::vector<index_t> partition_into(plain_graph& g, index_t parts) {
  idx_t n = g.size(), constraints = 1, cut = 0;
  std::vector<index_t> part(static_cast<std::size_t>(n));
  metis_options options;
  check(METIS_PartGraphKway(&n, &constraints, g.rowptr.data(), g.colind.data(), nullptr, nullptr, nullptr, &parts,
                            nullptr, nullptr, options.values, &cut, part.data()));
  return part;
}

#else

bool has_metis() noexcept { return false; }

std::vector<index_t> nested_dissection(plain_graph&) {
  throw error(status::unsupported, "nd: this build has no METIS (Debian and Ubuntu: libmetis-dev)");
}

std::vector<index_t> partition_into(plain_graph&, index_t) {
  throw error(status::unsupported, "partition: this build has no METIS (Debian and Ubuntu: libmetis-dev)");
}

#endif

}  // namespace tulle::detail

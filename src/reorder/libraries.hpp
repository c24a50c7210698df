// Orderings by other people's libraries, on the host. A build has them or not; without, they throw UNSUPPORTED.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::detail {

/// A graph as those libraries take it: a symmetric pattern without its diagonal, in 32-bit numbers.
struct plain_graph {
  std::vector<std::int32_t> rowptr;
  std::vector<std::int32_t> colind;
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(rowptr.size()) - 1; }
};

bool has_amd() noexcept;
bool has_metis() noexcept;

/// All of these give the same on every run. Graphs have one vertex or more.
std::vector<index_t> amd_order(const plain_graph& g);
/// METIS knows no vertices without neighbours here: those must not be.
std::vector<index_t> nested_dissection(plain_graph& g);
/// The part of each vertex, 0 .. parts - 1.
std::vector<index_t> partition_into(plain_graph& g, index_t parts);

}  // namespace tulle::detail

// The connected components of a graph.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle::cuda {

struct components {
  buffer<index_t> of_vertex;    // the number of a vertex's component; they are numbered by their least vertices
  buffer<std::uint64_t> least;  // of each component: vertex_key
};

/// Of a symmetric pattern whose columns increase. Waits.
components find_components(const context& ctx, const matrix_ref& a, const index_t* degree);

}  // namespace tulle::cuda

// The levels of a graph, numbered as kernels/reorder.hpp says, in all components at once.
#pragma once

#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>

namespace tulle::cuda {

constexpr index_t no_parent = 0x7f7f7f7f;  // as bytes all alike

/// A vertex and its degree as one number: they compare as kernels/reorder.hpp orders them.
__host__ __device__ constexpr std::uint64_t vertex_key(index_t degree, index_t vertex) {
  return std::uint64_t{static_cast<std::uint32_t>(degree)} << 32 | static_cast<std::uint32_t>(vertex);
}
__host__ __device__ constexpr index_t vertex_of(std::uint64_t key) { return static_cast<index_t>(key & 0xffffffff); }

/// Arrays of one element per vertex. Places are those in `list`: level after level, in each the children of the first
/// parent, of the second and so on, whatever their components.
struct level_arrays {
  const index_t* degree;
  index_t* parent;  // the place of a vertex's parent, -1 for starts; no_parent on entry but for starts
  index_t* list;    // vertices by place; the starts on entry
  index_t* level;   // by place
};

struct levels_found {
  index_t placed = 0;
  bool narrow = false;  // given up: so few vertices are in each of so many levels that a CPU is faster
};

/// Waits. A is square, its columns increase strictly.
levels_found number_levels(const context& ctx, const matrix_ref& a, index_t starts, const level_arrays& to);

}  // namespace tulle::cuda

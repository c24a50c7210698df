// The storage of csr5: the entries of the CSR in its order, cut into tiles of equally many slots.
//
// A tile holds as many whole rows as fit; its other slots stay empty. A row without entries takes one slot. A row
// longer than a tile has tiles of its own, stored before all others, and one block for every few of them (a group).
//
// A tile is the work of one block and `items` neighbouring slots that of a thread. In memory columns lie in fours,
// values in twos (f64) or fours (f32), thread after thread; the column of an empty slot is the largest number. Each
// thread has a head: one bit per slot says whether it ends a row, and the bits above give the row of its first slot,
// counted in the tile.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>
#include <type_traits>

namespace tulle::cuda {

inline constexpr int csr5_slots = 1024;

/// Items: slots per thread, 4 or 8.
template <int Items>
struct csr5_shape {
  static constexpr int items = Items;
  static constexpr int block = csr5_slots / Items;
  using head = std::conditional_t<Items == 4, std::uint16_t, std::uint32_t>;

  /// Where slot `item` of a thread lies in the tile, in an array that stores `together` slots of a thread contiguously.
  __device__ static constexpr int place(int thread, int item, int together) {
    return ((item / together) * block + thread) * together + item % together;
  }
};
inline constexpr int csr5_columns_together = 4;
template <class T>
inline constexpr int csr5_values_together = 16 / sizeof(T);

/// Tiles of a long row that one block sums.
struct csr5_group {
  index_t row;
  std::int32_t first_tile;
  std::int32_t tiles;
  std::int32_t first_group;  // of the row
  std::int32_t last_group;
};

/// The column of an empty slot. Columns are 16 bits wide where all are below it.
template <class Column>
inline constexpr Column csr5_empty = sizeof(Column) == 2 ? static_cast<Column>(0xffff)
                                                         : static_cast<Column>(0x7fffffff);

/// Blocks 0 to groups - 1 take a group each, the others a tile of whole rows each.
template <class Shape, class T, class Column>
struct csr5_view {
  std::int32_t groups;
  std::int32_t long_tiles;
  const csr5_group* group;
  const index_t* first_row;          // of every tile of whole rows
  const typename Shape::head* head;  // of every thread of those tiles
  const Column* column;
  const T* value;
};

}  // namespace tulle::cuda

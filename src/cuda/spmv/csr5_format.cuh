// The storage of csr5: the entries of the CSR in its order, cut into tiles of equally many slots.
//
// A tile holds as many whole rows as fit, and what is left over stays empty. A row of no entry takes one slot. A row longer
// than a tile has tiles of its own, which lie before those of the others, and one block for every few of them (a group).
//
// A tile is one block's work, slots 4 t to 4 t + 3 that of its thread t. In memory its columns lie in the order of the
// slots, an empty slot's being the greatest number; its values in pairs (f64) or fours (f32), thread after thread. Each
// thread has a head: 4 bits that say which of its slots ends a row, and above them how many rows of the tile end before.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>

namespace tulle::cuda {

inline constexpr int csr5_block = 256;
inline constexpr int csr5_items = 4;
inline constexpr int csr5_slots = csr5_block * csr5_items;

/// Tiles of a long row that one block sums.
struct csr5_group {
  index_t row;
  std::int32_t first_tile;
  std::int32_t tiles;
  std::int32_t first_group;  // of the row
  std::int32_t last_group;
};

/// Columns are 16 bits wide where all of them are below the mark of an empty slot.
template <class Column>
inline constexpr Column csr5_empty = sizeof(Column) == 2 ? static_cast<Column>(0xffff) : static_cast<Column>(0x7fffffff);

/// Blocks 0 to groups - 1 take a group each, those after them a tile of whole rows.
template <class T, class Column>
struct csr5_view {
  std::int32_t groups;
  std::int32_t long_tiles;
  const csr5_group* group;
  const index_t* first_row;   // of every tile of whole rows
  const std::uint16_t* head;  // of every thread of those
  const Column* column;
  const T* value;
};

/// Where slot `item` of thread `thread` has its value, within the tile.
template <class T>
__device__ constexpr int csr5_place(int thread, int item) {
  constexpr int together = 16 / sizeof(T);
  return ((item / together) * csr5_block + thread) * together + item % together;
}

}  // namespace tulle::cuda

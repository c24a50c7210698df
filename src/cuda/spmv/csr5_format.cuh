// The storage of csr5: the entries of the CSR in its order, cut into tiles of equally many slots.
//
// A tile holds as many whole rows as fit, and what is left over stays empty. A row of no entry takes one slot. A row
// longer than a tile has tiles of its own, which lie before those of the others, and one block for every few of them (a
// group).
//
// A tile is one block's work, and `items` neighbouring slots that of a thread. In memory columns lie in fours, values
// in pairs (f64) or fours (f32), thread after thread; an empty slot's column is the greatest number. Each thread has a
// head: a bit for each of its slots that says whether it ends a row, and above them the number of its first slot's row
// in the tile.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>
#include <type_traits>

namespace tulle::cuda {

inline constexpr int csr5_slots = 1024;

/// Items: 4 or 8, slots a thread.
template <int Items>
struct csr5_shape {
  static constexpr int items = Items;
  static constexpr int block = csr5_slots / Items;
  using head = std::conditional_t<Items == 4, std::uint16_t, std::uint32_t>;

  /// Where slot `item` of thread `thread` lies within the tile, in an array that keeps `together` slots of a thread
  /// side by side.
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

/// Columns are 16 bits wide where all of them are below the mark of an empty slot.
template <class Column>
inline constexpr Column csr5_empty = sizeof(Column) == 2 ? static_cast<Column>(0xffff)
                                                         : static_cast<Column>(0x7fffffff);

/// Blocks 0 to groups - 1 take a group each, those after them a tile of whole rows.
template <class Shape, class T, class Column>
struct csr5_view {
  std::int32_t groups;
  std::int32_t long_tiles;
  const csr5_group* group;
  const index_t* first_row;          // of every tile of whole rows
  const typename Shape::head* head;  // of every thread of those
  const Column* column;
  const T* value;
};

}  // namespace tulle::cuda

// The storage of csr5: the entries of the CSR in its order, cut into tiles of equally many slots.
//
// A tile holds as many whole rows as fit; its other slots stay empty. A row without entries takes one slot. A row
// longer than a tile has tiles of its own, stored before all others, and one block for every few of them (a group).
//
// A tile is the work of one block and `items` neighbouring slots that of a thread. In memory a thread's columns lie
// side by side (in fours where they take 4 bytes), values in twos (f64) or fours (f32), thread after thread; the column
// of an empty slot is the largest number. Each thread has a head: one bit per slot says whether it ends a row, and the
// bits above give the row of its first slot, counted in the tile, or how many rows there are where that is behind them.
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

/// How a column is stored, in 2, 3 or 4 bytes. In fewer than 4 it is counted from the first column of its tile; the
/// third byte lies in an array of its own.
template <int Bytes>
struct csr5_columns {
  static constexpr int bytes = Bytes;
  static constexpr bool has_high = Bytes == 3, from_first = Bytes < 4;
  using low = std::conditional_t<Bytes == 4, index_t, std::uint16_t>;
  using whole = std::conditional_t<Bytes == 2, std::uint16_t, index_t>;
  /// Slots of a thread that lie side by side.
  template <class Shape>
  static constexpr int together = Bytes == 4 ? 4 : Shape::items;
  /// Of an empty slot. All columns are below it.
  static constexpr index_t empty = Bytes == 2 ? 0xffff : Bytes == 3 ? 0xffffff : 0x7fffffff;
};

/// Blocks 0 to groups - 1 take a group each, the others a tile of whole rows each.
template <class Shape, class T, class Columns>
struct csr5_view {
  std::int32_t groups;
  std::int32_t long_tiles;
  const csr5_group* group;
  const index_t* first_row;          // of every tile of whole rows
  const typename Shape::head* head;  // of every thread of those tiles
  const index_t* first_column;       // of every tile, where columns are counted from it
  const typename Columns::low* column;
  const std::uint8_t* high;  // of columns of 3 bytes
  const T* value;
};

}  // namespace tulle::cuda

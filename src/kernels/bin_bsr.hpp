// Bins of blocks as kernels see them: what both backends know of bin_bsr (formats/views.hpp), and bin_bsr.compact, the
// copy that the kernel of that name reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/matrices.hpp>
#include <type_traits>

namespace tulle {

/// The mask of a block in bin_bsr.compact: bit i * block + j as in bsr_view, in as few bytes as have all of them.
template <int Block>
using compact_mask = std::conditional_t<
    Block <= 2, std::uint8_t,
    std::conditional_t<Block <= 4, std::uint16_t, std::conditional_t<Block == 5, std::uint32_t, std::uint64_t>>>;
constexpr int compact_mask_bytes(index_t block) { return block <= 2 ? 1 : block <= 4 ? 2 : block == 5 ? 4 : 8; }

/// Bins of 32 block rows, one lane each, block rows sorted by decreasing length within windows of `sigma`. Block k of
/// lane l of bin i is number binptr[i] + 32 k + l of colind (-1: padding) and of mask. On a device the 32 blocks of a
/// slot are interleaved (compact_place), so that 32 lanes that read their blocks from the first value to the last read
/// 16 neighbouring bytes each; on the host each is whole, by columns (compact_host_place). perm[32 i + l] is the block
/// row of the lane, or -1. Places outside the pattern hold 0 and, like padding, do not multiply x.
template <scalar T>
struct compact_view {
  index_t rows = 0;
  index_t cols = 0;
  index_t block = 6;
  index_t bins = 0;
  const std::int64_t* binptr = nullptr;  // bins + 1
  const index_t* perm = nullptr;         // 32 * bins; null when no block row moved
  const index_t* colind = nullptr;       // binptr[bins]
  const T* values = nullptr;             // binptr[bins] * block * block
  const std::byte* mask = nullptr;       // binptr[bins] of compact_mask_bytes(block), or null
};

/// Where value `e` (of block * block, by rows) of the block of lane `lane` is among the values of 32 blocks side by
/// side.
template <scalar T>
constexpr int compact_place(int area, int lane, int e) {
  constexpr int vector = 16 / static_cast<int>(sizeof(T));
  const int whole = area / vector * vector;
  if (e >= whole) return e * bin_rows + lane;
  return (e / vector * bin_rows + lane) * vector + e % vector;
}

/// The same on the host, of value (i, j).
constexpr int compact_host_place(int block, int lane, int i, int j) { return (lane * block + j) * block + i; }

template <scalar T>
struct compact_bin_bsr {
  index_t rows = 0;
  index_t cols = 0;
  std::int64_t blocks = 0;  // without padding
  index_t block = 6;
  index_t bins = 0;
  buffer<std::int64_t> binptr;
  buffer<index_t> perm;
  buffer<index_t> colind;
  buffer<T> values;
  buffer<std::byte> mask;

  [[nodiscard]] compact_view<T> view() const noexcept {
    return {rows, cols, block, bins, binptr.data(), perm.data(), colind.data(), values.data(), mask.data()};
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return binptr.bytes() + perm.bytes() + colind.bytes() + values.bytes() + mask.bytes();
  }
  /// Slots per block.
  [[nodiscard]] double padding() const noexcept {
    return blocks == 0 ? 1 : static_cast<double>(colind.size()) / static_cast<double>(blocks);
  }
};

/// Block rows of a window within which bin_bsr.compact sorts them.
inline constexpr index_t compact_sigma = 1024;

/// The row of the last bin that is not there.
constexpr index_t bin_end(index_t bin, index_t rows) {
  return static_cast<index_t>(std::int64_t{bin} * bin_rows + bin_rows < rows ? (bin + 1) * bin_rows : rows);
}

/// Bit j for every value j of row i of a block.
constexpr std::uint8_t row_bits(std::uint64_t block_mask, index_t i, index_t block) {
  return static_cast<std::uint8_t>(block_mask >> (i * block) & ((1u << block) - 1));
}

}  // namespace tulle

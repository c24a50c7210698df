// How a small matrix is divided among the blocks of a resident solver (resident.cuh): a pure function of its pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <vector>

#ifdef __CUDACC__
#define TULLE_HOST_DEVICE __host__ __device__
#else
#define TULLE_HOST_DEVICE
#endif

namespace tulle::cuda {

/// Where what a part has begins, among all parts'.
struct resident_place {
  std::int32_t row, block, outer, pattern;
};

/// All counts are of matrix blocks.
struct resident_plan {
  int parts = 0;                      // thread blocks, each with consecutive block rows
  std::vector<resident_place> place;  // of every part, and the end
  std::vector<std::int32_t> outer;    // rows of other parts that a part reads, ascending
  std::vector<std::int32_t> pattern;  // of every part what resident_pattern says
  int most_rows = 0, most_blocks = 0, most_columns = 0, most_pattern = 0;  // of a part; columns: its and outer rows
};

/// What a part of so many rows and blocks keeps of its pattern, in words of 4 bytes from a multiple of 4 on. Blocks are
/// numbered from its first.
struct resident_pattern {
  int rows, blocks;

  /// The first block of every row, and the end.
  [[nodiscard]] TULLE_HOST_DEVICE static constexpr int row() { return 0; }
  /// Of every row the diagonal block, -1: it has none.
  [[nodiscard]] TULLE_HOST_DEVICE constexpr int diagonal() const { return rows + 1; }
  /// Of every block in 2 bytes: a row of the part, or rows + the place in `outer`.
  [[nodiscard]] TULLE_HOST_DEVICE constexpr int column() const { return diagonal() + rows; }
  /// If asked for: rows + 1 places in the pattern, where it has of every row two words for each that reads it: (part <<
  /// 16) + column of that part, and room.
  [[nodiscard]] TULLE_HOST_DEVICE constexpr int push() const { return column() + (blocks + 1) / 2; }
};

inline constexpr int resident_most_columns = 65535;  // that `column` can name

/// The matrix has as many block columns as rows. The last parts may be empty.
resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int parts,
                            bool push);

/// Lanes of a warp that take a block row together, a block each.
TULLE_HOST_DEVICE constexpr int resident_width(int block) { return block <= 2 ? block : block <= 4 ? 4 : 8; }

/// Where the arrays of a part are in its shared memory: values first, each array from a multiple of 4 on.
struct resident_layout {
  static constexpr int threads = 256;
  static constexpr int vectors = 6;  // that a lane keeps of a row

  std::size_t inverse, p, later, end;  // in values
  std::size_t pattern, bytes;          // in bytes

  TULLE_HOST_DEVICE constexpr resident_layout(int block, std::size_t value, std::size_t rows, std::size_t blocks,
                                              std::size_t columns, std::size_t words)
      : inverse(padded(blocks * block * block)),
        p(inverse + padded(rows * block * block)),
        later(p + padded(columns * block)),
        end(later + passes_after_first(block, rows) * threads * vectors),
        pattern(end * value),
        bytes(pattern + 4 * words) {}

  TULLE_HOST_DEVICE static constexpr std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }
  /// Rows beyond those that the threads keep in registers.
  TULLE_HOST_DEVICE static constexpr std::size_t passes_after_first(int block, std::size_t rows) {
    const std::size_t at_once = threads / resident_width(block);
    return rows <= at_once ? 0 : (rows - 1) / at_once;
  }
};
#undef TULLE_HOST_DEVICE

}  // namespace tulle::cuda

// How a small matrix is divided among the blocks of a resident solver (resident.cuh): a pure function of its pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::cuda::old0 {

/// Blocks of one block row are taken `slots` at a time: a chunk. All counts are of matrix blocks.
struct resident_plan {
  int parts = 0;                          // thread blocks, each with consecutive block rows
  std::vector<std::int32_t> row_begin;    // of every part, and the end
  std::vector<std::int32_t> chunk_begin;  // the same
  std::vector<std::int32_t> outer_begin;  // the same
  std::vector<std::int32_t> row_chunk;    // of part g at row_begin[g] + g: rows + 1 numbers from 0
  std::vector<std::int32_t> source;       // of every slot: the matrix block, -1: none
  std::vector<std::uint16_t> column;      // of every slot: a row of the part, or rows + the place in `outer`
  std::vector<std::int32_t> outer;        // rows of other parts that the part reads: (part << 16) + row of that part
  std::vector<std::int32_t> diagonal;     // of every block row: the matrix block, -1: it has none
  int most_rows = 0, most_chunks = 0, most_columns = 0;  // of a part; columns: its rows and the outer ones
};

inline constexpr int resident_most_columns = 65535;  // that `column` can name

/// The matrix has as many block columns as rows. The last parts may be empty.
resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int block,
                            int parts);

#ifdef __CUDACC__
#define TULLE_HOST_DEVICE __host__ __device__
#else
#define TULLE_HOST_DEVICE
#endif

/// Where the arrays of a part are in its shared memory: values first, each array from a multiple of 4 on.
struct resident_layout {
  std::size_t inverse, p, end;           // in values
  std::size_t row_chunk, column, bytes;  // in bytes

  TULLE_HOST_DEVICE constexpr resident_layout(int block, std::size_t value, std::size_t rows, std::size_t chunks,
                                              std::size_t columns)
      : inverse(padded(chunks * (32 / block) * block * block)),
        p(inverse + padded(rows * block * block)),
        end(p + padded(columns * block)),
        row_chunk(end * value),
        column(row_chunk + 4 * padded(rows + 1)),
        bytes(column + 2 * padded(chunks * (32 / block))) {}

  TULLE_HOST_DEVICE static constexpr std::size_t padded(std::size_t n) { return (n + 3) / 4 * 4; }
};
#undef TULLE_HOST_DEVICE

}  // namespace tulle::cuda

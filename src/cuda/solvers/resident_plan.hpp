// How a small matrix is divided among the blocks of a resident solver (resident.cuh): a pure function of its pattern.
#pragma once

#include <cstdint>
#include <tulle/core/types.hpp>
#include <vector>

namespace tulle::cuda {

/// Blocks of one block row are taken `slots` at a time: a chunk. All counts are of matrix blocks.
struct resident_plan {
  int parts = 0;                           // thread blocks, each with consecutive block rows
  std::vector<std::int32_t> row_begin;     // of every part, and the end
  std::vector<std::int32_t> chunk_begin;   // the same
  std::vector<std::int32_t> outer_begin;   // the same
  std::vector<std::int32_t> row_chunk;     // of part g at row_begin[g] + g: rows + 1 numbers from 0
  std::vector<std::int32_t> source;        // of every slot: the matrix block, -1: none
  std::vector<std::uint16_t> column;       // of every slot: a row of the part, or rows + the place in `outer`
  std::vector<std::int32_t> outer;         // rows of other parts that the part reads: (part << 16) + row of that part
  std::vector<std::int32_t> diagonal;      // of every block row: its slot in the part, -1: it has none
  int most_rows = 0, most_chunks = 0, most_columns = 0;  // of a part; columns: its rows and the outer ones
};

inline constexpr int resident_most_columns = 65535;  // that `column` can name

/// The matrix has as many block columns as rows. The last parts may be empty.
resident_plan plan_resident(const std::vector<std::int64_t>& rowptr, const std::vector<index_t>& colind, int block, int parts);

/// Bytes of shared memory that a part takes.
std::size_t resident_bytes(int block, std::size_t value, std::size_t rows, std::size_t chunks, std::size_t columns);

}  // namespace tulle::cuda

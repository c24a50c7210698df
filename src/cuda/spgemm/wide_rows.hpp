// Rows whose entries are many or far apart: see wide_pattern.cu and wide_values.cu.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/spgemm/word_walk.cuh"

namespace tulle::cuda {

/// What the kernels of wide rows need to know of the device.
struct wide_launch {
  int multiprocessors;
  std::size_t shared_bytes;  // that a block may have
};

/// Words of the bitmap of a row of C, a multiple of 4.
constexpr std::size_t bitmap_words(index_t cols) { return (static_cast<std::size_t>(cols) / 32 + 4) / 4 * 4; }
/// Bitmaps of more columns than this are made between a row's first and last column, and never kept.
constexpr std::size_t narrow_bitmap = 4096;
constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;
/// Bytes that the bitmaps of `rows` wide rows take, where they are worth keeping from the count to the fill; else 0.
constexpr std::size_t kept_bytes(std::int64_t rows, index_t cols) {
  const std::size_t words = bitmap_words(cols), bytes = static_cast<std::size_t>(rows) * words * sizeof(unsigned);
  return words > narrow_bitmap || bytes > most_kept_bytes ? 0 : bytes;
}

/// entries[row] = entries of row `row` of C, for the rows of a list, the most of which go to `most`. mean_b: entries of
/// the rows of B that A asks for. kept: where the bitmaps go, one after the other in the order of the list; or null.
template <class O>
void count_wide(const product_pattern<O>& m, const word_rows<O>& b, float mean_b, const row_list& list,
                const wide_launch& device, index_t* entries, index_t* most, uint4* kept, cudaStream_t stream);

/// Columns of C in the rows of a list.
template <class O>
void fill_wide_columns(const product_pattern<O>& m, const word_rows<O>& b, float mean_b, const row_list& list,
                       const wide_launch& device, const O* c_rowptr, index_t* c_colind, cudaStream_t stream);

/// The same from kept bitmaps.
template <class O>
void fill_kept_columns(const row_list& list, const uint4* kept, index_t cols, const O* c_rowptr, index_t* c_colind,
                       cudaStream_t stream);

/// Entries of C that a block makes at a time, at most: of a row that has no more, and of a longer one.
constexpr int narrow_chunk = 1024, wide_chunk = 4096;

/// The part-th of the equal parts of a row of C.
struct wide_task {
  index_t row;
  index_t part;
};

/// All of them, on the device, in three lists: short_rows (made whole, up to narrow_chunk entries), long_rows (made
/// whole, more) and row_parts. Where all rows are short, they are those of `list`.
struct wide_tasks {
  enum kind { short_rows, long_rows, row_parts, kinds };

  row_list list;
  wide_task* begin;           // null: all rows are short
  std::int64_t rows;          // of all tasks together
  std::int64_t entries;       // at most so many in them
  unsigned long long* count;  // of each kind, on the device, zeroed
  int chunk;                  // a row of more entries is cut into parts of at most so many

  /// A bound on the tasks of a kind.
  __host__ __device__ std::int64_t most(kind k) const {
    const std::int64_t cut = entries / chunk;
    if (k == row_parts) return 2 * cut;
    return k == short_rows || entries / narrow_chunk > rows ? rows : entries / narrow_chunk;
  }
  /// Long rows stand behind the short ones, from the end.
  __host__ __device__ wide_task* at(kind k, std::int64_t i) const {
    return begin + (k == short_rows ? i : k == long_rows ? rows - 1 - i : rows + i);
  }
};

/// How many tasks there can be of `rows` rows with `entries` entries in all.
constexpr std::int64_t most_wide_tasks(std::int64_t rows, std::int64_t entries, int chunk) {
  return rows + 2 * (entries / chunk);
}

/// Cuts the rows of a list.
template <class O>
void cut_wide_rows(const row_list& list, const O* c_rowptr, const wide_tasks& tasks, cudaStream_t stream);

/// Values of C in the tasks, whose columns are there. By turns: the products of several rows of B at once. By owners: a
/// row of B after the other, which pays where those are long.
template <class T, class O>
void fill_by_turns(const product_pattern<O>& m, const product_values<T, O>& v, const wide_tasks& tasks,
                   cudaStream_t stream);
template <class T, class O>
void fill_by_owners(const product_pattern<O>& m, const product_values<T, O>& v, const wide_tasks& tasks,
                    cudaStream_t stream);

}  // namespace tulle::cuda

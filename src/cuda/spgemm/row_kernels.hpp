// How the rows of C are put in classes (row_classes.cu), and those of each class counted and filled: what gustavson
// asks of the kernels' files.
#pragma once

#include <tulle/core/context.hpp>

#include "cuda/runtime/host_report.cuh"
#include "cuda/spgemm/product_rows.cuh"

namespace tulle::cuda {

/// Where the classes of rows go.
struct class_sink {
  std::uint8_t* classes;         // of each row; or null
  index_t* lists;                // the rows of class c from c * rows on, blocks of neighbours together; or null
  index_t* counts;               // rows of each class are added here, row_classes of them
  unsigned long long* products;  // and all products here
  unsigned long long* words;     // no fewer words has B, as far as the check says
  index_t* entries;              // 0 for a row without a product, and behind the last row
};

/// The most products of rows that are sorted (128 to 512) and of those put in buckets (at most 4096).
struct class_limits {
  int sorted;
  int bucketed;
};

/// Gives every row a class below first_classes by its number of products. Where the check is bad every row counts as
/// empty. Only up to most_listed rows have lists.
void classify_rows(const product_ref& p, double mean_row, const class_limits& limits, const operand_check& check,
                   const class_sink& out, cudaStream_t stream);
constexpr index_t most_listed = 4096;

/// Lists the rows by class: those of class c from begins[c] on, which is set to the exclusive sum of `counts`. Rows of
/// a class lie in blocks of neighbours. `from`: the rows to list. `cursors`: row_classes zeroed numbers. `report`
/// happens on the way.
void list_rows(const row_list& from, const std::uint8_t* classes, const index_t* counts, index_t* cursors,
               index_t* begins, index_t* list, const word_copy& report, cudaStream_t stream);

/// Exclusive sum of the entries of up to most_listed rows in place, their sum behind them and to *all; then the report.
void scan_listed(index_t rows, index_t* entries, long long* all, const word_copy& report, cudaStream_t stream);

/// Adds the rows of each class among `from` to `counts`.
void count_classes(const row_list& from, const std::uint8_t* classes, index_t* counts, cudaStream_t stream);

/// Writes the words (column / 32, mask of the columns) of row r of B, which is sorted, in order from words[rowptr[r]]
/// on, sets ends[r], of B's type of offsets, to where they end, and adds their number to *total.
void fill_words(const product_ref& p, index_t b_rows, void* ends, uint2* words, unsigned long long* total,
                cudaStream_t stream);

/// Rows of sorted_8, sorted_16 and so on to sorted_512 (sorted_rows.cuh). Classes with many rows get a launch each, the
/// others share one.
struct sorted_lists {
  row_list of[7];
};
/// entries[row] = entries of row `row` of C, for the rows of the lists.
void count_sorted(const product_ref& p, const sorted_lists& lists, index_t* entries, cudaStream_t stream);
void fill_sorted(const product_fill& to, const sorted_lists& lists);

/// Rows that are put in buckets, by trial_768 to trial_4096 (bucketed_fill.cu).
struct bucketed_lists {
  row_list of[4];
};
void count_bucketed(const product_ref& p, const bucketed_lists& lists, index_t* entries, cudaStream_t stream);
void fill_bucketed(const product_fill& to, const bucketed_lists& lists);
/// The most products of a row of such a class for which a block of the device has room.
int largest_bucketed(const device_info& device);

/// Entries of the wide rows of C.
struct wide_entries {
  unsigned long long all;
  index_t most;  // of a row
  index_t unused;

  __device__ void add(int of_row) {
    atomicAdd(&all, static_cast<unsigned long long>(of_row));
    atomicMax(&most, of_row);
  }
};

/// Counts the entries of the rows of a list of a trial class, and gives each its class: one of the hashed,
/// or wide_counted, whose entries are added to `of_wide`; sorted_512 or wide (not counted) where the words do not fit
/// the table (hashed_count.cu).
void try_hashed(const product_ref& p, row_class trial_class, const row_list& list, index_t* entries,
                wide_entries* of_wide, std::uint8_t* classes, cudaStream_t stream);
/// The rows of a list of a hashed class (hashed_fill.cu).
void fill_hashed(const product_fill& to, bool short_rows, row_class c, const row_list& list);

/// Words of the bitmap of a wide row of C (wide_pattern.cu), a multiple of 4.
constexpr std::size_t bitmap_words(index_t cols) { return (static_cast<std::size_t>(cols) / 32 + 4) / 4 * 4; }
/// Bytes that the bitmaps of `rows` wide rows take, where they are worth keeping from the count to the fill; else 0.
std::size_t kept_bytes(std::int64_t rows, index_t cols);

/// entries[row] = entries of row `row` of C, for the rows of a list, added to `of_wide`. mean_b: entries of the rows of
/// B that A asks for. kept: where the bitmaps go, one after the other in the order of the list; or null.
void count_wide(const product_ref& p, float mean_b, const row_list& list, const device_info& device, index_t* entries,
                wide_entries* of_wide, uint4* kept, cudaStream_t stream);
/// The same for a few rows with very many products, several blocks each (hub_pattern.cu). bits: kept_bytes of them.
void count_hubs(const product_ref& p, const row_list& list, const device_info& device, index_t* entries,
                wide_entries* of_wide, uint4* bits, cudaStream_t stream);
/// Fewer than fill the device with a block for each.
bool are_few_hubs(index_t rows, const device_info& device);
/// Columns of C in the rows of a list.
void fill_wide_columns(const product_fill& to, float mean_b, const row_list& list, const device_info& device);
/// The same from kept bitmaps.
void fill_kept_columns(const product_fill& to, const row_list& list, const uint4* kept);

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

/// Cuts the rows of the tasks' list.
void cut_wide_rows(const product_fill& to, const wide_tasks& tasks);

/// Values of C in the tasks, whose columns are there: the products of several rows of B at once (wide_values.cu), or a
/// row of B after the other, which pays where those are long (owned_values.cu).
void fill_from_short_rows(const product_fill& to, const wide_tasks& tasks);
void fill_from_long_rows(const product_fill& to, const wide_tasks& tasks);

}  // namespace tulle::cuda

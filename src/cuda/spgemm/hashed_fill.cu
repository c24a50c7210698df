// Rows whose entries lie in few words of 32 columns. A hash table in shared memory holds word -> mask of its columns
// and place of the first, so that a column's place is one probe and a count of the bits below (bitmap-rank
// accumulator), and the sums lie in the order of C. The table comes from the words of B, put in order by counting the
// smaller ones, and then gives the columns of C; or, for new numbers, from the columns of C. One warp per row, walked
// as value_walk.cuh says; one thread: a product at a time. Bytes per product: 4 + sizeof(T), through L1 and L2.
#include <utility>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/row_kernels.hpp"
#include "cuda/spgemm/value_walk.cuh"
#include "cuda/spgemm/word_run.cuh"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

constexpr int block = 128, warps = block / 32;

template <int Lanes, int Slots, int Most, class T, class O>
struct hashed_space {
  static_assert(Most <= 1 << place_bits);
  using table_type = word_table<Slots>;

  /// Words in no order: the word; its slot and, above, its number of columns.
  struct ordering {
    uint2 word[table_type::most];
    index_t column[Most];
  };
  union {
    T sum[Most];
    ordering order;
  };
  table_type table;
  held_row<T, O> rows[Lanes == 32 ? 32 : 1];

  __device__ __forceinline__ int place(index_t column) const {
    const uint2 word = table.find(static_cast<unsigned>(column) / 32);
    return static_cast<int>(table_type::place_of(word)) + __popc(word.x & ((1u << column % 32) - 1));
  }
  __device__ __forceinline__ void add(int at, T product) { sum[at] += product; }

  /// Places of the words that were collected, and their columns to `to`.
  __device__ void put_in_order(index_t* to, int count) {
    int listed = 0;
    for (int s = lane_id(); s < Slots; s += 32) {
      const uint2 entry = table.entry[s];
      const bool used = entry.y != table_type::none;
      const unsigned all = __ballot_sync(full_warp, used);
      if (used) {
        order.word[listed + __popc(all & lanes_before())] = {
            table_type::word_of(entry), static_cast<unsigned>(s) | static_cast<unsigned>(__popc(entry.x)) << 16};
      }
      listed += __popc(all);
    }
    __syncwarp();
    for (int w = lane_id(); w < listed; w += 32) {
      const uint2 mine = order.word[w];
      unsigned at = 0;
      for (int other = 0; other < listed; ++other) {
        const uint2 word = order.word[other];
        at += word.x < mine.x ? word.y >> 16 : 0;
      }
      uint2& entry = table.entry[mine.y & 0xffff];
      entry.y = table_type::word_at(mine.x, at);
      for (unsigned mask = entry.x; mask != 0; mask &= mask - 1) {
        order.column[at++] = static_cast<index_t>(mine.x * 32) + __ffs(static_cast<int>(mask)) - 1;
      }
    }
    __syncwarp();
    for (int q = lane_id(); q < count; q += 32) to[q] = order.column[q];
    __syncwarp();
  }

  /// The table from the columns of C.
  __device__ void index(const index_t* columns, int count) {
    constexpr int depth = 4;  // columns that a lane has in flight
    table.clear();
    int before = -1;
    for (int base = 0; base < count; base += 32 * depth) {
      word_run run[depth];
#pragma unroll
      for (int u = 0; u < depth; ++u) {  // all loads at once: a loop that may end early would wait for each
        const int i = base + 32 * u + lane_id();
        run[u] = word_run::of(i < count ? columns[i] : -1);
      }
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        if (base + 32 * u >= count) break;
        run[u].gather(u == 0 ? before : run[u == 0 ? 0 : u - 1].last());
        const bool head = (run[u].heads >> lane_id() & 1) != 0;
        if (head || lane_id() == 0) {  // the first lane may go on with the word before
          table.add(static_cast<unsigned>(run[u].word), run[u].mask, static_cast<unsigned>(base + 32 * u + lane_id()));
        }
        __syncwarp();
      }
      before = run[depth - 1].last();
    }
  }
};

/// Where few warps share a multiprocessor the next pieces are read ahead.
template <int Slots>
constexpr bool reads_ahead = Slots > 128;
/// Blocks that are to share a multiprocessor, as far as the sums of doubles let them; 0 where the compiler's own choice
/// of registers is as good.
template <int Lanes, int Most, class O>
constexpr int blocks_at_once = Most > 376                      ? 8
                               : Lanes == 32 && sizeof(O) == 4 ? 12
                                                               : 0;

/// Columns: those of C are found and written first; else they are read.
template <bool Columns, int Lanes, int Slots, int Most, class T, class O>
__global__ void __launch_bounds__(block, blocks_at_once<Lanes, Most, O>)
    fill_hashed_kernel(product_pattern<O> m, word_rows<O> b, product_values<T, O> v, row_list list) {
  __shared__ hashed_space<Lanes, Slots, Most, T, O> spaces[warps];
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (i >= list.count()) return;
  const index_t row = list[static_cast<index_t>(i)];
  hashed_space<Lanes, Slots, Most, T, O>& space = spaces[threadIdx.x / 32];
  const O to = v.c_rowptr[row];
  const int count = static_cast<int>(v.c_rowptr[row + 1] - to);
  if constexpr (Columns) {
    b.words != nullptr ? space.table.template collect<8, true>(m, b, row)
                       : space.table.template collect<8, false>(m, b, row);
    space.put_in_order(v.c_colind + to, count);
  } else {
    space.index(v.c_colind + to, count);
  }
  for (int q = lane_id(); q < count; q += 32) space.sum[q] = 0;
  __syncwarp();
  walk_values<Lanes, false, reads_ahead<Slots>>(m, v.a, v.b, m.a_rowptr[row], m.a_rowptr[row + 1],
                                                column_range<false>{}, space, space.rows);
  __syncwarp();
  for (int q = lane_id(); q < count; q += 32) v.c[to + q] = v.alpha * space.sum[q];
}

}  // namespace

void fill_hashed(const product_fill& to, bool short_rows, row_class c, const row_list& list) {
  if (list.most == 0) return;
  to.run([&]<class T, class O>(const product_pattern<O>& m, const product_values<T, O>& v) {
    const auto run = [&]<int Slots, int Most>(std::integer_sequence<int, Slots, Most>) {
      const auto fill = [&](auto kernel) {
        launch("spgemm: fill_hashed", kernel, {ceil_div(list.most, warps), block}, to.stream, m,
               to.product.b_words<O>(), v, list);
      };
      if (to.columns) {
        short_rows ? fill(fill_hashed_kernel<true, 8, Slots, Most, T, O>)
                   : fill(fill_hashed_kernel<true, 32, Slots, Most, T, O>);
      } else {
        short_rows ? fill(fill_hashed_kernel<false, 8, Slots, Most, T, O>)
                   : fill(fill_hashed_kernel<false, 32, Slots, Most, T, O>);
      }
    };
    if (c == hashed_256) {
      run(std::integer_sequence<int, 128, 256>{});
    } else if (c == hashed_376) {
      run(std::integer_sequence<int, 128, 376>{});
    } else {
      run(std::integer_sequence<int, 256, 480>{});
    }
  });
}

}  // namespace tulle::cuda

// The kernel of csr.pieces for rows of X of 128 bytes and more; see csr_pieces.cu. `Across` lanes take 16 bytes each
// of a row of X; a warp has 32 / Across groups of them, and each takes an equal part of the entries of the warp's piece
// as one stream, whatever rows they are of, eight rows of X on their way. Columns and values come by asynchronous
// copies, a batch ahead; where rows end is a bit for each entry (row_ends.cuh), so that four entries in which none ends
// cost one test. A row that lies in several groups is put together at the end of the piece, in order.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/device/grid.cuh"
#include "cuda/device/read_ahead.cuh"
#include "cuda/device/warp.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/part_sums.cuh"
#include "cuda/spmv/row_ends.cuh"

namespace tulle::cuda {

struct piece_stream {
  static constexpr int threads = 128;  // of a block
  static constexpr int resident = 6;   // blocks of a multiprocessor
  static constexpr int flight = 8;     // rows of X on their way
  static constexpr int batch = 32;     // entries
  static constexpr int empties = 8;    // rows without entries that a warp stores
  static_assert(threads / 32 * resident == piece_share::stream_warps);
};

/// Columns and values of a group's entries: of this batch and the next.
template <class T>
struct stream_entries {
  alignas(16) index_t column[2 * piece_stream::batch];
  alignas(16) T value[2 * piece_stream::batch];
};

/// Of a lane, which has 16 bytes of a row.
template <class T>
struct lane_sums {
  static constexpr int count = 16 / sizeof(T);
  T of[count] = {};

  __device__ __forceinline__ void add_product(T value, const int4& raw) {
    T x[count];
    memcpy(x, &raw, 16);
#pragma unroll
    for (int i = 0; i < count; ++i) of[i] = multiply_add(value, x[i], of[i]);
  }
  __device__ __forceinline__ void add_before(const lane_sums& earlier) {
#pragma unroll
    for (int i = 0; i < count; ++i) of[i] = add(earlier.of[i], of[i]);
  }
  [[nodiscard]] __device__ __forceinline__ lane_sums of_lanes_before(int lanes) const {
    lane_sums out;
#pragma unroll
    for (int i = 0; i < count; ++i) out.of[i] = __shfl_up_sync(full_warp, of[i], static_cast<unsigned>(lanes));
    return out;
  }
};

/// The rows of Y, and the parts of cut ones, of warp `w`, whose piece begins in row `first_row`. `Plain`: rows of Y are
/// aligned, beta is 0, and there is no epilogue.
template <bool Plain, class T, class O>
struct piece_rows {
  const row_pieces_view<O>& pieces;
  const row_ends_view& ends;
  const scale_and_store_many<T>& store;
  const part_sums<T>& parts;
  std::int64_t w;
  index_t first_row;
  bool begins_cut;

  /// A row that ends in the piece.
  __device__ __forceinline__ void put(index_t r, index_t column0, const lane_sums<T>& sum) const {
    constexpr int count = lane_sums<T>::count;
    const bool to_parts = begins_cut && r == first_row;
    if constexpr (Plain) {
      T* const to = to_parts ? parts.at(pieces.behind(w)) + column0 : store.y.at(ends.row(r), column0);
      const T by = to_parts ? T{1} : store.alpha;
      T out[count];
#pragma unroll
      for (int i = 0; i < count; ++i) out[i] = multiply_add(by, sum.of[i], T{0});
      int4 raw;
      memcpy(&raw, out, 16);
      *reinterpret_cast<int4*>(to) = raw;
    } else if (to_parts) {
      for (int i = 0; i < count; ++i) parts.at(pieces.behind(w))[column0 + i] = sum.of[i];
    } else {
      store.store_each(ends.row(r), column0, sum.of);
    }
  }
  /// The one that goes on in the next piece.
  __device__ __forceinline__ void put_tail(index_t r, index_t column0, const lane_sums<T>& sum) const {
    T* const to = parts.at(begins_cut && r == first_row ? pieces.behind(w) : pieces.before(w + 1)) + column0;
    int4 raw;
    memcpy(&raw, sum.of, 16);
    *reinterpret_cast<int4*>(to) = raw;
  }
};

/// Those of the i-th warp behind those that have pieces.
template <class T>
__device__ __forceinline__ void store_empty_rows(const row_ends_view& ends, std::int64_t i, int group, int groups,
                                                 bool live, index_t column0, const scale_and_store_many<T>& store) {
  const std::int64_t from = i * piece_stream::empties;
  for (int e = group; live && e < piece_stream::empties && from + e < ends.empties; e += groups) {
    store.store_each(__ldg(ends.empty + from + e), column0, lane_sums<T>{}.of);
  }
}

/// `row_bytes`: from a row of X to the next, so that an entry costs one multiplication. `Ahead`: X may still be being
/// turned, or something is asked for. Where it is not, that costs 2 to 4% (7% in short rows of X of f64). blockIdx.y:
/// panel of 16 * Across bytes.
template <int Across, bool Plain, bool Ahead, class T, class O>
__global__ void __launch_bounds__(piece_stream::threads, piece_stream::resident)
    csr_pieces_stream_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, row_ends_view ends, wide_rows<T> rows_of_x,
                             int row_bytes, const __grid_constant__ scale_and_store_many<T> store, part_sums<T> parts,
                             const __grid_constant__ product_ahead ahead) {
  constexpr int count = lane_sums<T>::count, groups = 32 / Across;
  constexpr int flight = piece_stream::flight, batch = piece_stream::batch;
  __shared__ stream_entries<T> of_group[piece_stream::threads / Across];
  __shared__ int4 kept[2][piece_stream::threads];  // sums of a lane's first row, where it is open, and of its last
  stream_entries<T>& mine = of_group[threadIdx.x / Across];
  start_dependents();
  if constexpr (Ahead) ahead.ask();
  const std::int64_t w = pieces.taken_by(grid_thread() / 32);
  const int group = lane_id() / Across, lane = lane_id() % Across;
  const index_t column0 = (static_cast<index_t>(blockIdx.y) * Across + lane) * count;
  const bool live = column0 < rows_of_x.columns;

  if (w >= pieces.count) return store_empty_rows(ends, w - pieces.count, group, groups, live, column0, store);

  const piece_begin<O> first = pieces.begin[w];
  const O end = pieces.begin[w + 1].entry;
  if (first.entry == end) return;  // between two cuts
  const int of_piece = static_cast<int>(end - first.entry), share = (of_piece + groups - 1) / groups;
  const int before = min(group * share, of_piece), length = min(share, of_piece - before);
  const O origin = first.entry + before;

  const auto read_batch = [&](int from) {
#pragma unroll
    for (int i = 0; i < batch; i += Across) {
      const int e = from + i + lane, at = e % (2 * batch);
      const bool there = e < length;
      const O k = there ? origin + e : first.entry;
      __pipeline_memcpy_async(&mine.column[at], a.colind + k, sizeof(index_t), there ? 0 : sizeof(index_t));
      __pipeline_memcpy_async(&mine.value[at], a.values + k, sizeof(T), there ? 0 : sizeof(T));
    }
    __pipeline_commit();
  };
  read_batch(0);
  const bool begins_cut = first.entry > 0 && !ends.ends_at(first.entry - 1);
  const bool open = group > 0 && length > 0 && !ends.ends_at(origin - 1);  // its first row began in an earlier group
  const bool closed = length == 0 || ends.ends_at(origin + length - 1);
  index_t row = first.row;
  if constexpr (groups > 1) {
    int rows_before = 0;
    for (int e = lane * 32; e < before; e += Across * 32) {
      const unsigned bits = ends.bits_from(first.entry + e);
      rows_before += __popc(before - e < 32 ? bits & ((1u << (before - e)) - 1) : bits);
    }
    row += warp_sum<Across>(rows_before);
  }

  const piece_rows<Plain, T, O> rows{pieces, ends, store, parts, w, first.row, begins_cut};
  lane_sums<T> sum;
  const index_t first_row = row;
  const auto finish = [&](bool is_tail) {
    const bool is_head = groups > 1 && open && row == first_row;
    if (is_tail || is_head) {
      memcpy(&kept[is_tail ? 1 : 0][threadIdx.x], sum.of, 16);
    } else if (live) {
      rows.put(row, column0, sum);
    }
    if (!is_tail) ++row;
    sum = {};
  };
  const char* const x = reinterpret_cast<const char*>(rows_of_x.x + (live ? column0 : 0));
  for (int from = 0; from < share; from += batch) {
    const int here = min(batch, length - from);
    unsigned bits = 0;
    if (groups == 1 || here > 0) {
      bits = ends.bits_from(origin + from);
      if (here < batch) bits &= (1u << here) - 1;
      if (from + batch >= length) bits |= 1u << (here - 1);  // what comes behind is no part of the sum
    }
    __syncwarp();
    read_batch(from + batch);
    __pipeline_wait_prior(1);
    __syncwarp();
    const int at = from % (2 * batch), most = min(batch, share - from);
#pragma unroll 1
    for (int e = 0; e < most; e += flight) {
      index_t column[flight];
      T value[flight];
      int4 part[flight];
      memcpy(column, &mine.column[at + e], sizeof(column));
#pragma unroll
      for (int f = 0; f < flight; ++f) {
        part[f] = __ldg(reinterpret_cast<const int4*>(x + std::int64_t{column[f]} * row_bytes));
      }
      memcpy(value, &mine.value[at + e], sizeof(value));
      const unsigned next = bits >> e;
#pragma unroll
      for (int f = 0; f < flight; f += 4) {
        if ((next >> f & 15) == 0) {
#pragma unroll
          for (int i = f; i < f + 4; ++i) sum.add_product(value[i], part[i]);
        } else {
#pragma unroll
          for (int i = f; i < f + 4; ++i) {
            sum.add_product(value[i], part[i]);
            if ((next >> i & 1) != 0) finish(!closed && from + e + i + 1 == length);
          }
        }
      }
    }
  }

  lane_sums<T> carry;
  if (!closed) memcpy(carry.of, &kept[1][threadIdx.x], 16);
  if constexpr (groups > 1) {
    __syncwarp();
    lane_sums<T> before_mine;
#pragma unroll
    for (int g = 1; g < groups; ++g) {
      const lane_sums<T> earlier = carry.of_lanes_before(Across);
      if (group != g) continue;
      before_mine = earlier;
      if (row == first_row) carry.add_before(earlier);
    }
    if (open && row != first_row) {
      lane_sums<T> head;
      memcpy(head.of, &kept[0][threadIdx.x], 16);
      head.add_before(before_mine);
      if (live) rows.put(first_row, column0, head);
    }
  }
  if (group == groups - 1 && live && !ends.ends_at(end - 1)) rows.put_tail(row, column0, carry);
}

}  // namespace tulle::cuda

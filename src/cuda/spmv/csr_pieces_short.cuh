// The kernel of csr.pieces for rows of X of 16 to 64 bytes; see csr_pieces.cu. As csr_pieces_stream.cuh, but a warp has
// 8 to 32 groups of lanes with few entries each: it copies all columns and values of its piece to shared memory as they
// lie, coalesced, and has a bit for each that says where rows end in registers. A row that lies in several groups is
// put together by a segmented scan over the groups (Sengupta, Harris, Zhang and Owens, Graphics Hardware 2007).
#pragma once

#include "cuda/spmv/csr_pieces_stream.cuh"

namespace tulle::cuda {

/// What a group of lanes takes starts at an odd distance from the group before, so that groups read different banks.
template <class T>
struct short_entries {
  static constexpr int most = 2 * short_piece::most_work;  // of a warp
  index_t column[most];
  T value[most];
};

/// The bits of a warp's entries: a word for each lane.
struct piece_bits {
  unsigned word;
  int ends_before;  // in the words of earlier lanes

  /// Of entries `from` to `from` + n.
  template <class O>
  __device__ __forceinline__ piece_bits(const row_ends_view& ends, O from, int n) {
    const int left = n - 32 * lane_id();
    word = left > 0 ? ends.bits_from(from + 32 * lane_id()) : 0;
    if (left < 32) word &= (1u << max(left, 0)) - 1;
    ends_before = warp_inclusive_sum(__popc(word)) - __popc(word);
  }
  [[nodiscard]] __device__ __forceinline__ bool ends_at(int entry) const {
    return (__shfl_sync(full_warp, word, entry / 32) >> entry % 32 & 1) != 0;
  }
  [[nodiscard]] __device__ __forceinline__ int ends_up_to(int entry) const {
    const unsigned before = __shfl_sync(full_warp, word, entry / 32) & ((1u << entry % 32) - 1);
    return __shfl_sync(full_warp, ends_before, entry / 32) + __popc(before);
  }
  /// The 64 from `entry` on.
  [[nodiscard]] __device__ __forceinline__ unsigned long long from(int entry) const {
    unsigned next[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) next[i] = __shfl_sync(full_warp, word, min(entry / 32 + i, 31));
    const auto by = static_cast<unsigned>(entry % 32);
    const unsigned high = __funnelshift_r(next[1], next[2], by);
    return static_cast<unsigned long long>(high) << 32 | __funnelshift_r(next[0], next[1], by);
  }
};

/// As csr_pieces_stream_kernel.
template <int Across, bool Plain, bool Ahead, class T, class O>
__global__ void __launch_bounds__(piece_stream::threads, piece_stream::resident)
    csr_pieces_short_kernel(csr_view<T, O> a, row_pieces_view<O> pieces, row_ends_view ends, wide_rows<T> rows_of_x,
                            int row_bytes, const __grid_constant__ scale_and_store_many<T> store, part_sums<T> parts,
                            const __grid_constant__ product_ahead ahead) {
  constexpr int groups = 32 / Across, flight = piece_stream::flight;
  __shared__ short_entries<T> of_warp[piece_stream::threads / 32];
  __shared__ int4 kept[2][piece_stream::threads];  // sums of a lane's first row, where it is open, and of its last
  short_entries<T>& mine = of_warp[threadIdx.x / 32];
  start_dependents();
  if constexpr (Ahead) ahead.ask();
  const std::int64_t w = pieces.taken_by(grid_thread() / 32);
  const int group = lane_id() / Across, lane = lane_id() % Across;
  const index_t column0 = (static_cast<index_t>(blockIdx.y) * Across + lane) * lane_sums<T>::count;
  const bool live = column0 < rows_of_x.columns;
  if (w >= pieces.count) return store_empty_rows(ends, w - pieces.count, group, groups, live, column0, store);

  const piece_begin<O> first = pieces.begin[w];
  const auto n = static_cast<int>(pieces.begin[w + 1].entry - first.entry);
  if (n == 0) return;  // between two cuts
  for (int e = lane_id(); e < n; e += 32) {
    __pipeline_memcpy_async(&mine.column[e], a.colind + first.entry + e, sizeof(index_t));
    __pipeline_memcpy_async(&mine.value[e], a.values + first.entry + e, sizeof(T));
  }
  __pipeline_commit();
  const piece_bits bits(ends, first.entry, n);
  const bool begins_cut = first.entry > 0 && !ends.ends_at(first.entry - 1);
  const int share = (n + groups - 1) / groups | 1;
  const int begin = min(group * share, n), length = min(share, n - begin);
  const bool ended_before = bits.ends_at(max(begin - 1, 0)), open = begin > 0 && length > 0 && !ended_before;
  const bool is_cut = !bits.ends_at(n - 1);
  const index_t first_row = first.row + bits.ends_up_to(begin);
  unsigned long long left = bits.from(begin);
  const bool closed = length > 0 && (left >> (length - 1) & 1) != 0;
  left = length > 0 ? (left | 1ULL << (length - 1)) & (~0ULL >> (64 - length))
                    : 0;  // what comes behind is no part of the sum

  const piece_rows<Plain, T, O> rows{pieces, ends, store, parts, w, first.row, begins_cut};
  lane_sums<T> sum;
  index_t row = first_row;
  const auto finish = [&](bool is_tail) {
    if (is_tail || (open && row == first_row)) {
      memcpy(&kept[is_tail ? 1 : 0][threadIdx.x], sum.of, 16);
    } else if (live) {
      rows.put(row, column0, sum);
    }
    if (!is_tail) ++row;
    sum = {};
  };
  const char* const x = reinterpret_cast<const char*>(rows_of_x.x + (live ? column0 : 0));
  __pipeline_wait_prior(0);
  __syncwarp();
#pragma unroll 1
  for (int e = 0; e < length; e += flight) {
    int4 part[flight];
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      const index_t column = mine.column[begin + min(e + f, length - 1)];
      part[f] = __ldg(reinterpret_cast<const int4*>(x + std::int64_t{column} * row_bytes));
    }
    const auto next = static_cast<unsigned>(left >> e);
#pragma unroll
    for (int f = 0; f < flight; ++f) {
      sum.add_product(mine.value[begin + min(e + f, length - 1)], part[f]);
      if ((next >> f & 1) != 0) finish(!closed && e + f + 1 == length);
    }
  }
  __syncwarp();

  // What is open at the end of each group: of its own row, and of groups in front of it where none of its rows ended.
  lane_sums<T> carry;
  if (length > 0 && !closed) memcpy(carry.of, &kept[1][threadIdx.x], 16);
  bool goes_on = length == 0 || (!closed && row == first_row);
#pragma unroll
  for (int d = Across; d < 32; d *= 2) {
    const lane_sums<T> earlier = carry.of_lanes_before(d);
    const bool earlier_goes_on = __shfl_up_sync(full_warp, goes_on ? 1 : 0, static_cast<unsigned>(d)) != 0;
    if (lane_id() < d || !goes_on) continue;
    carry.add_before(earlier);
    goes_on = earlier_goes_on;
  }
  const lane_sums<T> before_mine = carry.of_lanes_before(Across);
  if (!live) return;
  if (open && row != first_row) {
    lane_sums<T> head;
    memcpy(head.of, &kept[0][threadIdx.x], 16);
    head.add_before(before_mine);
    rows.put(first_row, column0, head);
  }
  if (group == groups - 1 && is_cut) rows.put_tail(row, column0, carry);
}

}  // namespace tulle::cuda

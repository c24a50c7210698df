// What a thread block of a resident solver (resident.cuh) keeps: its block rows of the matrix, in shared memory and in
// registers, and the inverses of their diagonal blocks. A warp takes a block row, 32 / Block of its blocks at a time (a
// chunk): lane (slot, i) multiplies row i of block `slot`.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/solvers/block_inverse.cuh"
#include "cuda/solvers/old0/resident_plan.hpp"
#include "cuda/solvers/old0/resident_problem.hpp"
#include "cuda/solvers/old0/resident_support.hpp"

namespace tulle::cuda::old0 {

/// Of the first rows of a warp the first chunks are multiplied without a loop; those that take few registers stay
/// there.
inline constexpr int first_rows = 4, first_chunks = 3;
constexpr int kept_chunks(int registers) { return registers <= 8 ? 3 : registers <= 12 ? 2 : 1; }

template <int Block, class T>
class resident_part {
 protected:
  static constexpr int slots = 32 / Block;
  static constexpr int lanes = slots * Block;  // of a warp that work
  static constexpr int kept = kept_chunks(Block * static_cast<int>(sizeof(T)) / 4);
  static constexpr int groups = resident_groups;

  __device__ resident_part(const resident_problem<T>& a, unsigned char* shared)
      : a_(a),
        first_(a.row_begin[blockIdx.x]),
        rows_(a.row_begin[blockIdx.x + 1] - first_),
        own_(rows_ * Block),
        slot_(lane_id() / Block),
        i_(lane_id() % Block),
        lane_(min(lane_id(), lanes - 1)),
        warp_(static_cast<int>(threadIdx.x / 32)),
        warps_(static_cast<int>(blockDim.x / 32)),
        value_(reinterpret_cast<T*>(shared)) {
    const resident_layout at = layout(a);
    inverse_ = value_ + at.inverse;
    p_ = value_ + at.p;
    row_chunk_ = reinterpret_cast<std::int32_t*>(shared + at.row_chunk);
    column_ = reinterpret_cast<std::uint16_t*>(shared + at.column);
  }

  static constexpr int together = Block % 2 == 0 ? 2 : 1;  // values of a block's row
  struct alignas(together * sizeof(T)) values {
    T v[together];
  };

  static __device__ resident_layout layout(const resident_problem<T>& a) {
    return {Block, sizeof(T), static_cast<std::size_t>(a.most_rows), static_cast<std::size_t>(a.most_chunks),
            static_cast<std::size_t>(a.most_columns)};
  }
  /// Of value j of the row of a lane in a chunk.
  static __device__ int place(int chunk, int j, int lane) {
    return ((chunk * (Block / together) + j / together) * lanes + lane) * together + j % together;
  }
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ int threads() { return static_cast<int>(blockDim.x); }
  __device__ std::int64_t offset() const { return std::int64_t{first_} * Block; }

  /// Queues copies of the matrix and its pattern; numbers of blocks are read by whole warps, for several chunks at
  /// once.
  __device__ void begin_loading() {
    constexpr int several = 32 / slots;
    const int first_chunk = a_.chunk_begin[blockIdx.x], chunks = a_.chunk_begin[blockIdx.x + 1] - first_chunk;
    const std::int32_t* const source = a_.source + std::int64_t{first_chunk} * slots;
    const std::uint16_t* const column = a_.column + std::int64_t{first_chunk} * slots;
    const bool aligned = reinterpret_cast<std::uintptr_t>(a_.values) % sizeof(values) == 0;
#pragma unroll 2
    for (int first = warp_ * several; first < chunks; first += warps_ * several) {
      const int count = min(several, chunks - first);
      const std::int32_t blocks = lane_id() < count * slots ? source[first * slots + lane_id()] : -1;
#pragma unroll 1
      for (int c = 0; c < count; ++c) {
        const std::int32_t k = __shfl_sync(full_warp, blocks, (c * slots + slot_) % 32);
        if (lane_id() < lanes) copy_row(k, first + c, aligned);
      }
    }
    __pipeline_commit();
    for (int at = thread(); at < chunks * slots; at += threads()) column_[at] = column[at];
    const std::int32_t* const row_chunk = a_.row_chunk + first_ + static_cast<int>(blockIdx.x);
    for (int at = thread(); at <= rows_; at += threads()) row_chunk_[at] = row_chunk[at];
  }
  /// The lane's row of block k of the matrix, none below 0.
  __device__ __forceinline__ void copy_row(std::int32_t k, int chunk, bool aligned) const {
    const T* const from = a_.values + (std::int64_t{k} * Block + i_) * Block;
#pragma unroll
    for (int j = 0; j < Block; j += together) {
      T* const to = value_ + place(chunk, j, lane_id());
      if (k < 0) {
        *reinterpret_cast<values*>(to) = {};
      } else if (aligned) {
        __pipeline_memcpy_async(to, from + j, sizeof(values));
      } else {
        for (int u = 0; u < together; ++u) __pipeline_memcpy_async(to + u, from + j + u, sizeof(T));
      }
    }
  }
  __device__ void finish_loading() const {
    __pipeline_wait_prior(0);
    __syncwarp();
    __syncthreads();
  }

  /// A scalar row whose diagonal is not positive, or begins a block that is not; read behind the first exchange.
  __device__ void name_bad(int row) const {
    atomicMin(a_.first_bad, static_cast<unsigned long long>(offset() + row));
    __threadfence();
  }
  /// Calls f(group) for the rows of the part, by whole warps: slot k has row k of the `slots` that its warp multiplies
  /// together.
  template <class F>
  __device__ __forceinline__ void for_groups(F f) const {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if (warp_ + g * slots * warps_ < rows_) f(g);
    }
  }
  __device__ __forceinline__ int row_of(int group) const { return warp_ + (group * slots + slot_) * warps_; }
  __device__ __forceinline__ bool has(int row) const { return lane_id() < lanes && row < rows_; }

  __device__ bool invert_diagonal() {
    bool all = true;
#pragma unroll 1
    for (int g = 0; warp_ + g * slots * warps_ < rows_; ++g) {
      const int row = row_of(g);
      const bool active = has(row);
      const std::int32_t at = active ? a_.diagonal[first_ + row] : -1;
      double part[Block], of_lane = 0;  // of the diagonal
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const bool kept = a_.preconditioner == preconditioner_kind::block_jacobi || i_ == j;
        part[j] = !kept ? 0 : i_ == j ? 1 : 0;
        if (at >= 0 && kept && a_.preconditioner != preconditioner_kind::none)
          part[j] = a_.values[(std::int64_t{at} * Block + i_) * Block + j];
        of_lane += at >= 0 && i_ == j ? part[j] : 0;
      }
      bool numbers = true;  // what has a NaN is left to the iteration, which finds it
#pragma unroll
      for (int j = 0; j < Block; ++j) numbers = numbers && part[j] == part[j];
      const unsigned with_numbers = __ballot_sync(full_warp, numbers);
      const bool inverted = invert_block<Block>(part, slot_ * Block % 32, i_);
      if (!active) continue;
      const unsigned mine = ((1u << Block) - 1) << (slot_ * Block);
      const bool there = at >= 0 || a_.preconditioner == preconditioner_kind::none;
      const bool positive = (inverted && there) || (with_numbers & mine) != mine;
      all = all && positive;
#pragma unroll
      for (int j = 0; j < Block; ++j)
        inverse_[(row * Block + j) * Block + i_] = positive ? static_cast<T>(part[j]) : static_cast<T>(i_ == j);
      const bool entry = a_.preconditioner == preconditioner_kind::jacobi;
      if (!positive && (!entry || !(of_lane > 0))) name_bad(row * Block + (entry ? i_ : 0));
    }
    return all;
  }

  /// Where the vector is that a chunk's block of the lane is multiplied with.
  __device__ __forceinline__ int column_of(int chunk) const { return column_[chunk * slots + lane_ / Block] * Block; }
  /// Row of the lane in its block of a chunk.
  struct block_row {
    values v[Block / together];

    __device__ __forceinline__ T times(const T* vector) const {
      const values* const from = reinterpret_cast<const values*>(vector);
      T sum{0};
#pragma unroll
      for (int j = 0; j < Block / together; ++j) {
        const values b = from[j];
#pragma unroll
        for (int u = 0; u < together; ++u) sum = fma(v[j].v[u], b.v[u], sum);
      }
      return sum;
    }
  };
  __device__ __forceinline__ block_row row_in(int chunk) const {
    const values* const from = reinterpret_cast<const values*>(value_ + place(chunk, 0, lane_));
    block_row row;
#pragma unroll
    for (int j = 0; j < Block / together; ++j) row.v[j] = from[j * lanes];
    return row;
  }
  __device__ __forceinline__ T product(int chunk) const { return row_in(chunk).times(p_ + column_of(chunk)); }
  /// Chunks that are not there are zero.
  __device__ __forceinline__ void keep_chunks() {
#pragma unroll
    for (int k = 0; k < first_rows; ++k) {
      const int row = warp_ + k * warps_;
      begin_[k] = row < rows_ ? row_chunk_[row] : 0;
      end_[k] = row < rows_ ? row_chunk_[row + 1] : 0;
#pragma unroll
      for (int c = 0; c < first_chunks; ++c) {
        const bool there = begin_[k] + c < end_[k];
        if (c < kept) kept_[k][c] = there ? row_in(begin_[k] + c) : block_row{};
        from_[k][c] = there ? column_of(begin_[k] + c) : 0;
      }
    }
  }
  __device__ __forceinline__ T first_product(int k, int c) const {
    if (c < kept) return kept_[k][c].times(p_ + from_[k][c]);
    const bool there = begin_[k] + c < end_[k];
    const T product = row_in(there ? begin_[k] + c : 0).times(p_ + from_[k][c]);
    return there ? product : T{0};
  }
  /// Over the slots, in every lane.
  __device__ __forceinline__ T add_slots(T sum) const {
    if constexpr (32 % Block == 0) {
#pragma unroll
      for (int d = 16; d >= Block; d /= 2) sum += __shfl_xor_sync(full_warp, sum, d);
      return sum;
    } else {
      T total = __shfl_sync(full_warp, sum, i_);
#pragma unroll
      for (int s = 1; s < slots; ++s) total += __shfl_sync(full_warp, sum, s * Block + i_);
      return total;
    }
  }
  /// A p in the rows of a group: slot k has row k.
  __device__ __forceinline__ T multiply(int group) const {
    T mine{0};
    int k = 0;
    if (group == 0) {
      T sum[first_rows];
#pragma unroll
      for (k = 0; k < first_rows; ++k) {
        sum[k] = first_product(k, 0);
#pragma unroll
        for (int c = 1; c < first_chunks; ++c) sum[k] += first_product(k, c);
      }
#pragma unroll
      for (k = 0; k < first_rows; ++k) {
#pragma unroll 1
        for (int c = begin_[k] + first_chunks; c < end_[k]; ++c) sum[k] += product(c);
      }
#pragma unroll
      for (k = 0; k < first_rows; ++k) {
        const T of_row = add_slots(sum[k]);
        if (slot_ == k) mine = of_row;
      }
    }
#pragma unroll 1
    for (; k < slots; ++k) {
      const int row = warp_ + (group * slots + k) * warps_;
      if (row >= rows_) break;
      T sum{0};
#pragma unroll 1
      for (int c = row_chunk_[row]; c < row_chunk_[row + 1]; ++c) sum += product(c);
      const T of_row = add_slots(sum);
      if (slot_ == k) mine = of_row;
    }
    return mine;
  }
  /// M^-1 v in a row.
  __device__ __forceinline__ T precondition(int row, T v) const {
    const T* const inverse = inverse_ + min(row, rows_ - 1) * Block * Block + i_;
    T z{0};
#pragma unroll
    for (int j = 0; j < Block; ++j) z = fma(inverse[j * Block], __shfl_sync(full_warp, v, (slot_ * Block + j) % 32), z);
    return z;
  }

  const resident_problem<T>& a_;
  int first_, rows_, own_, slot_, i_, lane_, warp_, warps_;
  T *value_, *inverse_;
  T* p_;  // a vector in all rows that the part reads

 private:
  std::int32_t* row_chunk_;
  std::uint16_t* column_;
  block_row kept_[first_rows][kept];
  int from_[first_rows][first_chunks];
  int begin_[first_rows], end_[first_rows];  // chunks
};

}  // namespace tulle::cuda

// What a thread block of a resident solver (resident.cuh) keeps: its block rows of the matrix as they are in memory, in
// shared memory and the first in registers, and the inverses of their diagonal blocks. `width` lanes take a block row,
// each of them whole blocks, so that a value of the vector is read once for a block; then they add up what they have so
// that each keeps one row.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/solvers/block_inverse.cuh"
#include "cuda/solvers/resident_lanes.cuh"
#include "cuda/solvers/resident_plan.hpp"
#include "cuda/solvers/resident_problem.hpp"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Blocks of a lane that stay in registers, of so many registers each.
__host__ __device__ constexpr int kept_blocks(int block, int registers) {
  const int fit = 80 / registers;
  const int most = block == 1 ? 8 : 3;
  return fit < 1 ? 1 : fit > most ? most : fit;
}
/// Values of 16 bytes at most that are read together.
__host__ __device__ constexpr int read_together(int count, int bytes) {
  return bytes == 4 && count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
}

template <int Block, class T, int Trial>
class resident_part {
 protected:
  static constexpr int width = resident_width(Block);  // lanes of a block row
  static constexpr int slots = 32 / width;             // block rows of a warp
  static constexpr int size = Block * Block;
  static constexpr int kept = kept_blocks(Block, size * static_cast<int>(sizeof(T)) / 4);
  static constexpr int warps = resident_threads / 32;
  static constexpr int at_once = warps * slots;  // rows

  __device__ resident_part(const resident_problem<T>& a, unsigned char* shared)
      : a_(a),
        place_(a.place[blockIdx.x]),
        end_place_(a.place[blockIdx.x + 1]),
        rows_(end_place_.row - place_.row),
        slot_(lane_id() / width),
        warp_(static_cast<int>(threadIdx.x / 32)),
        value_(reinterpret_cast<T*>(shared)) {
    const int row = row_of_lane(Block, width, lane_id() % width);
    owns_ = row >= 0;
    i_ = owns_ ? row : 0;
    const resident_layout at = layout(a);
    inverse_ = value_ + at.inverse;
    p_ = value_ + at.p;
    later_ = reinterpret_cast<lane_values*>(value_ + at.later);
    const resident_pattern pattern{rows_, end_place_.block - place_.block};
    row_ = reinterpret_cast<std::int32_t*>(shared + at.pattern);
    diagonal_ = row_ + pattern.diagonal();
    column_ = reinterpret_cast<std::uint16_t*>(row_ + pattern.column());
    push_ = pattern.push();
  }

  /// Of a row of the lane: x, r = b - A x, z = M^-1 r, p, q = A p, M^-1 q.
  struct lane_values {
    T x, r, z, p, q, mq;
  };
  static_assert(sizeof(lane_values) == resident_layout::vectors * sizeof(T) &&
                resident_threads == resident_layout::threads);

  static __device__ resident_layout layout(const resident_problem<T>& a) {
    return {Block,
            sizeof(T),
            static_cast<std::size_t>(a.most_rows),
            static_cast<std::size_t>(a.most_blocks),
            static_cast<std::size_t>(a.most_columns),
            0};
  }
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  __device__ std::int64_t offset() const { return std::int64_t{place_.row} * Block; }

  /// Queues copies of the matrix and its pattern.
  __device__ void begin_loading() const {
    const int words = end_place_.pattern - place_.pattern;
    copy<16>(row_, a_.pattern + place_.pattern, words * static_cast<int>(sizeof(std::int32_t)));
    const T* const from = a_.values + std::int64_t{place_.block} * size;
    const int bytes = (end_place_.block - place_.block) * size * static_cast<int>(sizeof(T));
    if ((static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from)) | static_cast<unsigned>(bytes)) % 16 == 0) {
      copy<16>(value_, from, bytes);
    } else {
      copy<4>(value_, from, bytes);
    }
    __pipeline_commit();
  }
  template <int Granule>
  __device__ __forceinline__ void copy(void* to, const void* from, int bytes) const {
#pragma unroll 4
    for (int at = thread() * Granule; at < bytes; at += resident_threads * Granule)
      __pipeline_memcpy_async(static_cast<unsigned char*>(to) + at, static_cast<const unsigned char*>(from) + at,
                              Granule);
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
  __device__ __forceinline__ int row_of(int pass) const { return warp_ + (pass * slots + slot_) * warps; }
  __device__ __forceinline__ bool has(int row) const { return owns_ && row < rows_; }
  /// Calls f(values, pass) for the rows of the part, by whole warps.
  template <class F>
  __device__ __forceinline__ void for_passes(F f) {
    if (warp_ < rows_) f(mine_, 0);
#pragma unroll 1
    for (int pass = 1; warp_ + pass * at_once < rows_; ++pass)
      f(later_[(pass - 1) * resident_threads + thread()], pass);
  }

  /// Value v of row j, in the lanes of the block row.
  template <class V>
  __device__ __forceinline__ V of_row(V v, int j) const {
    return __shfl_sync(full_warp, v, slot_ * width + resident_lanes<Block>::of_row(j));
  }
  __device__ bool invert_diagonal() {
    bool all = true;
#pragma unroll 1
    for (int pass = 0; warp_ + pass * at_once < rows_; ++pass) {
      const int row = row_of(pass);
      const bool active = has(row);
      const std::int32_t at = active ? diagonal_[row] : -1;
      const bool known = at >= 0 && a_.preconditioner != preconditioner_kind::none;
      const T* const from = value_ + at * size + i_ * Block;
      const double of_lane = at >= 0 ? static_cast<double>(from[i_]) : 0;  // of the diagonal
      double part[Block];
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const bool kept_value = a_.preconditioner == preconditioner_kind::block_jacobi || i_ == j;
        part[j] = i_ == j ? 1 : 0;
        if (known && kept_value) part[j] = static_cast<double>(from[j]);
      }
      bool numbers = true;  // what has a NaN is left to the iteration, which finds it
#pragma unroll
      for (int j = 0; j < Block; ++j) numbers = numbers && part[j] == part[j];
      const unsigned without = __ballot_sync(full_warp, !numbers);
      const bool inverted = invert_block(part);
      if (!active) continue;
      const unsigned mine = (width == 32 ? ~0u : (1u << width) - 1) << (slot_ * width);
      const bool there = at >= 0 || a_.preconditioner == preconditioner_kind::none;
      const bool positive = (inverted && there) || (without & mine) != 0;
      all = all && positive;
#pragma unroll
      for (int j = 0; j < Block; ++j)
        inverse_[(row * Block + i_) * Block + j] = positive ? static_cast<T>(part[j]) : static_cast<T>(i_ == j);
      const bool entry = a_.preconditioner == preconditioner_kind::jacobi;
      if (!positive && (!entry || !(of_lane > 0))) name_bad(row * Block + (entry ? i_ : 0));
    }
    return all;
  }
  /// Gauss-Jordan, in f64, columns going round so that the loop is short (block_inverse.cuh).
  __device__ __forceinline__ bool invert_block(double (&row)[Block]) const {
    bool positive = true;
#pragma unroll 1
    for (int k = 0; k < Block; ++k) {
      const double pivot = of_row(row[0], k);
      positive = positive && pivot > 0;
      const double inverse = reciprocal(pivot);
      const double factor = row[0];
#pragma unroll
      for (int j = 1; j < Block; ++j) {
        const double scaled = of_row(row[j], k) * inverse;
        row[j - 1] = i_ == k ? scaled : fma(-factor, scaled, row[j]);
      }
      row[Block - 1] = i_ == k ? inverse : -factor * inverse;
    }
    return positive;
  }

  /// `Count` values, read by 16 bytes where they may.
  template <int Count>
  static __device__ __forceinline__ void read(const T* from, T (&to)[Count]) {
    constexpr int together = read_together(Count, sizeof(T));
    struct alignas(together * sizeof(T)) several {
      T v[together];
    };
#pragma unroll
    for (int j = 0; j < Count / together; ++j) {
      const several s = reinterpret_cast<const several*>(from)[j];
#pragma unroll
      for (int u = 0; u < together; ++u) to[j * together + u] = s.v[u];
    }
  }
  static __device__ __forceinline__ void add_product(const T (&m)[size], const T (&v)[Block], T (&sum)[Block]) {
#pragma unroll
    for (int j = 0; j < Block; ++j) {
#pragma unroll
      for (int r = 0; r < Block; ++r) sum[r] = fma(m[r * Block + j], v[j], sum[r]);
    }
  }
  /// Blocks that are not there are zero, and read the row's own part of the vector.
  __device__ __forceinline__ void keep_blocks() {
    const int row = row_of(0);
    const bool there = row < rows_;
    begin_ = there ? row_[row] + lane_id() % width : 0;
    end_ = there ? row_[row + 1] : 0;
    chunks_ = warp_max(max(end_ - begin_ + width - 1, 0) / width);
#pragma unroll
    for (int c = 0; c < kept; ++c) {
      const int k = begin_ + c * width;
      const bool kept_one = k < end_;
      from_[c] = kept_one ? column_[k] * Block : there ? row * Block : 0;
#pragma unroll
      for (int e = 0; e < size; ++e) kept_[c][e] = T{0};
      if (kept_one) read(value_ + k * size, kept_[c]);
    }
#pragma unroll
    for (int j = 0; j < Block; ++j) inverse_row_[j] = there ? inverse_[(row * Block + i_) * Block + j] : T{0};
  }
  /// Of every row the sum over the lanes of its block row, in the lane that has the row (row_of_lane).
  template <int Count, int Distance>
  static __device__ __forceinline__ T add_lanes(const T (&v)[Count]) {
    if constexpr (Distance == 0) {
      return v[0];
    } else {
      constexpr int half = (Count + 1) / 2;
      const bool upper = (threadIdx.x & Distance) != 0;
      T w[half];
#pragma unroll
      for (int j = 0; j < half; ++j) {
        const T high = half + j < Count ? v[half + j < Count ? half + j : 0] : T{0};
        w[j] = (upper ? high : v[j]) + __shfl_xor_sync(full_warp, upper ? v[j] : high, Distance);
      }
      return add_lanes<half, Distance / 2>(w);
    }
  }
  /// A p in the rows of a pass.
  __device__ __forceinline__ T multiply(int pass) const {
    T sum[Block], v[Block];
#pragma unroll
    for (int r = 0; r < Block; ++r) sum[r] = T{0};
    if constexpr ((Trial & 4) != 0) {
      return p_[i_];
    }
    int k = begin_ + kept * width, end = end_;
    if (pass == 0) {
#pragma unroll
      for (int c = 0; c < kept; ++c) {
        if (c > 0 && c >= chunks_) break;
        read(p_ + from_[c], v);
        add_product(kept_[c], v, sum);
      }
    } else {
      const int row = row_of(pass);
      k = row < rows_ ? row_[row] + lane_id() % width : 0;
      end = row < rows_ ? row_[row + 1] : 0;
    }
#pragma unroll 1
    for (; k < end; k += width) {
      read(p_ + column_[k] * Block, v);
      T m[size];
      read(value_ + k * size, m);
      add_product(m, v, sum);
    }
    __syncwarp();
    return add_lanes<Block, width / 2>(sum);
  }
  /// M^-1 v in the rows of a pass.
  __device__ __forceinline__ T precondition(int pass, T v) const {
    if constexpr ((Trial & 4) != 0) return v;
    T inverse[Block], z{0};
#pragma unroll
    for (int j = 0; j < Block; ++j) inverse[j] = inverse_row_[j];
    if (pass > 0) read(inverse_ + (min(row_of(pass), rows_ - 1) * Block + i_) * Block, inverse);
#pragma unroll
    for (int j = 0; j < Block; ++j) z = fma(inverse[j], of_row(v, j), z);
    return z;
  }

  const resident_problem<T>& a_;
  resident_place place_, end_place_;
  int rows_, slot_, i_, warp_;
  bool owns_;  // the lane has a row
  T *value_, *inverse_;
  T* p_;  // a vector in all rows that the part reads
  int push_;           // resident_pattern::push
  std::int32_t* row_;  // and the pattern
  lane_values mine_;

 private:
  lane_values* later_;  // of the passes behind the first
  std::int32_t* diagonal_;
  std::uint16_t* column_;
  T kept_[kept][size];
  T inverse_row_[Block];
  int from_[kept];
  int begin_, end_, chunks_;  // of the first pass: the lane's first block, the row's end, blocks of a lane at most
};

}  // namespace tulle::cuda

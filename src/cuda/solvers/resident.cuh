// Conjugate gradients in one launch: every thread block keeps its block rows of the matrix, their inverse diagonal
// blocks and its part of the vectors in shared memory over the whole solve (Hestenes, Stiefel, 1952; persistent
// kernels: Zhang, Wahib, Zhang, Matsuoka, PERKS, ICS 2023). The sums of an iteration are taken together, behind the
// product, as beta is predicted from them and r.z itself is taken again with the next ones (Meurant, 1987; Chen, Carson,
// SISC 2020): r.z of the next residual is alpha^2 q.M^-1 q - r.z, and its z is z - alpha M^-1 q until it is M^-1 r, anew,
// while p is under way. So blocks
// wait twice: for p of the rows that they read, and for the sums. r is computed anew when it has arrived, so that f32
// loses nothing; sums are f64. A warp takes a block row, 32 / Block of its blocks at a time: lane (slot, i) multiplies
// row i of block `slot`; slot k of a warp then keeps the vectors of its row k. Bytes per iteration from memory: none;
// from L2 the vector values of other blocks' rows. What costs is the number of instructions: 16 warps share 4 schedulers,
// so vectors and most of the matrix stay in registers, and a warp each takes one of the four sums.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/solvers/block_inverse.cuh"
#include "cuda/solvers/resident_plan.hpp"
#include "cuda/solvers/resident_problem.hpp"
#include "cuda/solvers/resident_sums.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of the recursive residual, so that a little drift leaves the true one below the target as well.
inline constexpr double resident_share = 0.999;

/// Of the first rows of a warp the first chunks are multiplied without a loop; those that take few registers stay there.
inline constexpr int first_rows = 4, first_chunks = 3;
constexpr int kept_chunks(int registers) { return registers <= 8 ? 3 : registers <= 12 ? 2 : 1; }

template <int Block, class T, class Exchange>
class resident_solver {
 public:
  static constexpr int slots = 32 / Block;
  static constexpr int lanes = slots * Block;  // of a warp that work
  static constexpr int kept = kept_chunks(Block * static_cast<int>(sizeof(T)) / 4);
  static constexpr int groups = resident_groups;

  __device__ resident_solver(const resident_problem<T>& a, const typename Exchange::memory& memory,
                             resident_scratch& scratch, unsigned char* shared)
      : a_(a),
        scratch_(scratch),
        first_(a.row_begin[blockIdx.x]),
        rows_(a.row_begin[blockIdx.x + 1] - first_),
        own_(rows_ * Block),
        slot_(lane_id() / Block),
        i_(lane_id() % Block),
        lane_(min(lane_id(), lanes - 1)),
        warp_(static_cast<int>(threadIdx.x / 32)),
        warps_(static_cast<int>(blockDim.x / 32)),
        value_(reinterpret_cast<T*>(shared)),
        exchange_(memory, a.outer + a.outer_begin[blockIdx.x],
                  a.outer_begin[blockIdx.x + 1] - a.outer_begin[blockIdx.x], first_, own_, value_ + layout(a).p,
                  i_) {
    const resident_layout at = layout(a);
    inverse_ = value_ + at.inverse;
    p_ = value_ + at.p;
    row_chunk_ = reinterpret_cast<std::int32_t*>(shared + at.row_chunk);
    column_ = reinterpret_cast<std::uint16_t*>(shared + at.column);
  }

  /// One loop for b - A x itself and for directions, so that there is little code to be read.
  __device__ void run() {
    for_groups([&](int g) {
      const int row = row_of(g);
      mine_[g].b = has(row) ? a_.b[offset() + row * Block + i_] : T{0};
      mine_[g].x = has(row) && !a_.zero_guess ? a_.x[offset() + row * Block + i_] : T{0};
    });
    begin_loading();
    const bool positive = invert_diagonal();
    finish_loading();
    keep_chunks();
    if (!positive) share_.rz = __longlong_as_double(static_cast<long long>(0xfff0000000000000ull));
    status code = status::not_converged;
    bool first = true, anew = true, failed = false, going_on = false;  // going on: the direction is kept
    int iterations = 0, since = 0;
    double rhs = 0, residual = 0, target = 0, near = 0, beta = 0;
    std::int64_t bad_row = -1;
    for (;;) {
      if (anew && !(first && a_.zero_guess)) tell_x();
      const resident_sums s = multiply_and_add(anew, first && a_.zero_guess);
      if (anew) {
        if (first) {
          rhs = sqrt(s.pq);
          target = fmax(a_.rtol * rhs, a_.atol);
          near = resident_share * target * (resident_share * target);  // of r.r
        }
        residual = first && rhs == 0 ? 0 : sqrt(s.rr);
        note(iterations, residual * residual);
        if (!finite(residual) || !finite(rhs)) {
          code = status::not_finite;
          break;
        }
        if (failed) break;
        code = residual <= target ? status::success : status::not_converged;
        if (code == status::success || iterations >= a_.max_iterations) break;
        if (const status bad = judge(s.rz); bad != status::success) {
          code = bad;
          if (bad == status::indefinite)
            bad_row = static_cast<std::int64_t>(*static_cast<volatile unsigned long long*>(a_.first_bad));
          break;
        }
        turn(going_on ? beta : 0);
        first = anew = going_on = false;
        since = 0;
        continue;
      }
      if (since++ > 0) {
        note(iterations, s.rr);
        anew = finite(s.rr) && s.rr <= near;
        if (anew) continue;
        if (const status bad = finite(s.rr) ? judge(s.rz) : status::not_finite; bad != status::success) {
          code = bad;
          anew = failed = true;
          continue;
        }
      }
      const double of_rz = reciprocal(s.rz);
      ++iterations;
      const double alpha = s.rz * reciprocal(s.pq);
      if (!finite(s.pq) || s.pq <= 0 || !finite(alpha)) {
        code = !finite(s.pq) ? status::not_finite : s.pq <= 0 ? status::indefinite : status::breakdown;
        anew = failed = true;
        continue;
      }
      beta = fmax(fma(alpha, alpha * s.qq, -s.rz), 0.0) * of_rz;
      going_on = a_.replace_interval > 0 && since >= a_.replace_interval;
      anew = going_on || iterations >= a_.max_iterations;
      step(alpha, beta, !anew);
    }
    for_groups([&](int g) {
      const int row = row_of(g);
      if (has(row)) a_.x[offset() + row * Block + i_] = rhs == 0 ? T{0} : mine_[g].x;
    });
    if (Exchange::part() == 0 && thread() == 0) {
      *a_.record = {static_cast<std::int32_t>(code), iterations, residual, rhs, bad_row};
      *a_.first_bad = ~0ull;
    }
    exchange_.end();
  }

 private:
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
  static __device__ bool finite(double v) { return v - v == 0; }
  /// Minus infinity is what a block that is not positive definite adds.
  static __device__ status judge(double rz) {
    if (rz < -1.7e308) return status::indefinite;
    return !finite(rz) ? status::not_finite : rz <= 0 ? status::breakdown : status::success;
  }
  __device__ std::int64_t offset() const { return std::int64_t{first_} * Block; }
  __device__ void note(int iteration, double rr) const {
    if (a_.history != nullptr && Exchange::part() == 0 && thread() == 0) a_.history[iteration] = sqrt(rr);
  }

  /// Queues copies of the matrix and its pattern; numbers of blocks are read by whole warps, for several chunks at once.
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
    const std::int32_t* const row_chunk = a_.row_chunk + first_ + Exchange::part();
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
  /// Of rows First and First + 1, in their slots.
  template <int First>
  __device__ __forceinline__ void first_products(T& mine) const {
    T sum[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      sum[k] = first_product(First + k, 0);
#pragma unroll
      for (int c = 1; c < first_chunks; ++c) sum[k] += first_product(First + k, c);
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
#pragma unroll 1
      for (int c = begin_[First + k] + first_chunks; c < end_[First + k]; ++c) sum[k] += product(c);
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const T of_row = add_slots(sum[k]);
      if (slot_ == First + k) mine = of_row;
    }
  }
  /// A p in the rows of a group: slot k has row k.
  __device__ __forceinline__ T multiply(int group) const {
    T mine{0};
    int k = 0;
    if (group == 0) {
      first_products<0>(mine);
      if (warp_ + 2 * warps_ < rows_) first_products<2>(mine);
      k = first_rows;
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
    for (int j = 0; j < Block; ++j)
      z = fma(inverse[j * Block], __shfl_sync(full_warp, v, (slot_ * Block + j) % 32), z);
    return z;
  }

  __device__ __forceinline__ void share_residual(T r, T z) {
    share_.rz = fma(static_cast<double>(r), static_cast<double>(z), share_.rz);
    share_.rr = fma(static_cast<double>(r), static_cast<double>(r), share_.rr);
  }
  /// Over the whole part and over all, in every thread; lanes that have no row have no share.
  __device__ __forceinline__ resident_sums add_shares() {
    const int row = row_of(0);
    if (has(row)) scratch_.put(row * Block + i_, share_);
    share_ = {0, 0, 0, 0};
    __syncwarp();
    __syncthreads();
    if (warp_ < resident_sums::count) {
      const double sum = scratch_.add(warp_, min(own_, warps_ * slots * Block));
      const double all = exchange_.add(warp_, sum);
      if (lane_id() == 0) scratch_.all[warp_] = all;
    } else {
      exchange_.skip();
    }
    __syncwarp();
    __syncthreads();
    return {scratch_.all[0], scratch_.all[1], scratch_.all[2], scratch_.all[3]};
  }

  __device__ void tell_x() {
    exchange_.begin_vector();
    for_groups([&](int g) { tell(g, mine_[g].x); });
  }
  __device__ __forceinline__ void tell(int g, T value) {
    const int row = row_of(g);
    exchange_.tell(row, has(row), value);
    if (has(row)) p_[row * Block + i_] = value;
  }
  /// With what was told: q = A p and M^-1 q, or, anew, r = b - A x and z = M^-1 r. All sums; b.b as p.q.
  __device__ __forceinline__ resident_sums multiply_and_add(bool anew, bool of_zero) {
    if (!of_zero) exchange_.take();
    for_groups([&](int g) {
      lane_values& v = mine_[g];
      const T product = of_zero ? T{0} : multiply(g);
      const T kept_value = anew ? v.b - product : product;
      const T m = precondition(row_of(g), kept_value);
      (anew ? v.r : v.q) = kept_value;
      (anew ? v.z : v.mq) = m;
      if (!has(row_of(g))) return;
      const auto wide = static_cast<double>(anew ? v.b : kept_value);
      share_.pq = fma(static_cast<double>(anew ? v.b : v.p), wide, share_.pq);
      if (anew) {
        share_residual(kept_value, m);
      } else {
        share_.qq = fma(static_cast<double>(m), wide, share_.qq);
      }
    });
    return add_shares();
  }

  /// p = z + beta p, which is told.
  __device__ void turn(double beta) {
    exchange_.begin_vector();
    for_groups([&](int g) {
      lane_values& v = mine_[g];
      v.p = beta == 0 ? v.z : fma(static_cast<T>(beta), v.p, v.z);
      tell(g, v.p);
      if (has(row_of(g))) share_residual(v.r, v.z);
    });
  }
  /// x += alpha p; unless r will be taken anew, p = z - alpha M^-1 q + beta p, which is told, r -= alpha q, and z = M^-1 r,
  /// which does not drift.
  __device__ void step(double alpha, double beta, bool all) {
    const T along = static_cast<T>(alpha), turned = static_cast<T>(beta);
    if (all) exchange_.begin_vector();
    for_groups([&](int g) {
      lane_values& v = mine_[g];
      const T before = v.p;
      if (all) {
        v.p = fma(turned, before, fma(-along, v.mq, v.z));
        tell(g, v.p);
        v.r = fma(-along, v.q, v.r);
        v.z = precondition(row_of(g), v.r);
        if (has(row_of(g))) share_residual(v.r, v.z);
      }
      v.x = fma(along, before, v.x);
    });
  }

  struct lane_values {
    T b, x, r, z, p, q, mq;
  };

  const resident_problem<T>& a_;
  resident_scratch& scratch_;
  int first_, rows_, own_, slot_, i_, lane_, warp_, warps_;
  T *value_, *inverse_, *p_;
  std::int32_t* row_chunk_;
  std::uint16_t* column_;
  Exchange exchange_;
  resident_sums share_{0, 0, 0, 0};
  lane_values mine_[groups];
  block_row kept_[first_rows][kept];
  int from_[first_rows][first_chunks];
  int begin_[first_rows], end_[first_rows];  // chunks
};

template <int Block, class T, template <class, int> class Exchange>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_problem<T> a,
                    const __grid_constant__ typename Exchange<T, Block>::memory memory) {
  extern __shared__ __align__(16) unsigned char resident_shared[];
  __shared__ resident_scratch scratch;
  resident_solver<Block, T, Exchange<T, Block>>(a, memory, scratch, resident_shared).run();
}

}  // namespace tulle::cuda

// Conjugate gradients in one launch: every thread block keeps its block rows of the matrix, their inverse diagonal
// blocks and its part of the vectors in shared memory over the whole solve (Hestenes, Stiefel, 1952; persistent
// kernels: Zhang, Wahib, Zhang, Matsuoka, PERKS, ICS 2023). Two exchanges an iteration: z = M^-1 r with r.z and r.r,
// and p.Ap. What is told is z, not p: each block makes p = z + beta p itself for all rows that it reads, so that nobody
// waits for p once beta is known. The recurrences are those of the classical method and r is computed anew from time to
// time, so that f32 loses nothing; sums are f64. A warp takes a block row, 32 / Block of its blocks at a time: lane
// (slot, i) multiplies row i of block `slot`. Bytes per iteration from memory: none; from L2 the vector values of other
// blocks' rows.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/solvers/block_inverse.cuh"
#include "cuda/solvers/resident_exchange.cuh"
#include "cuda/solvers/resident_plan.hpp"
#include "cuda/solvers/resident_problem.hpp"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of the recursive residual, so that a little drift leaves the true one below the target as well.
inline constexpr double resident_share = 0.999;

template <int Block, class T, class Exchange>
class resident_solver {
 public:
  static constexpr int slots = 32 / Block;
  static constexpr int lanes = slots * Block;  // of a warp that work

  __device__ resident_solver(const resident_problem<T>& a, const typename Exchange::memory& memory,
                             exchange_scratch& scratch, unsigned char* shared)
      : a_(a),
        scratch_(scratch),
        first_(a.row_begin[blockIdx.x]),
        rows_(a.row_begin[blockIdx.x + 1] - first_),
        outer_rows_(a.outer_begin[blockIdx.x + 1] - a.outer_begin[blockIdx.x]),
        own_(rows_ * Block),
        slot_(lane_id() / Block),
        i_(lane_id() % Block),
        lane_(min(lane_id(), lanes - 1)),
        warp_(static_cast<int>(threadIdx.x / 32)),
        warps_(static_cast<int>(blockDim.x / 32)),
        value_(reinterpret_cast<T*>(shared)),
        exchange_(memory, a.outer + a.outer_begin[blockIdx.x], outer_rows_, first_, value_ + layout(a).published,
                  static_cast<int>(resident_layout::padded(static_cast<std::size_t>(a.most_rows * Block)))) {
    const resident_layout at = layout(a);
    inverse_ = value_ + at.inverse;
    p_ = value_ + at.p;
    z_ = value_ + at.z;
    x_ = value_ + at.x;
    r_ = value_ + at.r;
    q_ = value_ + at.q;
    row_chunk_ = reinterpret_cast<std::int32_t*>(shared + at.row_chunk);
    column_ = reinterpret_cast<std::uint16_t*>(shared + at.column);
  }

  __device__ void run() {
    load_matrix();
    const bool positive = invert_diagonal();
    double bb = 0;
    for (int at = thread(); at < own_; at += threads()) {
      const double b = a_.b[offset() + at];
      bb = fma(b, b, bb);
      x_[at] = a_.zero_guess ? T{0} : a_.x[offset() + at];
    }
    double2 sums;
    double rhs;
    if (a_.zero_guess) {
      for (int at = thread(); at < own_; at += threads()) r_[at] = a_.b[offset() + at];
      __syncwarp();
      __syncthreads();
      sums = precondition([](int) {}, positive);
      rhs = sqrt(sums.y);
    } else {
      rhs = sqrt(tell_x(bb, 0).x);
      if (rhs == 0) forget_guess();
      sums = new_residual(positive);
    }
    const double target = fmax(a_.rtol * rhs, a_.atol);
    const double near = resident_share * target * (resident_share * target);  // of r.r
    status code = status::not_converged;
    bool failed = false;
    int iterations = 0;
    double residual = 0, rz = 0, beta = 0;
    bool going_on = false;  // the direction is kept
    for (bool first = true;; first = false) {
      if (!first) {
        tell_x(0, 0);
        sums = new_residual(true);
      }
      residual = sqrt(sums.y);
      if (first) note(0, sums.y);
      if (!finite(residual) || !finite(rhs)) {
        code = status::not_finite;
        break;
      }
      if (failed) break;
      code = residual <= target ? status::success : status::not_converged;
      if (code == status::success || iterations >= a_.max_iterations) break;
      if (const status bad = judge(sums.x); bad != status::success) {
        code = bad;
        break;
      }
      beta = going_on ? sums.x / rz : 0;
      rz = sums.x;
      going_on = false;
      for (int since = 1;; ++since) {
        turn(beta);
        const double pq = multiply_direction();
        const double of_rz = reciprocal(rz);
        ++iterations;
        const double alpha = rz * reciprocal(pq);
        if (!finite(pq) || pq <= 0 || !finite(alpha)) {
          code = !finite(pq) ? status::not_finite : pq <= 0 ? status::indefinite : status::breakdown;
          failed = true;
          break;
        }
        sums = step(alpha);
        note(iterations, sums.y);
        if (!finite(sums.y)) {
          code = status::not_finite;
          failed = true;
          break;
        }
        if (sums.y <= near || iterations >= a_.max_iterations) break;
        if (const status bad = judge(sums.x); bad != status::success) {
          code = bad;
          failed = true;
          break;
        }
        if (a_.replace_interval > 0 && since >= a_.replace_interval) {
          going_on = true;
          break;
        }
        beta = sums.x * of_rz;
        rz = sums.x;
      }
    }
    for (int at = thread(); at < own_; at += threads()) a_.x[offset() + at] = x_[at];
    if (Exchange::part() == 0 && thread() == 0)
      *a_.record = {static_cast<std::int32_t>(code), iterations, residual, rhs};
    exchange_.end();
  }

 private:
  using values = typename pair_of<T, Block>::type;
  static constexpr int together = pair_of<T, Block>::size;  // values of a block's row

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

  __device__ void load_matrix() {
    const int first_chunk = a_.chunk_begin[blockIdx.x], chunks = a_.chunk_begin[blockIdx.x + 1] - first_chunk;
    const std::int32_t* const source = a_.source + std::int64_t{first_chunk} * slots;
    const std::uint16_t* const column = a_.column + std::int64_t{first_chunk} * slots;
    const bool aligned = reinterpret_cast<std::uintptr_t>(a_.values) % sizeof(values) == 0;
#pragma unroll 4
    for (int c = warp_; c < chunks; c += warps_) {
      if (lane_id() >= lanes) continue;
      const std::int32_t k = source[c * slots + slot_];
      const T* const from = a_.values + (std::int64_t{k} * Block + i_) * Block;
#pragma unroll
      for (int j = 0; j < Block; j += together) {
        T* const to = value_ + place(c, j, lane_id());
        if (k < 0) {
          *reinterpret_cast<values*>(to) = {};
        } else if (aligned) {
          __pipeline_memcpy_async(to, from + j, sizeof(values));
        } else {
          for (int u = 0; u < together; ++u) __pipeline_memcpy_async(to + u, from + j + u, sizeof(T));
        }
      }
    }
    __pipeline_commit();
    for (int at = thread(); at < chunks * slots; at += threads()) column_[at] = column[at];
    const std::int32_t* const row_chunk = a_.row_chunk + first_ + Exchange::part();
    for (int at = thread(); at <= rows_; at += threads()) row_chunk_[at] = row_chunk[at];
    __pipeline_wait_prior(0);
    __syncwarp();
    __syncthreads();
  }

  /// Calls f(row, active) for the rows of the part, in groups of `Block` lanes, by whole warps.
  template <class F>
  __device__ void for_rows(F f) const {
    for (int first = warp_ * slots; first < rows_; first += warps_ * slots) {
      const int row = first + slot_;
      f(row, lane_id() < lanes && row < rows_);
    }
  }

  __device__ bool invert_diagonal() {
    bool all = true;
    for_rows([&](int row, bool active) {
      const std::int32_t at = active ? a_.diagonal[first_ + row] : -1;
      double part[Block];
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const bool kept = a_.preconditioner == preconditioner_kind::block_jacobi || i_ == j;
        part[j] = !kept ? 0 : i_ == j ? 1 : 0;
        if (at >= 0 && kept && a_.preconditioner != preconditioner_kind::none)
          part[j] = value_[place(at / slots, j, at % slots * Block + i_)];
      }
      bool numbers = true;  // what has a NaN is left to the iteration, which finds it
#pragma unroll
      for (int j = 0; j < Block; ++j) numbers = numbers && part[j] == part[j];
      const unsigned with_numbers = __ballot_sync(full_warp, numbers);
      const bool inverted = invert_block<Block>(part, slot_ * Block % 32, i_);
      if (!active) return;
      const unsigned mine = ((1u << Block) - 1) << (slot_ * Block);
      const bool there = at >= 0 || a_.preconditioner == preconditioner_kind::none;
      const bool positive = (inverted && there) || (with_numbers & mine) != mine;
      all = all && positive;
#pragma unroll
      for (int j = 0; j < Block; ++j)
        inverse_[(row * Block + j) * Block + i_] = positive ? static_cast<T>(part[j]) : static_cast<T>(i_ == j);
    });
    return all;
  }

  /// The products of a chunk in the lane's row.
  __device__ __forceinline__ T product(int chunk, const T* v) const {
    const values* const from = reinterpret_cast<const values*>(v + column_[chunk * slots + lane_ / Block] * Block);
    const values* const value = reinterpret_cast<const values*>(value_ + place(chunk, 0, lane_));
    T sum{0};
#pragma unroll
    for (int j = 0; j < Block / together; ++j) {
      const values a = value[j * lanes], b = from[j];
#pragma unroll
      for (int u = 0; u < together; ++u) sum = fma(a.v[u], b.v[u], sum);
    }
    return sum;
  }
  /// Of all chunks of a row; the first three without waiting for each other.
  __device__ __forceinline__ T products(int row, const T* v) const {
    const int begin = row_chunk_[row], end = row_chunk_[row + 1];
    T sum{0};
    if (begin >= end) return sum;
    T part[3];
#pragma unroll
    for (int u = 0; u < 3; ++u) part[u] = product(min(begin + u, end - 1), v);
#pragma unroll
    for (int u = 0; u < 3; ++u) sum += begin + u < end ? part[u] : T{0};
    for (int c = begin + 3; c < end; ++c) sum += product(c, v);
    return sum;
  }
  /// Over the slots, in the first `Block` lanes.
  __device__ __forceinline__ T add_slots(T sum) const {
    if constexpr (32 % Block == 0) {
#pragma unroll
      for (int d = 16; d >= Block; d /= 2) sum += __shfl_xor_sync(full_warp, sum, d);
      return sum;
    } else {
      T total = sum;
#pragma unroll
      for (int s = 1; s < slots; ++s) total += __shfl_sync(full_warp, sum, (s * Block + i_) % 32);
      return total;
    }
  }
  /// Calls f(row, sum) for row i_ of the block rows of the warp, in the first `Block` lanes, with the products of v,
  /// which has a value for every column that the part reads. Two block rows at a time.
  template <class F>
  __device__ void multiply(const T* v, F f) const {
    for (int row = warp_; row < rows_; row += 2 * warps_) {
      const int other = row + warps_;
      const bool two = other < rows_;
      const T a = products(row, v), b = products(two ? other : row, v);
      const T first = add_slots(a), second = add_slots(b);
      if (lane_id() < Block) {
        f(row, first);
        if (two) f(other, second);
      }
    }
  }

  /// x of all rows that the part reads, in z_; and two sums.
  __device__ double2 tell_x(double a, double b) {
    exchange_.begin();
    for (int at = thread(); at < own_; at += threads()) {
      const T x = x_[at];
      exchange_.put(at / Block, at % Block, x);
      z_[at] = x;
    }
    return exchange_.finish(a, b, z_ + own_, scratch_);
  }

  /// x = 0, in z_ too, and all other parts do the same.
  __device__ void forget_guess() {
    __syncwarp();
    __syncthreads();
    for (int at = thread(); at < own_; at += threads()) x_[at] = T{0};
    for (int at = thread(); at < (rows_ + outer_rows_) * Block; at += threads()) z_[at] = T{0};
    __syncwarp();
    __syncthreads();
  }

  /// r = b - A x, where z_ is x.
  __device__ double2 new_residual(bool positive) {
    multiply(z_, [&](int row, T sum) { r_[row * Block + i_] = a_.b[offset() + row * Block + i_] - sum; });
    __syncwarp();
    __syncthreads();
    return precondition([](int) {}, positive);
  }

  /// p = z + beta p for all rows that the part reads.
  __device__ void turn(double beta) {
    struct alignas(16) several {
      T v[16 / sizeof(T)];
    };
    const T scale = static_cast<T>(beta);
    const int all = ((rows_ + outer_rows_) * Block * static_cast<int>(sizeof(T)) + 15) / 16;
    auto* const p = reinterpret_cast<several*>(p_);
    const auto* const z = reinterpret_cast<const several*>(z_);
    for (int at = thread(); at < all; at += threads()) {
      several next = z[at];
      if (beta != 0) {  // else p may hold anything yet
        const several before = p[at];
#pragma unroll
        for (int u = 0; u < static_cast<int>(16 / sizeof(T)); ++u) next.v[u] = fma(scale, before.v[u], next.v[u]);
      }
      p[at] = next;
    }
    __syncwarp();
    __syncthreads();
  }

  /// q = A p; p.q.
  __device__ double multiply_direction() {
    double pq = 0;
    multiply(p_, [&](int row, T sum) {
      q_[row * Block + i_] = sum;
      pq = fma(static_cast<double>(p_[row * Block + i_]), static_cast<double>(sum), pq);
    });
    exchange_.begin_sums();
    return exchange_.template finish<8>(pq, 0, nullptr, scratch_).x;
  }

  /// x += alpha p, r -= alpha q; {r.z, r.r}.
  __device__ double2 step(double alpha) {
    const T scale = static_cast<T>(alpha);
    return precondition([&](int at) {
      x_[at] = fma(scale, p_[at], x_[at]);
      r_[at] = fma(-scale, q_[at], r_[at]);
    });
  }

  /// Calls update(at) for every value, then z = M^-1 r, which is told; {r.z, r.r}.
  template <class F>
  __device__ double2 precondition(F update, bool positive = true) {
    exchange_.begin();
    double rz = positive ? 0 : __longlong_as_double(static_cast<long long>(0xfff0000000000000ull)), rr = 0;
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      if (active) update(at);
      const T r = active ? r_[at] : T{0};
      T z{0};
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const T other = __shfl_sync(full_warp, r, (slot_ * Block + j) % 32);
        if (active) z = fma(inverse_[(row * Block + j) * Block + i_], other, z);
      }
      if (!active) return;
      exchange_.put(row, i_, z);
      z_[at] = z;
      rz = fma(static_cast<double>(r), static_cast<double>(z), rz);
      rr = fma(static_cast<double>(r), static_cast<double>(r), rr);
    });
    return exchange_.finish(rz, rr, z_ + own_, scratch_);
  }

  const resident_problem<T>& a_;
  exchange_scratch& scratch_;
  int first_, rows_, outer_rows_, own_, slot_, i_, lane_, warp_, warps_;
  T *value_, *inverse_, *p_, *z_, *x_, *r_, *q_;
  std::int32_t* row_chunk_;
  std::uint16_t* column_;
  Exchange exchange_;
};

template <int Block, class T, template <class, int> class Exchange>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_problem<T> a,
                    const __grid_constant__ typename Exchange<T, Block>::memory memory) {
  extern __shared__ __align__(16) unsigned char resident_shared[];
  __shared__ exchange_scratch scratch;
  resident_solver<Block, T, Exchange<T, Block>>(a, memory, scratch, resident_shared).run();
}

}  // namespace tulle::cuda

// Conjugate gradients in one launch: every thread block keeps its block rows of the matrix, their inverse diagonal
// blocks and its part of the vectors in shared memory over the whole solve (Hestenes, Stiefel, 1952; persistent
// kernels: Zhang, Wahib, Zhang, Matsuoka, PERKS, ICS 2023). The sums of an iteration are taken together, behind the
// product, as beta is predicted from them and r.z itself is taken again with the next ones (Meurant, 1987; Chen, Carson,
// SISC 2020): r.z of the next residual is alpha^2 q.M^-1 q - r.z, and its z is z - alpha M^-1 q until it is M^-1 r, anew,
// while p is under way. So blocks
// wait twice: for p of the rows that they read, and for the sums. r is computed anew when it has arrived, so that f32
// loses nothing; sums are f64. A warp takes a block row, 32 / Block of its blocks at a time: lane (slot, i) multiplies
// row i of block `slot`; slot k of a warp then keeps the vectors of its row k. Bytes per iteration from memory: none;
// from L2 the vector values of other blocks' rows.
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

template <int Block, class T, class Exchange>
class resident_solver {
 public:
  static constexpr int slots = 32 / Block;
  static constexpr int lanes = slots * Block;  // of a warp that work

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
                  a.outer_begin[blockIdx.x + 1] - a.outer_begin[blockIdx.x], first_,
                  value_ + (requires { typename Exchange::own_columns; } ? layout(a).p : layout(a).published)) {
    const resident_layout at = layout(a);
    inverse_ = value_ + at.inverse;
    p_ = value_ + at.p;
    z_ = value_ + at.z;
    x_ = value_ + at.x;
    r_ = value_ + at.r;
    q_ = value_ + at.q;
    mq_ = value_ + at.mq;
    row_chunk_ = reinterpret_cast<std::int32_t*>(shared + at.row_chunk);
    column_ = reinterpret_cast<std::uint16_t*>(shared + at.column);
  }

  __device__ void run() {
    const long long entered = clock64();
    long long left = 0;
    load_matrix();
    const long long loaded = clock64();
    const bool positive = invert_diagonal();
    const long long inverted = clock64();
    std::int64_t bad_row = -1;
    __syncwarp();
    status code = status::not_converged;
    bool failed = false, going_on = false;  // going on: the direction is kept
    int iterations = 0;
    double rhs = 0, residual = 0, target = 0, near = 0, beta = 0;
    for (bool first = true;; first = false) {
      left = clock64();
      const resident_sums exact = first ? begin(positive) : residual_itself();
      if (first) {
        spent_[0] = clock64() - inverted;
        rhs = sqrt(exact.pq);
        target = fmax(a_.rtol * rhs, a_.atol);
        near = resident_share * target * (resident_share * target);  // of r.r
      }
      residual = first && rhs == 0 ? 0 : sqrt(exact.rr);
      note(iterations, residual);
      if (!finite(residual) || !finite(rhs)) {
        code = status::not_finite;
        break;
      }
      if (failed) break;
      code = residual <= target ? status::success : status::not_converged;
      if (code == status::success || iterations >= a_.max_iterations) break;
      if (const status bad = judge(exact.rz); bad != status::success) {
        code = bad;
        if (bad == status::indefinite) bad_row = static_cast<std::int64_t>(*static_cast<volatile unsigned long long*>(a_.first_bad));
        break;
      }
      turn(going_on ? beta : 0);
      going_on = false;
      for (int since = 1;; ++since) {
        const resident_sums s = multiply_direction();
        if (since > 1) {
          note(iterations, sqrt(s.rr));
          if (finite(s.rr) && s.rr <= near) break;
          if (const status bad = finite(s.rr) ? judge(s.rz) : status::not_finite; bad != status::success) {
            code = bad;
            failed = true;
            break;
          }
        }
        const double of_rz = reciprocal(s.rz);
        ++iterations;
        const double alpha = s.rz * reciprocal(s.pq);
        if (!finite(s.pq) || s.pq <= 0 || !finite(alpha)) {
          code = !finite(s.pq) ? status::not_finite : s.pq <= 0 ? status::indefinite : status::breakdown;
          failed = true;
          break;
        }
        beta = fmax(fma(alpha, alpha * s.qq, -s.rz), 0.0) * of_rz;
        if (a_.replace_interval > 0 && since >= a_.replace_interval) going_on = true;
        if (iterations >= a_.max_iterations || going_on) {
          const T scale = static_cast<T>(alpha);
          for_rows([&](int row, bool active) {
            const int at = row * Block + i_;
            if (active) x_[at] = fma(scale, p_[at], x_[at]);
          });
          break;
        }
        step(alpha, beta);
      }
    }
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      if (active) a_.x[offset() + at] = rhs == 0 ? T{0} : x_[at];
    });
    if (Exchange::part() == 0 && thread() == 0) {
      *a_.record = {static_cast<std::int32_t>(code), iterations, residual, rhs, bad_row};
      *a_.first_bad = ~0ull;
    }
    exchange_.end();
    if (a_.stamps != nullptr && thread() == 0) {
      const long long now = clock64();
      double* const to = a_.stamps + blockIdx.x * 14;
      for (int u = 0; u < 10; ++u) to[u] = static_cast<double>(spent_[u]) / fmax(1.0, rounds_);
      to[0] = static_cast<double>(spent_[0]);
      to[9] = static_cast<double>(now - left);
      to[10] = static_cast<double>(loaded - entered);
      to[11] = static_cast<double>(inverted - loaded);
      to[12] = static_cast<double>(now - entered);
      to[13] = rounds_;
    }
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
  __device__ void note(int iteration, double norm) const {
    if (a_.history != nullptr && Exchange::part() == 0 && thread() == 0) a_.history[iteration] = norm;
  }
  __device__ __forceinline__ void stamp(int phase) {
    if (a_.stamps == nullptr) return;
    const long long now = clock64();
    spent_[phase] += now - before_;
    before_ = now;
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

  /// A scalar row whose diagonal is not positive, or begins a block that is not; read behind the first exchange.
  __device__ void name_bad(int row) const {
    atomicMin(a_.first_bad, static_cast<unsigned long long>(offset() + row));
    __threadfence();
  }
  /// Calls f(row, active) for the rows of the part, by whole warps: slot k has row k of those that its warp multiplies.
  template <class F>
  __device__ __forceinline__ void for_rows(F f) const {
    for (int first = warp_; first < rows_; first += warps_ * slots) {
      const int row = first + slot_ * warps_;
      f(row, lane_id() < lanes && row < rows_);
    }
  }

  __device__ bool invert_diagonal() {
    bool all = true;
    for_rows([&](int row, bool active) {
      const std::int32_t at = active ? a_.diagonal[first_ + row] : -1;
      double part[Block], of_lane = 0;  // of the diagonal
#pragma unroll
      for (int j = 0; j < Block; ++j) {
        const bool kept = a_.preconditioner == preconditioner_kind::block_jacobi || i_ == j;
        part[j] = !kept ? 0 : i_ == j ? 1 : 0;
        if (at >= 0 && kept && a_.preconditioner != preconditioner_kind::none)
          part[j] = value_[place(at / slots, j, at % slots * Block + i_)];
        if (at >= 0 && i_ == j) of_lane = part[j];
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
      if (positive) return;
      const bool entry = a_.preconditioner == preconditioner_kind::jacobi;
      if (!entry || !(of_lane > 0)) name_bad(row * Block + (entry ? i_ : 0));
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
  /// Calls f(row, active, sum) as for_rows does, with the products of p_, which has a value for every column that the
  /// part reads. Two block rows at a time.
  template <class F>
  __device__ __forceinline__ void multiply(F f) const {
    for (int first = warp_; first < rows_; first += warps_ * slots) {
      T mine{0};
      for (int k = 0; k < slots; k += 2) {
        const int row = first + k * warps_, other = row + warps_;
        if (row >= rows_) break;
        const bool two = k + 1 < slots && other < rows_;
        const T a = products(row, p_), b = products(two ? other : row, p_);
        const T of_row = add_slots(a), of_other = add_slots(b);
        if (slot_ == k) mine = of_row;
        if (slot_ == k + 1) mine = of_other;
      }
      const int row = first + slot_ * warps_;
      f(row, lane_id() < lanes && row < rows_, mine);
    }
  }
  /// M^-1 v in a row.
  __device__ __forceinline__ T precondition(int row, bool active, T v) const {
    const T* const inverse = inverse_ + row * Block * Block + i_;
    T z{0};
#pragma unroll
    for (int j = 0; j < Block; ++j) {
      const T other = __shfl_sync(full_warp, v, (slot_ * Block + j) % 32);
      if (active) z = fma(inverse[j * Block], other, z);
    }
    return z;
  }
  __device__ void reset_shares() { share_ = {0, 0, 0, 0}; }
  __device__ __forceinline__ void share_residual(T r, T z) {
    share_.rz = fma(static_cast<double>(r), static_cast<double>(z), share_.rz);
    share_.rr = fma(static_cast<double>(r), static_cast<double>(r), share_.rr);
  }
  __device__ __forceinline__ resident_sums add_shares() {
    const resident_sums s = exchange_.add(share_, scratch_, [this](int phase) { stamp(phase); });
    reset_shares();
    return s;
  }

  /// r of the guess; b.b as p.q.
  __device__ resident_sums begin(bool positive) {
    reset_shares();
    if (!positive) share_.rz = __longlong_as_double(static_cast<long long>(0xfff0000000000000ull));
    const bool zero = a_.zero_guess;
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      if (active) x_[at] = zero ? T{0} : a_.x[offset() + at];
    });
    if (!zero) return residual_itself();
    for_rows([&](int row, bool active) { keep_residual(row, active, active ? a_.b[offset() + row * Block + i_] : T{0}); });
    return add_shares();
  }
  __device__ __forceinline__ void keep_residual(int row, bool active, T r) {
    const T z = precondition(row, active, r);
    if (!active) return;
    const int at = row * Block + i_;
    const auto b = static_cast<double>(a_.b[offset() + at]);
    share_.pq = fma(b, b, share_.pq);
    r_[at] = r;
    z_[at] = z;
    share_residual(r, z);
  }

  /// r = b - A x; p goes to q_.
  __device__ resident_sums residual_itself() {
    exchange_.begin_vector();
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      const T x = active ? x_[at] : T{0};
      exchange_.tell(row, slot_ * Block, active, x);
      if (!active) return;
      q_[at] = p_[at];
      p_[at] = x;
    });
    exchange_.take(p_ + own_);
    multiply([&](int row, bool active, T sum) {
      keep_residual(row, active, active ? a_.b[offset() + row * Block + i_] - sum : T{0});
    });
    return add_shares();
  }

  /// p = z + beta p, which is told; p before is in q_.
  __device__ void turn(double beta) {
    const T scale = static_cast<T>(beta);
    exchange_.begin_vector();
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      T p = active ? z_[at] : T{0};
      if (active && beta != 0) p = fma(scale, q_[at], p);  // else it may hold anything yet
      exchange_.tell(row, slot_ * Block, active, p);
      if (!active) return;
      p_[at] = p;
      share_residual(r_[at], z_[at]);
    });
  }

  /// q = A p and M^-1 q; all sums.
  __device__ resident_sums multiply_direction() {
    if (a_.stamps != nullptr) before_ = clock64();
    exchange_.take(p_ + own_);
    stamp(1);
    multiply([&](int row, bool active, T q) {
      const T mq = precondition(row, active, q);
      if (!active) return;
      const int at = row * Block + i_;
      q_[at] = q;
      mq_[at] = mq;
      const auto wide = static_cast<double>(q);
      share_.pq = fma(static_cast<double>(p_[at]), wide, share_.pq);
      share_.qq = fma(static_cast<double>(mq), wide, share_.qq);
    });
    __syncwarp();
    stamp(2);
    const resident_sums s = add_shares();
    stamp(7);
    rounds_ += 1;
    return s;
  }

  /// p = z - alpha M^-1 q + beta p, which is told; x += alpha p, r -= alpha q, z = M^-1 r, which does not drift.
  __device__ void step(double alpha, double beta) {
    const T along = static_cast<T>(alpha), turned = static_cast<T>(beta);
    exchange_.begin_vector();
    for_rows([&](int row, bool active) {
      const int at = row * Block + i_;
      T p{0}, z{0}, next{0};
      if (active) {
        p = p_[at];
        z = fma(-along, mq_[at], z_[at]);
        next = fma(turned, p, z);
      }
      exchange_.tell(row, slot_ * Block, active, next);
      const T r = active ? fma(-along, q_[at], r_[at]) : T{0};
      z = precondition(row, active, r);
      if (!active) return;
      p_[at] = next;
      z_[at] = z;
      r_[at] = r;
      x_[at] = fma(along, p, x_[at]);
      share_residual(r, z);
    });
    stamp(8);
  }

  const resident_problem<T>& a_;
  resident_scratch& scratch_;
  int first_, rows_, own_, slot_, i_, lane_, warp_, warps_;
  T *value_, *inverse_, *p_, *z_, *x_, *r_, *q_, *mq_;
  std::int32_t* row_chunk_;
  std::uint16_t* column_;
  Exchange exchange_;
  resident_sums share_;
  long long before_ = 0, spent_[10] = {};
  double rounds_ = 0;
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

// Conjugate gradients in one launch: every thread block keeps its block rows of the matrix, their inverse diagonal
// blocks and its part of the vectors in shared memory over the whole solve (Hestenes, Stiefel, 1952; persistent
// kernels: Zhang, Wahib, Zhang, Matsuoka, PERKS, ICS 2023). The sums of an iteration are taken together, behind the
// product, as beta is predicted from them and r.z itself is taken again with the next ones (Meurant, 1987; Chen,
// Carson, SISC 2020): r.z of the next residual is alpha^2 q.M^-1 q - r.z, and its z is z - alpha M^-1 q until it is
// M^-1 r, anew, while p is under way. So blocks wait twice: for p of the rows that they read, and for the sums. r is
// computed anew when it has arrived, so that f32 loses nothing; sums are f64. Bytes per iteration from memory: none;
// from L2 the vector values of other blocks' rows. What costs is the number of instructions: the warps of a block share
// 4 schedulers, so vectors and most of the matrix stay in registers, and a warp each takes one of the four sums.
#pragma once

#include "cuda/solvers/resident_part.cuh"
#include "cuda/solvers/resident_sums.cuh"
#include "cuda/solvers/resident_support.hpp"

namespace tulle::cuda {

/// Of the recursive residual, so that a little drift leaves the true one below the target as well.
inline constexpr double resident_share = 0.999;

template <int Block, class T, class Exchange, int Trial>
class resident_solver : resident_part<Block, T, Trial> {
  using part = resident_part<Block, T, Trial>;
  using part::a_;
  using part::begin_loading;
  using part::finish_loading;
  using part::for_passes;
  using part::has;
  using part::i_;
  using part::invert_diagonal;
  using part::keep_blocks;
  using part::mine_;
  using part::multiply;
  using part::offset;
  using part::p_;
  using part::precondition;
  using part::row_of;
  using part::rows_;
  using part::thread;
  using part::warp_;
  using lane_values = typename part::lane_values;

 public:
  __device__ resident_solver(const resident_problem<T>& a, const typename Exchange::memory& memory,
                             resident_scratch& scratch, unsigned char* shared, unsigned (&stamps)[8][32])
      : part(a, shared),
        scratch_(scratch),
        exchange_(memory, a.outer + this->place_.outer, this->end_place_.outer - this->place_.outer, this->place_.row,
                  rows_, p_, this->row_, this->push_),
        stamps_(stamps) {}

  /// One loop for b - A x itself and for directions, so that there is little code to be read.
  __device__ void run() {
    begin_loading();
    stamp(0);
    for_passes([&](lane_values& v, int pass) {
      const int row = row_of(pass);
      v = {};
      if (has(row)) (a_.zero_guess ? v.r : v.x) = (a_.zero_guess ? a_.b : a_.x)[offset() + row * Block + i_];
    });
    finish_loading();
    exchange_.prepare();
    stamp(1);
    const bool positive = invert_diagonal();
    stamp(2);
    keep_blocks();
    stamp(3);
    status code = status::not_converged;
    bool first = true, anew = !a_.zero_guess, failed = false, going_on = false;  // going on: the direction is kept
    int iterations = 0, since = 0;
    double rhs = 0, residual = 0, target = 0, near = 0, beta = 0;
    std::int64_t bad_row = -1;
    if (!anew) begin(positive);
    for (;;) {
      if (anew) tell_x();
      const resident_sums s = multiply_and_add(anew, positive);
      if ((Trial & 6) != 0) first = false;
      if ((Trial & 6) != 0 && anew && iterations < a_.max_iterations) {
        turn(0);
        first = anew = going_on = false;
        since = 0;
        continue;
      }
      if (anew || first) {
        if (first) {
          rhs = sqrt(anew ? s.pq : s.rr);  // of x = 0 it is the residual
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
        first = false;
        if (anew) {
          turn(going_on ? beta : 0);
          anew = going_on = false;
          since = 0;
          continue;
        }
      }
      if (since > 0) note(iterations, s.rr);
      const double inverse = reciprocal(s.pq);
      double alpha = s.rz * inverse;
      beta = fma(alpha * inverse, s.qq, -1.0);
      const bool usual = s.rr > near && ordinary(s.rr) && ordinary(s.rz) && ordinary(s.pq) && ordinary(alpha) &&
                         high_word(beta) < high_word(huge) && iterations + 1 < a_.max_iterations &&
                         (a_.replace_interval <= 0 || since + 1 < a_.replace_interval);
      if (high_word(beta) < 0) beta = 0;
      if ((Trial & 6) != 0 ? iterations + 1 < a_.max_iterations : usual) {
        ++since;
        ++iterations;
      } else {
        if (since++ > 0) {
          anew = finite(s.rr) && s.rr <= near;
          if (anew) continue;
          if (const status bad = finite(s.rr) ? judge(s.rz) : status::not_finite; bad != status::success) {
            code = bad;
            anew = failed = true;
            continue;
          }
        }
        ++iterations;
        alpha = s.rz / s.pq;
        if (!finite(s.pq) || s.pq <= 0 || !finite(alpha)) {
          code = !finite(s.pq) ? status::not_finite : s.pq <= 0 ? status::indefinite : status::breakdown;
          anew = failed = true;
          continue;
        }
        beta = fmax(fma(alpha, alpha * s.qq, -s.rz), 0.0) / s.rz;
        going_on = a_.replace_interval > 0 && since >= a_.replace_interval;
        anew = going_on || iterations >= a_.max_iterations;
      }
      if ((Trial & 1) != 0 && iterations >= 4) warm_ = 16;
      stamp(4);
      step(alpha, beta, !anew);
      stamp(5);
    }
    for_passes([&](lane_values& v, int pass) {
      const int row = row_of(pass);
      if (has(row)) a_.x[offset() + row * Block + i_] = rhs == 0 ? T{0} : v.x;
    });
    if (Exchange::part() == 0 && thread() == 0) {
      *a_.record = {static_cast<std::int32_t>(code), iterations, residual, rhs, bad_row};
      *a_.first_bad = ~0ull;
    }
    exchange_.end();
    if constexpr ((Trial & 1) != 0) {
      __syncwarp();
      if (lane_id() == 0) stamps_[warp_][15] = clock() - began_;
      __syncwarp();
      if (a_.stamps != nullptr) a_.stamps[(blockIdx.x * 8 + warp_) * 32 + lane_id()] = stamps_[warp_][lane_id()];
    }
  }

 private:
  static constexpr double huge = 1e300;
  static __device__ int high_word(double v) { return __double2hiint(v); }
  /// Positive and below `huge`, seen without a comparison of f64, which costs 20 cycles; a little too strict.
  static __device__ bool ordinary(double v) {
    return static_cast<unsigned>(high_word(v)) - 0x00100000u < static_cast<unsigned>(high_word(huge)) - 0x00100000u;
  }
  static __device__ bool finite(double v) { return v - v == 0; }
  /// Minus infinity is what a block that is not positive definite adds.
  static __device__ status judge(double rz) {
    if (rz < -1.7e308) return status::indefinite;
    return !finite(rz) ? status::not_finite : rz <= 0 ? status::breakdown : status::success;
  }
  __device__ void note(int iteration, double rr) const {
    if (a_.history != nullptr && Exchange::part() == 0 && thread() == 0) a_.history[iteration] = sqrt(rr);
  }
  __device__ __forceinline__ void stamp(int k) {
    if constexpr ((Trial & 1) != 0) {
      const unsigned now = clock();
      if (lane_id() == 0) atomicAdd(&stamps_[warp_][k + warm_], now - last_);
      last_ = now;
    }
  }

  /// Over the whole part and over all, in every thread. What a thread puts in has no share of lanes without a row.
  __device__ __forceinline__ resident_sums add_shares() {
    __syncwarp();
    __syncthreads();
    stamp(10);
    if (warp_ < resident_sums::count) {
      const double sum = scratch_.template add<(Trial & 8) != 0>(warp_);
      stamp(11);
      const double all = exchange_.add(warp_, sum);
      if (lane_id() == 0) scratch_.all[warp_] = all;
    } else {
      exchange_.skip();
    }
    stamp(12);
    __syncwarp();
    __syncthreads();
    stamp(13);
    return {scratch_.all[0], scratch_.all[1], scratch_.all[2], scratch_.all[3]};
  }

  __device__ void tell_x() {
    exchange_.begin_vector();
    for_passes([&](lane_values& v, int pass) { tell(pass, v.x); });
  }
  __device__ __forceinline__ void tell(int pass, T value) {
    const int row = row_of(pass);
    if (has(row)) p_[row * Block + i_] = value;
    exchange_.tell(row, row < rows_, value);
  }
  /// With what was told: q = A p and M^-1 q, or, anew, r = b - A x and z = M^-1 r. All sums; b.b as p.q.
  __device__ __forceinline__ resident_sums multiply_and_add(bool anew, bool positive) {
    exchange_.take();
    stamp(6);
    __syncthreads();
    stamp(7);
    double pq = 0, qq = 0, rz = 0, rr = 0;
    for_passes([&](lane_values& v, int pass) {
      const int row = row_of(pass);
      T b{0};
      if (anew && has(row)) b = a_.b[offset() + row * Block + i_];
      const T product = multiply(pass);
      stamp(8);
      const T kept_value = anew ? b - product : product;
      const T m = precondition(pass, kept_value);
      (anew ? v.r : v.q) = kept_value;
      (anew ? v.z : v.mq) = m;
      if (!has(row)) return;
      const auto wide = static_cast<double>(anew ? b : kept_value);
      pq = fma(static_cast<double>(anew ? b : v.p), wide, pq);
      if (anew) {
        add_residual(v, rz, rr);
      } else {
        qq = fma(static_cast<double>(m), wide, qq);
      }
    });
    scratch_.put_product(pq, qq);
    if (anew) scratch_.put_residual(marked(rz, positive), rr);
    stamp(9);
    return add_shares();
  }
  static __device__ __forceinline__ void add_residual(const lane_values& v, double& rz, double& rr) {
    const auto r = static_cast<double>(v.r);
    rz = fma(r, static_cast<double>(v.z), rz);
    rr = fma(r, r, rr);
  }

  static __device__ double marked(double rz, bool positive) {
    return positive ? rz : __longlong_as_double(static_cast<long long>(0xfff0000000000000ull));
  }

  /// Of x = 0: z = M^-1 r, p = z, which is told. That r is all right is seen with the first product.
  __device__ void begin(bool positive) {
    double rz = 0, rr = 0;
    exchange_.begin_vector();
    for_passes([&](lane_values& v, int pass) {
      v.p = v.z = precondition(pass, v.r);
      tell(pass, v.p);
      if (has(row_of(pass))) add_residual(v, rz, rr);
    });
    scratch_.put_residual(marked(rz, positive), rr);
  }
  /// p = z + beta p, which is told.
  __device__ void turn(double beta) {
    exchange_.begin_vector();
    for_passes([&](lane_values& v, int pass) {
      v.p = beta == 0 ? v.z : fma(static_cast<T>(beta), v.p, v.z);
      tell(pass, v.p);
    });
  }
  /// x += alpha p; unless r will be taken anew, p = z - alpha M^-1 q + beta p, which is told, r -= alpha q, and z =
  /// M^-1 r, which does not drift.
  __device__ void step(double alpha, double beta, bool all) {
    const T along = static_cast<T>(alpha), turned = static_cast<T>(beta);
    double rz = 0, rr = 0;
    if (all) exchange_.begin_vector();
    for_passes([&](lane_values& v, int pass) {
      v.x = fma(along, v.p, v.x);
      if (!all) return;
      v.p = fma(turned, v.p, fma(-along, v.mq, v.z));
      tell(pass, v.p);
      v.r = fma(-along, v.q, v.r);
      v.z = precondition(pass, v.r);
      if (has(row_of(pass))) add_residual(v, rz, rr);
    });
    if (all) scratch_.put_residual(rz, rr);
  }

  resident_scratch& scratch_;
  Exchange exchange_;
  unsigned (&stamps_)[8][32];
  unsigned began_ = static_cast<unsigned>(clock()), last_ = began_;
  int warm_ = 0;
};

template <int Block, class T, template <class, int, int> class Exchange, int Trial>
__global__ void __launch_bounds__(resident_threads, 1)
    resident_kernel(const __grid_constant__ resident_problem<T> a,
                    const __grid_constant__ typename Exchange<T, Block, Trial>::memory memory) {
  extern __shared__ __align__(16) unsigned char resident_shared[];
  __shared__ __align__(16) resident_scratch scratch;
  __shared__ unsigned stamps[8][32];
  if constexpr ((Trial & 1) != 0) {
    stamps[threadIdx.x / 32][threadIdx.x % 32] = 0;
    __syncwarp();
  }
  resident_solver<Block, T, Exchange<T, Block, Trial>, Trial>(a, memory, scratch, resident_shared, stamps).run();
}

}  // namespace tulle::cuda

// Conjugate gradients in one launch: every thread block keeps its block rows of the matrix, their inverse diagonal
// blocks and its part of the vectors in shared memory over the whole solve (Hestenes, Stiefel, 1952; persistent
// kernels: Zhang, Wahib, Zhang, Matsuoka, PERKS, ICS 2023). The sums of an iteration are taken together, behind the
// product, as beta is predicted from them and r.z itself is taken again with the next ones (Meurant, 1987; Chen,
// Carson, SISC 2020): r.z of the next residual is alpha^2 q.M^-1 q - r.z, and its z is z - alpha M^-1 q until it is
// M^-1 r, anew, while p is under way. So blocks wait twice: for p of the rows that they read, and for the sums. r is
// computed anew when it has arrived, so that f32 loses nothing; sums are f64. A warp takes a block row, 32 / Block of
// its blocks at a time: lane (slot, i) multiplies row i of block `slot`; slot k of a warp then keeps the vectors of its
// row k. Bytes per iteration from memory: none; from L2 the vector values of other blocks' rows. What costs is the
// number of instructions: the warps of a block share 4 schedulers, so vectors and most of the matrix stay in registers,
// and a warp each takes one of the four sums.
#pragma once

#include "cuda/solvers/old0/resident_part.cuh"
#include "cuda/solvers/old0/resident_sums.cuh"
#include "cuda/solvers/old0/resident_support.hpp"

namespace tulle::cuda::old0 {

/// Of the recursive residual, so that a little drift leaves the true one below the target as well.
inline constexpr double resident_share = 0.999;

template <int Block, class T, class Exchange>
class resident_solver : resident_part<Block, T> {
  using part = resident_part<Block, T>;
  using part::a_;
  using part::begin_loading;
  using part::finish_loading;
  using part::first_;
  using part::for_groups;
  using part::groups;
  using part::has;
  using part::i_;
  using part::invert_diagonal;
  using part::keep_chunks;
  using part::lanes;
  using part::layout;
  using part::multiply;
  using part::offset;
  using part::own_;
  using part::p_;
  using part::precondition;
  using part::row_of;
  using part::rows_;
  using part::slot_;
  using part::slots;
  using part::thread;
  using part::value_;
  using part::warp_;
  using part::warps_;

 public:
  __device__ resident_solver(const resident_problem<T>& a, const typename Exchange::memory& memory,
                             resident_scratch& scratch, unsigned char* shared)
      : part(a, shared),
        scratch_(scratch),
        exchange_(memory, a.outer + a.outer_begin[blockIdx.x],
                  a.outer_begin[blockIdx.x + 1] - a.outer_begin[blockIdx.x], first_, own_, value_ + layout(a).p, i_) {}

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
  static __device__ bool finite(double v) { return v - v == 0; }
  /// Minus infinity is what a block that is not positive definite adds.
  static __device__ status judge(double rz) {
    if (rz < -1.7e308) return status::indefinite;
    return !finite(rz) ? status::not_finite : rz <= 0 ? status::breakdown : status::success;
  }
  __device__ void note(int iteration, double rr) const {
    if (a_.history != nullptr && Exchange::part() == 0 && thread() == 0) a_.history[iteration] = sqrt(rr);
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
  /// x += alpha p; unless r will be taken anew, p = z - alpha M^-1 q + beta p, which is told, r -= alpha q, and z =
  /// M^-1 r, which does not drift.
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

  resident_scratch& scratch_;
  Exchange exchange_;
  resident_sums share_{0, 0, 0, 0};
  lane_values mine_[groups];
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

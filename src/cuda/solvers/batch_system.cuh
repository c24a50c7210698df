// One system of a batch, and the block of threads that has it to itself: the System of kernels/cg_direct_loop.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/warp.cuh"
#include "cuda/solvers/block_sums.cuh"
#include "kernels/cg_batch.hpp"
#include "kernels/cg_direct_loop.hpp"

namespace tulle::cuda {

template <class T>
struct batch_arrays {
  const batch_system* systems;
  const std::int32_t* offsets;
  const index_t* columns;
  const T* values;
  const T* b;
  T* x;
  cg_record* records;
  loop_rules rules;
  int block;
  int width;  // values of the inverse diagonal in a row; 0: no preconditioner
  int lanes;  // of a row
  bool resident;
  bool zero_guess;
};

/// Where the arrays of a system are in shared memory: in values, and in bytes.
struct batch_layout {
  std::size_t r, q, x, z, inverse, values;
  std::size_t offsets, columns, bytes;

  __host__ __device__ batch_layout(std::size_t value, std::size_t n, int width, bool resident, std::size_t entries,
                                   std::size_t rows, std::size_t blocks)
      : r(n),
        q(2 * n),
        x(3 * n),
        z(4 * n),
        inverse(z + (width > 1 ? n : 0)),
        values(inverse + n * static_cast<std::size_t>(width)),
        offsets((values + (resident ? entries + entries % 2 : 0)) * value),
        columns(offsets + (resident ? 4 * (rows + 1) : 0)),
        bytes(columns + (resident ? 2 * blocks : 0)) {}
};

template <class T, bool Blocks>
class device_system {
 public:
  __device__ device_system(const batch_arrays<T>& a, const batch_system& at, unsigned char* shared, warp_sums* scratch)
      : a_(a),
        block_(Blocks ? a.block : 1),
        n_(at.rows * block_),
        reciprocal_(0xffffffffu / static_cast<unsigned>(a.block) + 1),
        scratch_(scratch),
        values_(a.values + at.values),
        offsets_(a.offsets + at.offsets),
        columns_(a.columns + at.columns),
        b_(a.b + at.unknowns),
        out_(a.x + at.unknowns) {
    const int entries = at.blocks * block_ * block_;
    const batch_layout layout(sizeof(T), static_cast<std::size_t>(n_), a.width, a.resident,
                              static_cast<std::size_t>(entries), static_cast<std::size_t>(at.rows),
                              static_cast<std::size_t>(at.blocks));
    p_ = reinterpret_cast<T*>(shared);
    r_ = p_ + layout.r;
    q_ = p_ + layout.q;
    x_ = p_ + layout.x;
    z_ = p_ + layout.z;
    inverse_ = p_ + layout.inverse;
    own_values_ = p_ + layout.values;
    own_offsets_ = reinterpret_cast<std::int32_t*>(shared + layout.offsets);
    own_columns_ = reinterpret_cast<std::uint16_t*>(shared + layout.columns);
    if (a.resident) {
#pragma unroll 4
      for (int i = thread(); i < entries; i += threads()) own_values_[i] = values_[i];
#pragma unroll 4
      for (int i = thread(); i < at.blocks; i += threads()) own_columns_[i] = static_cast<std::uint16_t>(columns_[i]);
      for (int i = thread(); i <= at.rows; i += threads()) own_offsets_[i] = offsets_[i];
    }
    __syncthreads();
    if (a.width > 0) invert();
  }

  __device__ double rhs() {
    double bb = 0;
    for_own([&](int i) {
      bb = fma(static_cast<double>(b_[i]), static_cast<double>(b_[i]), bb);
      x_[i] = a_.zero_guess ? T{0} : out_[i];
    });
    x_is_zero_ = a_.zero_guess;
    return sqrt(sum(bb, 0).rz);
  }
  __device__ void forget_guess() {
    for_own([&](int i) { x_[i] = T{0}; });
    x_is_zero_ = true;
  }
  __device__ std::int64_t broken() const { return broken_; }
  __device__ residual_sums residual() {
    if (x_is_zero_) {
      for_own([&](int i) { r_[i] = b_[i]; });
    } else {
      multiply_by(x_, [&](int row, T product) { r_[row] = b_[row] - product; });
      __syncthreads();
    }
    return precondition([](int) {});
  }
  __device__ void turn(double beta) {
    const T scale = static_cast<T>(beta);
    for_own([&](int i) {
      const T z = a_.width == 0 ? r_[i] : a_.width == 1 ? inverse_[i] * r_[i] : z_[i];
      p_[i] = beta == 0 ? z : fma(scale, p_[i], z);
    });
    __syncthreads();
  }
  __device__ double multiply() {
    double pq = 0;
    multiply_by(p_, [&](int row, T product) {
      q_[row] = product;
      pq = fma(static_cast<double>(p_[row]), static_cast<double>(product), pq);
    });
    return sum(pq, 0).rz;
  }
  __device__ residual_sums step(double alpha) {
    const T scale = static_cast<T>(alpha);
    x_is_zero_ = false;
    return precondition([&](int i) {
      x_[i] = fma(scale, p_[i], x_[i]);
      r_[i] = fma(-scale, q_[i], r_[i]);
    });
  }
  static __device__ void note(int, double) {}
  __device__ void end() {
    for_own([&](int i) { out_[i] = x_[i]; });
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ int threads() { return static_cast<int>(blockDim.x); }
  template <class F>
  __device__ __forceinline__ void for_own(F f) const {
    for (int i = thread(); i < n_; i += threads()) f(i);
  }

  /// Of all threads, told to all.
  __device__ residual_sums sum(double a, double b) {
    warp_sums& s = scratch_[turn_];
    turn_ ^= 1;
    leave_warp_sums(a, b, s);
    __syncthreads();
    residual_sums all{s.of_warp[0][0], s.of_warp[0][1]};
    for (int w = 1; w < threads() / 32; ++w) {
      all.rz += s.of_warp[w][0];
      all.rr += s.of_warp[w][1];
    }
    return all;
  }

  /// Calls update(i) for every value, then z = M^-1 r.
  template <class F>
  __device__ __forceinline__ residual_sums precondition(F update) {
    double rz = 0, rr = 0;
    const auto add = [&](T r, T z) {
      rr = fma(static_cast<double>(r), static_cast<double>(r), rr);
      rz = fma(static_cast<double>(r), static_cast<double>(z), rz);
    };
    if (a_.width <= 1) {
      for_own([&](int i) {
        update(i);
        const T r = r_[i];
        add(r, a_.width == 0 ? r : inverse_[i] * r);
      });
      return sum(rz, rr);
    }
    for_own(update);
    __syncthreads();
    for_own([&](int i) {
      const int first = i / a_.width * a_.width, size = min(a_.width, n_ - first);
      T z{0};
      for (int j = 0; j < size; ++j) z = fma(inverse_[i * a_.width + j], r_[first + j], z);
      z_[i] = z;
      add(r_[i], z);
    });
    return sum(rz, rr);
  }

  /// Calls f(row, sum) for every scalar row, in one of its lanes, with the products of v.
  template <class F>
  __device__ __forceinline__ void multiply_by(const T* v, F f) const {
    if (a_.resident) {
      multiply_rows(own_values_, own_offsets_, own_columns_, v, f);
    } else {
      multiply_rows(values_, offsets_, columns_, v, f);
    }
  }
  template <class Column, class F>
  __device__ __forceinline__ void multiply_rows(const T* values, const std::int32_t* offsets, const Column* columns,
                                                const T* v, F f) const {
    const int lanes = a_.lanes, lane = thread() % lanes, rows = threads() / lanes;
    for (int first = 0; first < n_; first += rows) {
      const int row = first + thread() / lanes;
      T product{0};
      if (row < n_) {
        const int block_row = blocks_in(row), i = row - block_row * block_;
        const int begin = offsets[block_row], count = (offsets[block_row + 1] - begin) * block_;
        const auto entry = [&](int e, T& value, int& column) {
          const int k = begin + blocks_in(e), j = e - (k - begin) * block_;
          value = values[(k * block_ + i) * block_ + j];
          column = columns[k] * block_ + j;
        };
        if (lanes == 1) {  // short rows: unrolling costs more than it hides
#pragma unroll 1
          for (int e = 0; e < count; ++e) {
            T value;
            int column;
            entry(e, value, column);
            product = fma(value, v[column], product);
          }
        } else {  // four at a time on their way, the last ones too
          for (int e = lane; e < count; e += 4 * lanes) {
            T value[4];
            int column[4];
#pragma unroll
            for (int u = 0; u < 4; ++u) {
              if (e + u * lanes < count) entry(e + u * lanes, value[u], column[u]);
            }
#pragma unroll
            for (int u = 0; u < 4; ++u) {
              if (e + u * lanes < count) product = fma(value[u], v[column[u]], product);
            }
          }
        }
      }
      for (int d = lanes / 2; d > 0; d /= 2) product += __shfl_xor_sync(full_warp, product, d);
      if (row < n_ && lane == 0) f(row, product);
    }
  }
  /// i / block.
  __device__ __forceinline__ int blocks_in(int i) const {
    if constexpr (!Blocks) return i;
    return static_cast<int>(__umulhi(static_cast<unsigned>(i), reciprocal_));
  }

  /// Calls f(column, value) for the entries of a scalar row.
  template <class F>
  __device__ void for_entries(int row, F f) const {
    const int block_row = blocks_in(row), i = row - block_row * block_;
    for (int k = offsets_[block_row]; k < offsets_[block_row + 1]; ++k) {
      for (int j = 0; j < block_; ++j) f(columns_[k] * block_ + j, values_[(k * block_ + i) * block_ + j]);
    }
  }
  __device__ void invert() {
    const int width = a_.width;
    for_own([&](int row) {
      const int first = row / width * width;
      for (int j = 0; j < width; ++j) inverse_[row * width + j] = T{0};
      for_entries(row, [&](int column, T value) {
        if (column >= first && column < first + width) inverse_[row * width + column - first] += value;
      });
    });
    int* const first_broken = reinterpret_cast<int*>(scratch_);
    if (thread() == 0) *first_broken = n_;
    __syncthreads();
    for (int first = thread() * width; first < n_; first += threads() * width) {
      if (!invert_batch_block(inverse_ + first * width, width, min(width, n_ - first))) atomicMin(first_broken, first);
    }
    __syncthreads();
    broken_ = *first_broken < n_ ? *first_broken : -1;
    __syncthreads();
  }

  const batch_arrays<T>& a_;
  int block_, n_;
  unsigned reciprocal_;  // 2^32 / block
  warp_sums* scratch_;
  const T* values_;
  const std::int32_t* offsets_;
  const index_t* columns_;
  const T* b_;
  T* out_;
  T *p_, *r_, *q_, *x_, *z_, *inverse_, *own_values_;
  std::int32_t* own_offsets_;
  std::uint16_t* own_columns_;
  int turn_ = 0;
  int broken_ = -1;
  bool x_is_zero_ = false;
};

}  // namespace tulle::cuda

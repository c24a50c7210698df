// Batches of small systems on a GPU: a block of threads for each, which keeps the vectors and, where it fits, the
// matrix in shared memory over the whole solve, with the loop of kernels/cg_direct_loop.hpp. Rows are taken by 1 to 32
// lanes each, as long as they are; sums are f64, over lanes, then warps, in a fixed order. Blocks of threads are as
// large as their systems and start largest first: the hardware hands them out as others end. Bytes per iteration from
// memory: none where the matrix fits, else the matrix, from the L2 cache or behind it.
#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/solvers/block_sums.cuh"
#include "kernels/backends.hpp"
#include "kernels/cg_direct_loop.hpp"

namespace tulle::cuda {
namespace {

constexpr int most_threads = 512;

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
        const int block_row = row / block_, i = row % block_;
        const int begin = offsets[block_row], end = offsets[block_row + 1];
        if constexpr (Blocks) {
          for (int k = begin + lane; k < end; k += lanes) {
            const T* const value = values + (k * block_ + i) * block_;
            const T* const from = v + columns[k] * block_;
#pragma unroll
            for (int j = 0; j < batch_most_block; ++j) {
              if (j < block_) product = fma(value[j], from[j], product);
            }
          }
        } else if (lanes == 1) {  // short rows: unrolling costs more than it hides
#pragma unroll 1
          for (int k = begin; k < end; ++k) product = fma(values[k], v[columns[k]], product);
        } else {
#pragma unroll 4
          for (int k = begin + lane; k < end; k += lanes) product = fma(values[k], v[columns[k]], product);
        }
      }
      for (int d = lanes / 2; d > 0; d /= 2) product += __shfl_xor_sync(full_warp, product, d);
      if (row < n_ && lane == 0) f(row, product);
    }
  }

  /// Calls f(column, value) for the entries of a scalar row.
  template <class F>
  __device__ void for_entries(int row, F f) const {
    const int block_row = row / block_, i = row % block_;
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

template <class T, bool Blocks>
__global__ void __launch_bounds__(most_threads) batch_kernel(const __grid_constant__ batch_arrays<T> a) {
  extern __shared__ __align__(16) unsigned char batch_shared[];
  __shared__ warp_sums scratch[2];
  const batch_system at = a.systems[blockIdx.x];
  device_system<T, Blocks> system(a, at, batch_shared, scratch);
  const cg_record record = solve_system(system, a.rules);
  system.end();
  if (threadIdx.x == 0) a.records[at.number] = record;
}

/// Systems that one launch takes.
struct batch_class {
  int threads;
  bool resident;
  std::int64_t first = 0, count = 0;  // of the systems
  std::size_t shared = 0;
  std::int64_t entries = 0, rows = 0;
  /// As many as a row is worth; 0: chosen.
  [[nodiscard]] int lanes(int wanted_lanes, int block) const {
    if (wanted_lanes > 0) return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(wanted_lanes, 32))));
    const std::int64_t mean = entries / std::max<std::int64_t>(rows, 1) / block;
    const auto wanted = static_cast<unsigned>(std::clamp<std::int64_t>(mean / (resident ? 8 : 4), 1, 32));
    return static_cast<int>(std::bit_floor(wanted));
  }
};

template <class T>
class batch final : public batch_operator {
 public:
  batch(const context& ctx, const batch_problem& p) : ctx_(ctx), block_(p.block), options_(p.options) {
    arrays_.offsets = p.offsets;
    arrays_.columns = p.columns;
    arrays_.rules = {options_.rtol, options_.atol, options_.max_iterations, options_.replace_interval};
    arrays_.block = p.block;
    arrays_.width = options_.preconditioner == preconditioner_kind::none     ? 0
                    : options_.preconditioner == preconditioner_kind::jacobi ? 1
                                                                             : options_.block;
    arrays_.zero_guess = options_.zero_guess;
    classify(p.systems);
    const device_guard guard(ctx_.device());
    const auto most = static_cast<int>(room());
    for (const auto kernel : {batch_kernel<T, false>, batch_kernel<T, true>}) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most), "cudaFuncSetAttribute");
    }
  }

  void enqueue(const batch_call& call, stream_view stream) override {
    const device_guard guard(ctx_.device());
    batch_arrays<T> a = arrays_;
    a.values = static_cast<const T*>(call.values);
    a.b = static_cast<const T*>(call.b);
    a.x = static_cast<T*>(call.x);
    a.records = call.records;
    for (const batch_class& c : classes_) {
      a.systems = systems_.data() + c.first;
      a.resident = c.resident;
      a.lanes = c.lanes(options_.spmv.lanes, block_);
      const launch_shape shape{c.count, c.threads, c.shared};
      launch("cg.batch", block_ > 1 ? batch_kernel<T, true> : batch_kernel<T, false>, shape, native(stream), a);
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return systems_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    std::string all = "a block of threads for each";
    for (const batch_class& c : classes_) {
      all += (&c == &classes_.front() ? ": " : ", ") + std::to_string(c.count) + " of " + std::to_string(c.threads) +
             " threads, " + std::to_string(c.lanes(options_.spmv.lanes, block_)) + " lanes a row and " +
             std::to_string(c.shared) + " bytes" + (c.resident ? "" : " without the matrix");
    }
    return all;
  }

 private:
  [[nodiscard]] std::size_t room() const { return ctx_.info().shared_bytes - 2 * sizeof(warp_sums); }
  [[nodiscard]] std::size_t bytes_of(const batch_system& s, bool resident) const {
    const auto block = static_cast<std::size_t>(block_), rows = static_cast<std::size_t>(s.rows),
               blocks = static_cast<std::size_t>(s.blocks);
    return batch_layout(sizeof(T), rows * block, arrays_.width, resident, blocks * block * block, rows, blocks).bytes;
  }
  /// Four rows a thread, or 32 entries.
  [[nodiscard]] int threads_of(const batch_system& s) const {
    if (options_.spmv.block_size > 0) return std::clamp(options_.spmv.block_size / 32 * 32, 32, most_threads);
    const std::int64_t rows = std::int64_t{s.rows} * block_, entries = std::int64_t{s.blocks} * block_ * block_;
    const std::int64_t wanted = std::clamp<std::int64_t>(std::max(rows / 4, entries / 40), 32, most_threads);
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(wanted)));
  }
  void classify(std::span<const batch_system> systems) {
    std::map<std::pair<int, bool>, std::vector<batch_system>, std::greater<>> found;
    for (const batch_system& s : systems) {
      const bool resident = bytes_of(s, true) <= room();
      if (!resident && bytes_of(s, false) > room()) {
        throw error(status::unsupported,
                    "system " + std::to_string(s.number) + ": " + std::to_string(std::int64_t{s.rows} * block_) +
                        " unknowns are too many for a batch on this device: their vectors would take " +
                        std::to_string(bytes_of(s, false)) + " bytes of shared memory of " + std::to_string(room()) +
                        "; cg_solver takes them");
      }
      found[{threads_of(s), resident}].push_back(s);
    }
    std::vector<batch_system> all;
    for (const auto& [key, members] : found) {
      batch_class c{key.first, key.second, static_cast<std::int64_t>(all.size()),
                    static_cast<std::int64_t>(members.size())};
      for (const batch_system& s : members) {
        c.shared = std::max(c.shared, bytes_of(s, c.resident));
        c.entries += std::int64_t{s.blocks} * block_ * block_;
        c.rows += std::int64_t{s.rows} * block_;
      }
      classes_.push_back(c);
      all.insert(all.end(), members.begin(), members.end());
    }
    systems_ = to_buffer(ctx_, all);
  }

  context ctx_;
  int block_;
  cg_options options_;
  batch_arrays<T> arrays_{};
  std::vector<batch_class> classes_;
  buffer<batch_system> systems_;
};

}  // namespace

std::unique_ptr<batch_operator> make_cg_batch(const context& ctx, const batch_problem& problem) {
  if (problem.type == scalar_type::f32) return std::make_unique<batch<float>>(ctx, problem);
  return std::make_unique<batch<double>>(ctx, problem);
}

}  // namespace tulle::cuda

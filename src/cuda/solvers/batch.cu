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

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/solvers/batch_system.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

constexpr int most_threads = 512;

template <class T, bool Blocks>
__global__ void __launch_bounds__(most_threads, 2) batch_kernel(const __grid_constant__ batch_arrays<T> a) {
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
  [[nodiscard]] int lanes(int wanted_lanes) const {
    if (wanted_lanes > 0) return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(wanted_lanes, 32))));
    const std::int64_t mean = entries / std::max<std::int64_t>(rows, 1);
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
      a.lanes = c.lanes(options_.spmv.lanes);
      const launch_shape shape{c.count, c.threads, c.shared};
      launch("cg.batch", block_ > 1 ? batch_kernel<T, true> : batch_kernel<T, false>, shape, native(stream), a);
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override { return systems_.bytes(); }
  [[nodiscard]] std::string parameters() const override {
    std::string all = "a block of threads for each";
    for (const batch_class& c : classes_) {
      all += (&c == &classes_.front() ? ": " : ", ") + std::to_string(c.count) + " of " + std::to_string(c.threads) +
             " threads, " + std::to_string(c.lanes(options_.spmv.lanes)) + " lanes a row and " +
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

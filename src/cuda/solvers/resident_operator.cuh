// What the resident solvers share on the host: the matrix as blocks, its division, and the launch.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <tulle/formats/matrices.hpp>
#include <variant>
#include <vector>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/resident.cuh"
#include "cuda/solvers/resident_grid.cuh"
#include "cuda/solvers/resident_plan.hpp"
#include "cuda/solvers/resident_support.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/backends.hpp"
#include "kernels/cg.hpp"

namespace tulle::cuda {

template <class T, template <class, int, int> class Exchange>
class resident_operator final : public cg_operator {
 public:
  resident_operator(const context& ctx, const cg_problem& p, const resident_grid& grid)
      : ctx_(ctx), options_(p.options), cluster_(grid.cluster), block_(resident_block(p)) {
    take_blocks(p);
    if (const char* const t = std::getenv("TULLE_TRIAL")) trial_ = std::atoi(t);
    divide(resident_parts(p, ctx.info(), grid));
    update_values(p);
    check_diagonal();
  }

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    const device_guard guard(ctx_.device());
    resident_problem<T> a = problem_;
    a.b = static_cast<const T*>(b);
    a.x = static_cast<T*>(x);
    a.record = record;
    a.history = history;
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block_, [&]<int Block>() { start<Block>(a, native(stream)); });
  }
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) override {
    const device_guard guard(ctx_.device());
    enqueue(b, x, record, history, stream);
    check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  }
  ~resident_operator() override {
    if ((trial_ & 1) == 0 || options_.max_iterations > 1000 || options_.max_iterations <= 10) return;
    const auto all = to_host<unsigned>(stamps_.data(), stamps_.size());
    const char* const names[] = {"begin", "load", "invert", "keep", "scalars", "step", "take", "barrier", "product", "precond", "barrier", "local", "global", "barrier", "-", "whole"};
    const int warm = std::max(1, options_.max_iterations - 4);
    for (const int part : {0, parts_ / 2}) {
      for (const int warp : {0, 6}) {
        std::string line = "    part " + std::to_string(part) + " warp " + std::to_string(warp) + ": start";
        const unsigned* const of = all.data() + (part * 8 + warp) * 32;
        for (int u = 0; u < 4; ++u) line += std::string(" ") + names[u] + " " + std::to_string(of[u]);
        line += "; cold";
        for (int u = 4; u < 14; ++u) line += " " + std::to_string(of[u]);
        line += " whole " + std::to_string(of[15]) + "; of an iteration:";
        unsigned sum = 0;
        for (int u = 4; u < 14; ++u) line += std::string(" ") + names[u] + " " + std::to_string(of[16 + u] / warm), sum += of[16 + u] / warm;
        line += " = " + std::to_string(sum);
        std::puts(line.c_str());
      }
    }
  }
  void update_values(const cg_problem& p) override {
    const device_guard guard(ctx_.device());
    problem_.values = static_cast<const T*>(p.blocks.block > 0 ? p.blocks.values : p.csr.values);
    if (own_blocks_) {
      dispatch<type_set::floating>(p.csr.types, [&]<class V, class O>() {
        if constexpr (std::is_same_v<V, T>) {
          bsr<T, O>& to = std::get<bsr<T, O>>(*own_blocks_);
          formats<T, O>().update_bsr(ctx_, p.csr.as<T, O>(), to);
          problem_.values = to.values.data();
        }
      });
    }
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return places_.bytes() + pattern_.bytes() + outer_.bytes() + vectors_.bytes() + sums_.bytes() + own_bytes_;
  }
  [[nodiscard]] std::string parameters() const override {
    return "blocks=" + std::to_string(parts_) + " threads=" + std::to_string(resident_threads) +
           " shared=" + std::to_string(shared_) + " block=" + std::to_string(block_);
  }

 private:
  /// Later values are left to the solves.
  void check_diagonal() const {
    if (options_.preconditioner == preconditioner_kind::none) return;
    block_arrays arrays = arrays_;
    arrays.values = problem_.values;
    if (options_.preconditioner == preconditioner_kind::block_jacobi)
      return invert_diagonal_blocks(ctx_, arrays, block_, nullptr);
    buffer<T> roots(ctx_, static_cast<std::size_t>(arrays_.rows) * static_cast<std::size_t>(block_));
    (void)diagonal_roots(ctx_, arrays, roots.data());
  }
  void take_blocks(const cg_problem& p) {
    arrays_ = blocks_of(p.blocks.block > 0 ? p.blocks : p.csr);
    if (arrays_.block == block_) return;
    dispatch<type_set::floating>(p.csr.types, [&]<class V, class O>() {
      if constexpr (std::is_same_v<V, T>) {
        own_blocks_.emplace(formats<T, O>().csr_to_bsr(ctx_, p.csr.as<T, O>(), block_));
        const bsr<T, O>& made = std::get<bsr<T, O>>(*own_blocks_);
        arrays_ = blocks_of(matrix_ref(made));
        own_bytes_ = made.values.bytes();
      }
    });
  }

  template <class E>
  [[nodiscard]] std::vector<E> to_host(const void* from, std::size_t count) const {
    std::vector<E> to(count);
    copy_bytes(ctx_, to.data(), memory_space::host, from, memory_space::device, count * sizeof(E));
    return to;
  }
  template <class E>
  void to_device(const std::vector<E>& from, buffer<E>& to) const {
    to = buffer<E>(ctx_, from.size());
    copy_bytes(ctx_, to.data(), memory_space::device, from.data(), memory_space::host, to.bytes());
  }
  [[nodiscard]] std::vector<std::int64_t> offsets() const {
    const std::size_t count = static_cast<std::size_t>(arrays_.rows) + 1;
    if (arrays_.types.offset == offset_type::i64) return to_host<std::int64_t>(arrays_.rowptr, count);
    const std::vector<std::int32_t> narrow = to_host<std::int32_t>(arrays_.rowptr, count);
    return {narrow.begin(), narrow.end()};
  }

  void divide(int parts) {
    const device_guard guard(ctx_.device());
    const std::vector<std::int64_t> rowptr = offsets();
    const auto colind = to_host<index_t>(arrays_.colind, static_cast<std::size_t>(rowptr.back()));
    const resident_plan plan = plan_resident(rowptr, colind, parts, cluster_);
    parts_ = plan.parts;
    shared_ = resident_layout(block_, sizeof(T), static_cast<std::size_t>(plan.most_rows),
                              static_cast<std::size_t>(plan.most_blocks), static_cast<std::size_t>(plan.most_columns),
                              static_cast<std::size_t>(plan.most_pattern))
                  .bytes;
    if (shared_ + resident_static_bytes > ctx_.info().shared_bytes || plan.most_columns > resident_most_columns) {
      throw error(status::unsupported, "cg: a part of the matrix takes " + std::to_string(shared_) +
                                           " bytes of shared memory of " + std::to_string(ctx_.info().shared_bytes));
    }
    to_device(plan.place, places_);
    to_device(plan.pattern, pattern_);
    to_device(plan.outer, outer_);
    first_bad_ = buffer<unsigned long long>(ctx_, 1);
    fill_bytes(ctx_, first_bad_.data(), memory_space::device, 0xff, first_bad_.bytes());
    problem_ = {places_.data(),
                outer_.data(),
                pattern_.data(),
                plan.most_rows,
                plan.most_blocks,
                plan.most_columns,
                nullptr,
                nullptr,
                nullptr,
                nullptr,
                first_bad_.data(),
                nullptr,
                options_.rtol,
                options_.atol,
                options_.max_iterations,
                options_.replace_interval,
                options_.zero_guess,
                options_.preconditioner};
    if (trial_ != 0) {
      stamps_ = buffer<unsigned>(ctx_, static_cast<std::size_t>(parts_) * 8 * 32);
      problem_.stamps = stamps_.data();
    }
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block_, [&]<int Block>() { prepare<Block>(); });
  }

  /// Memory of the exchange, and whether all blocks will be resident together.
  template <int Block>
  void prepare() {
    constexpr bool six = Block == 6;
    if (six && trial_ == 1) return prepare<six ? 6 : 5, six ? 1 : 0>();
    if (six && trial_ == 3) return prepare<six ? 6 : 5, six ? 3 : 0>();
    if (six && trial_ == 5) return prepare<six ? 6 : 5, six ? 5 : 0>();
    if (six && trial_ == 64) return prepare<six ? 6 : 5, six ? 64 : 0>();
    if (six && trial_ == 65) return prepare<six ? 6 : 5, six ? 65 : 0>();
    if (six && trial_ == 128) return prepare<six ? 6 : 5, six ? 128 : 0>();
    if (six && trial_ == 192) return prepare<six ? 6 : 5, six ? 192 : 0>();
    return prepare<Block, 0>();
  }
  template <int Block, int Trial>
  void prepare() {
    using exchange = Exchange<T, Block, Trial>;
    const auto kernel = resident_kernel<Block, T, Exchange, Trial>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)),
          "cudaFuncSetAttribute");
    int resident = 0;
    if constexpr (requires { exchange::words; }) {
      vectors_ = buffer<tagged_word>(ctx_, static_cast<std::size_t>(arrays_.rows) * exchange::words);
      sums_ = buffer<tagged_word>(ctx_, 8 * static_cast<std::size_t>(parts_) * resident_sums::count + 1);
      fill_bytes(ctx_, vectors_.data(), memory_space::device, 0, vectors_.bytes());
      fill_bytes(ctx_, sums_.data(), memory_space::device, 0, sums_.bytes());
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, resident_threads, shared_),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      resident *= ctx_.info().multiprocessors;
    } else {
      if (parts_ > 8) {
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), "cudaFuncSetAttribute");
      }
      cudaLaunchAttribute attribute;
      const cudaLaunchConfig_t config = configuration(attribute, nullptr);
      int clusters = 0;
      check(cudaOccupancyMaxActiveClusters(&clusters, kernel, &config), "cudaOccupancyMaxActiveClusters");
      resident = clusters * parts_;
    }
    if (resident < parts_) {
      throw error(status::unsupported, "cg: " + std::to_string(parts_) + " blocks of " + std::to_string(shared_) +
                                           " bytes of shared memory cannot run at once on this device, " +
                                           std::to_string(resident) + " can");
    }
  }

  cudaLaunchConfig_t configuration(cudaLaunchAttribute& attribute, cudaStream_t stream) const {
    attribute = {};
    if (cluster_) {
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = static_cast<unsigned>(parts_);
      attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    } else {
      attribute.id = cudaLaunchAttributeCooperative;
      attribute.val.cooperative = 1;
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(parts_));
    config.blockDim = dim3(static_cast<unsigned>(resident_threads));
    config.dynamicSmemBytes = shared_;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
  }

  template <int Block>
  void start(const resident_problem<T>& a, cudaStream_t stream) {
    constexpr bool six = Block == 6;
    if (six && trial_ == 1) return start<six ? 6 : 5, six ? 1 : 0>(a, stream);
    if (six && trial_ == 3) return start<six ? 6 : 5, six ? 3 : 0>(a, stream);
    if (six && trial_ == 5) return start<six ? 6 : 5, six ? 5 : 0>(a, stream);
    if (six && trial_ == 64) return start<six ? 6 : 5, six ? 64 : 0>(a, stream);
    if (six && trial_ == 65) return start<six ? 6 : 5, six ? 65 : 0>(a, stream);
    if (six && trial_ == 128) return start<six ? 6 : 5, six ? 128 : 0>(a, stream);
    if (six && trial_ == 192) return start<six ? 6 : 5, six ? 192 : 0>(a, stream);
    return start<Block, 0>(a, stream);
  }
  template <int Block, int Trial>
  void start(const resident_problem<T>& a, cudaStream_t stream) {
    using exchange = Exchange<T, Block, Trial>;
    typename exchange::memory memory{};
    if constexpr (requires { exchange::words; }) {
      memory = {vectors_.data(), sums_.data(), &(sums_.data() + sums_.size() - 1)->a};
    }
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = configuration(attribute, stream);
    check(cudaLaunchKernelEx(&config, resident_kernel<Block, T, Exchange, Trial>, a, memory),
          cluster_ ? "cg.cluster" : "cg.persistent", status::kernel_launch);
  }

  context ctx_;
  cg_options options_;
  bool cluster_;
  index_t block_;
  int parts_ = 0;
  int trial_ = 0;
  buffer<unsigned> stamps_;
  std::size_t shared_ = 0, own_bytes_ = 0;
  block_arrays arrays_;
  resident_problem<T> problem_{};
  std::optional<std::variant<bsr<T, std::int32_t>, bsr<T, std::int64_t>>> own_blocks_;
  buffer<std::int32_t> pattern_, outer_;
  buffer<resident_place> places_;
  buffer<tagged_word> vectors_, sums_;
  buffer<unsigned long long> first_bad_;
};

}  // namespace tulle::cuda

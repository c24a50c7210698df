// What the resident solvers share on the host: the matrix as blocks, its division, and the launch.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <tulle/formats/matrices.hpp>
#include <variant>
#include <vector>

#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/solvers/diagonal.hpp"
#include "cuda/solvers/old0/resident.cuh"
#include "cuda/solvers/old0/resident_grid.cuh"
#include "cuda/solvers/old0/resident_plan.hpp"
#include "cuda/solvers/old0/resident_support.hpp"
#include "cuda/spmv/csr_operator.cuh"
#include "kernels/backends.hpp"
#include "kernels/cg.hpp"

namespace tulle::cuda::old0 {

template <class T, template <class, int> class Exchange>
class resident_operator final : public cg_operator {
 public:
  resident_operator(const context& ctx, const cg_problem& p, const resident_grid& grid)
      : ctx_(ctx), options_(p.options), cluster_(grid.cluster), block_(resident_block(p)) {
    take_blocks(p);
    if (options_.spmv.block_size > 0) threads_ = std::clamp(options_.spmv.block_size / 32 * 32, 128, resident_threads);
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
    return pattern_.bytes() + columns_.bytes() + vectors_.bytes() + sums_.bytes() + own_bytes_;
  }
  [[nodiscard]] std::string parameters() const override {
    return "blocks=" + std::to_string(parts_) + " threads=" + std::to_string(threads_) +
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
    resident_plan plan = plan_resident(rowptr, colind, block_, parts);
    parts_ = plan.parts;
    shared_ = resident_layout(block_, sizeof(T), static_cast<std::size_t>(plan.most_rows),
                              static_cast<std::size_t>(plan.most_chunks), static_cast<std::size_t>(plan.most_columns))
                  .bytes;
    const int most_rows = threads_ / 32 * (32 / block_) * resident_groups;
    if (plan.most_rows > most_rows) {
      throw error(status::unsupported, "cg: a part of the matrix has " + std::to_string(plan.most_rows) +
                                           " rows of blocks of " + std::to_string(most_rows));
    }
    if (shared_ + resident_static_bytes > ctx_.info().shared_bytes || plan.most_columns > resident_most_columns) {
      throw error(status::unsupported, "cg: a part of the matrix takes " + std::to_string(shared_) +
                                           " bytes of shared memory of " + std::to_string(ctx_.info().shared_bytes));
    }
    if (!cluster_) {
      for (std::int32_t& row : plan.outer) row = plan.row_begin[static_cast<std::size_t>(row >> 16)] + (row & 0xffff);
    }
    std::vector<std::vector<std::int32_t>> readers(static_cast<std::size_t>(arrays_.rows));
    for (int g = 0; g < plan.parts; ++g) {
      const std::int32_t own = plan.row_begin[g + 1] - plan.row_begin[g];
      for (std::int32_t k = plan.outer_begin[g]; k < plan.outer_begin[g + 1]; ++k) {
        const std::int32_t row =
            cluster_ ? plan.row_begin[plan.outer[k] >> 16] + (plan.outer[k] & 0xffff) : plan.outer[k];
        readers[row].push_back((g << 16) + own + k - plan.outer_begin[g]);
      }
    }
    std::vector<std::int32_t> push_begin(1, 0), push;
    for (const auto& r : readers) {
      push.insert(push.end(), r.begin(), r.end());
      push_begin.push_back(static_cast<std::int32_t>(push.size()));
    }
    to_device(push_begin, push_begin_);
    to_device(push, push_);
    std::vector<std::int32_t> all;
    const auto append = [&](const std::vector<std::int32_t>& part) {
      const std::size_t at = all.size();
      all.insert(all.end(), part.begin(), part.end());
      return at;
    };
    const std::size_t row_begin = append(plan.row_begin), chunk_begin = append(plan.chunk_begin),
                      outer_begin = append(plan.outer_begin), row_chunk = append(plan.row_chunk),
                      source = append(plan.source), outer = append(plan.outer), diagonal = append(plan.diagonal);
    to_device(all, pattern_);
    to_device(plan.column, columns_);
    const std::int32_t* const p = pattern_.data();
    first_bad_ = buffer<unsigned long long>(ctx_, 1);
    fill_bytes(ctx_, first_bad_.data(), memory_space::device, 0xff, first_bad_.bytes());
    problem_ = {p + row_begin,
                p + chunk_begin,
                p + outer_begin,
                p + row_chunk,
                p + source,
                p + outer,
                p + diagonal,
                columns_.data(),
                plan.most_rows,
                plan.most_chunks,
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
    with_constant<1, 2, 3, 4, 5, 6, 7, 8>(block_, [&]<int Block>() { prepare<Block>(); });
  }

  /// Memory of the exchange, and whether all blocks will be resident together.
  template <int Block>
  void prepare() {
    using exchange = Exchange<T, Block>;
    const auto kernel = resident_kernel<Block, T, Exchange>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_)),
          "cudaFuncSetAttribute");
    int resident = 0;
    if constexpr (requires { exchange::words; }) {
      vectors_ = buffer<tagged_word>(ctx_, static_cast<std::size_t>(arrays_.rows) * exchange::words);
      sums_ = buffer<tagged_word>(ctx_, 2 * static_cast<std::size_t>(parts_) * resident_sums::count + 1);
      fill_bytes(ctx_, vectors_.data(), memory_space::device, 0, vectors_.bytes());
      fill_bytes(ctx_, sums_.data(), memory_space::device, 0, sums_.bytes());
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads_, shared_),
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
    config.blockDim = dim3(static_cast<unsigned>(threads_));
    config.dynamicSmemBytes = shared_;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return config;
  }

  template <int Block>
  void start(const resident_problem<T>& a, cudaStream_t stream) {
    using exchange = Exchange<T, Block>;
    typename exchange::memory memory{};
    if constexpr (requires { exchange::words; }) {
      memory = {vectors_.data(), sums_.data(), &(sums_.data() + sums_.size() - 1)->a};
    }
    if constexpr (requires { memory.to; }) memory = {push_begin_.data(), push_.data()};
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = configuration(attribute, stream);
    check(cudaLaunchKernelEx(&config, resident_kernel<Block, T, Exchange>, a, memory),
          cluster_ ? "cg.cluster" : "cg.persistent", status::kernel_launch);
  }

  context ctx_;
  cg_options options_;
  bool cluster_;
  index_t block_;
  int parts_ = 0;
  int threads_ = resident_threads;
  std::size_t shared_ = 0, own_bytes_ = 0;
  block_arrays arrays_;
  resident_problem<T> problem_{};
  std::optional<std::variant<bsr<T, std::int32_t>, bsr<T, std::int64_t>>> own_blocks_;
  buffer<std::int32_t> pattern_, push_begin_, push_;
  buffer<std::uint16_t> columns_;
  buffer<tagged_word> vectors_, sums_;
  buffer<unsigned long long> first_bad_;
};

}  // namespace tulle::cuda

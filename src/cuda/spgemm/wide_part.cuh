// What a block makes of C at a time: a wide row, or a part of one.
#pragma once

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {

__host__ __device__ constexpr std::int64_t parts_of(std::int64_t entries, std::int64_t chunk) {
  return (entries + chunk - 1) / chunk;
}

/// One or two kinds of tasks, which a launch takes one after the other.
struct kinds_of_tasks {
  wide_tasks::kind kind[2];
  int size;

  __host__ std::int64_t most(const wide_tasks& tasks) const {
    return tasks.most(kind[0]) + (size > 1 ? tasks.most(kind[1]) : 0);
  }
  /// The i-th; row < 0 where there are fewer.
  __device__ wide_task at(const wide_tasks& tasks, std::int64_t i) const {
    if (tasks.begin == nullptr) return {tasks.list[static_cast<index_t>(i)], 0};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (j >= size) break;
      const auto count = static_cast<std::int64_t>(tasks.count[kind[j]]);
      if (i < count) return *tasks.at(kind[j], i);
      i -= count;
    }
    return {-1, 0};
  }
};

/// Entries to .. to + count - 1 of C, between columns first and last; `whole` where they are all of the row.
struct wide_part {
  index_t row;
  std::int64_t to;
  int count;  // 0 where there is nothing to do
  index_t first;
  index_t last;
  bool whole;

  template <class O>
  __device__ wide_part(const wide_tasks& tasks, const kinds_of_tasks& kinds, const O* c_rowptr, const index_t* c_colind)
      : count(0) {
    const wide_task task = kinds.at(tasks, blockIdx.x);
    row = task.row;
    if (row < 0) return;
    const std::int64_t begin = c_rowptr[row], entries = c_rowptr[row + 1] - begin;
    const std::int64_t parts = parts_of(entries, tasks.chunk), share = parts_of(entries, parts);
    to = begin + task.part * share;
    count = static_cast<int>(max(min(share, begin + entries - to), std::int64_t{0}));  // shares are rounded up
    if (count == 0) return;
    first = c_colind[to];
    last = c_colind[to + count - 1];
    whole = parts == 1;
  }
};

/// A kernel of a block per task, and the shared memory that it takes.
template <class Kernel>
struct task_kernel {
  Kernel kernel;
  int threads;
  int bytes;

  template <class T, class O>
  void launch(const product_pattern<O>& m, const product_values<T, O>& v, const wide_tasks& tasks,
              const kinds_of_tasks& kinds, cudaStream_t stream) const {
    if (kinds.most(tasks) == 0) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
    cuda::launch("spgemm: values of wide rows", kernel, {kinds.most(tasks), threads, static_cast<std::size_t>(bytes)},
                 stream, m, v, tasks, kinds);
  }
};

/// All tasks, those that take longest first, by a kernel for up to narrow_chunk entries and one for up to wide_chunk.
template <class Narrow, class Wide, class T, class O>
void run_tasks(const task_kernel<Narrow>& narrow, const task_kernel<Wide>& wide, const product_pattern<O>& m,
               const product_values<T, O>& v, const wide_tasks& tasks, cudaStream_t stream) {
  using enum wide_tasks::kind;
  const bool cut = tasks.begin != nullptr;
  if (cut && tasks.chunk <= narrow_chunk) return narrow.launch(m, v, tasks, {{row_parts, short_rows}, 2}, stream);
  if (cut) wide.launch(m, v, tasks, {{row_parts, long_rows}, 2}, stream);
  narrow.launch(m, v, tasks, {{short_rows}, 1}, stream);
}

}  // namespace tulle::cuda

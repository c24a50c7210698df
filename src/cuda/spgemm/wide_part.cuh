// What a block makes of C at a time: a wide row, or a part of one.
#pragma once

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/wide_rows.hpp"

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

/// Calls run(kinds, whether they are narrow) for each launch that the tasks take, those that take longest first.
template <class Run>
void for_each_launch(const wide_tasks& tasks, Run run) {
  using enum wide_tasks::kind;
  const bool cut = tasks.begin != nullptr;
  if (cut && tasks.chunk <= narrow_chunk) return run(kinds_of_tasks{{row_parts, short_rows}, 2}, true);
  if (cut) run(kinds_of_tasks{{row_parts, long_rows}, 2}, false);
  run(kinds_of_tasks{{short_rows}, 1}, true);
}

/// Launches a kernel of a block a task, with `bytes` of shared memory.
template <class Kernel, class T, class O>
void launch_tasks(Kernel kernel, int threads, int bytes, const product_pattern<O>& m, const product_values<T, O>& v,
                  const wide_tasks& tasks, const kinds_of_tasks& kinds, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(kinds.most(tasks));
  if (blocks == 0) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
  kernel<<<blocks, threads, bytes, stream>>>(m, v, tasks, kinds);
  check_launch("spgemm: fill_wide_values");
}

}  // namespace tulle::cuda

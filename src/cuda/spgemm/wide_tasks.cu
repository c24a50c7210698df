// Wide rows of C cut into tasks. One thread: a row.
#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/wide_part.cuh"

namespace tulle::cuda {
namespace {

/// Places for `mine` tasks of each lane among those that `count` counts. All lanes call it.
__device__ std::int64_t claim(std::int64_t mine, unsigned long long* count) {
  const std::int64_t after = warp_inclusive_sum(mine);
  unsigned long long first = 0;
  if (lane_id() == 31 && after > 0) first = atomicAdd(count, static_cast<unsigned long long>(after));
  return static_cast<std::int64_t>(__shfl_sync(full_warp, first, 31)) + after - mine;
}

/// One thread per row: its tasks, in any order among the rows.
template <class O>
__global__ void __launch_bounds__(block_threads) cut_kernel(row_list list, const O* c_rowptr, wide_tasks tasks) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block_threads + threadIdx.x;
  const bool real = i < list.count();
  const index_t row = real ? list[static_cast<index_t>(i)] : 0;
  const std::int64_t entries = real ? c_rowptr[row + 1] - c_rowptr[row] : 0;
  const std::int64_t parts = parts_of(entries, tasks.chunk);
  const bool is_short = parts == 1 && entries <= narrow_chunk, is_long = parts == 1 && !is_short;
  const std::int64_t of_short = claim(is_short ? 1 : 0, tasks.count + wide_tasks::short_rows);
  const std::int64_t of_long = claim(is_long ? 1 : 0, tasks.count + wide_tasks::long_rows);
  const std::int64_t of_parts = claim(parts > 1 ? parts : 0, tasks.count + wide_tasks::row_parts);
  if (is_short) *tasks.at(wide_tasks::short_rows, of_short) = {row, 0};
  if (is_long) *tasks.at(wide_tasks::long_rows, of_long) = {row, 0};
  for (std::int64_t part = 0; part < parts && parts > 1; ++part) {
    *tasks.at(wide_tasks::row_parts, of_parts + part) = {row, static_cast<index_t>(part)};
  }
}

}  // namespace

void cut_wide_rows(const product_fill& to, const wide_tasks& tasks) {
  to.product.with_offsets([&]<class O>() {
    launch("spgemm: cut_wide_rows", cut_kernel<O>, threads_for(tasks.list.most), to.stream, tasks.list,
           static_cast<const O*>(to.c.rowptr), tasks);
  });
}

}  // namespace tulle::cuda

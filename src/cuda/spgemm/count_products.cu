// What A B amounts to, row by row: one read of A and two offsets of B per entry of A. One thread: an eighth of a row of
// A.
#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <tulle/core/buffer.hpp>

#include "kernels/backends.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"

namespace tulle::cuda {
namespace {

constexpr int lanes = 8;  // a row of A

template <class T, class O>
__global__ void __launch_bounds__(block_threads)
    count_kernel(csr_view<T, O> a, csr_view<T, O> b, const O* mask_rowptr, unsigned long long* work) {
  using reduce = cub::BlockReduce<unsigned long long, block_threads>;
  __shared__ typename reduce::TempStorage shared[2];
  unsigned long long products = 0, bound = 0;
  constexpr int rows_per_block = block_threads / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows_per_block; first < a.rows;
       first += std::int64_t{gridDim.x} * rows_per_block) {
    const std::int64_t i = first + threadIdx.x / lanes;
    const std::int64_t end = i < a.rows ? a.rowptr[i + 1] : 0;
    unsigned long long row = 0;
#pragma unroll 4
    for (std::int64_t k = i < a.rows ? a.rowptr[i] + lane : 0; k < end; k += lanes) {
      const index_t inner = a.colind[k];
      row += static_cast<unsigned long long>(b.rowptr[inner + 1] - b.rowptr[inner]);
    }
    row = warp_sum<lanes>(row);
    if (lane != 0 || i >= a.rows) continue;
    const unsigned long long limit = mask_rowptr ? mask_rowptr[i + 1] - mask_rowptr[i] : b.cols;
    products += row;
    bound += min(row, limit);
  }
  products = reduce(shared[0]).Sum(products);
  bound = reduce(shared[1]).Sum(bound);
  if (threadIdx.x != 0) return;
  atomicAdd(work, products);
  atomicAdd(work + 1, bound);
}

}  // namespace

spgemm_work count_products(const context& ctx, const spgemm_problem& p) {
  if (p.a.rows == 0) return {};
  const device_guard guard(ctx.device());
  buffer<unsigned long long> work(ctx, 2);
  fill_bytes(ctx, work.data(), memory_space::device, 0, work.bytes());
  const std::int64_t blocks =
      std::min(ceil_div(std::int64_t{p.a.rows} * lanes, block_threads), std::int64_t{8} * ctx.info().multiprocessors);
  dispatch<type_set::all>(pattern_types(p.a.types), [&]<class T, class O>() {
    launch("count_products", count_kernel<T, O>, {blocks, block_threads}, native(ctx), p.a.as<T, O>(), p.b.as<T, O>(),
           p.mask ? static_cast<const O*>(p.mask->rowptr) : nullptr, work.data());
  });
  const auto found = to_vector(ctx, work);
  return {static_cast<std::int64_t>(found[0]), static_cast<std::int64_t>(found[1])};
}

}  // namespace tulle::cuda

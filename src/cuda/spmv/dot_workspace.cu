// The second half of fused dot products: adds the shares that a kernel's blocks left (cuda/device/epilogue.cuh). A thread
// adds every 1024th share, or 8192nd on a cluster of eight blocks, whose sums meet in the shared memory of the first;
// 16 bytes per share. Starts while the kernel before it ends.
#include <cooperative_groups.h>

#include "cuda/spmv/fused_operator.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 1024;
constexpr int cluster_blocks = 8;
constexpr std::int64_t most_of_a_block = 4096;  // shares
/// Blocks of a grid whose last one adds up: what is over so soon would pay more for a second kernel.
constexpr std::int64_t most_waited_for = 2048;

/// `clustered`: the grid is one cluster.
__global__ void __launch_bounds__(threads) add_shares(dot_shares shares, bool clustered, dot_results dots) {
  await_previous_grid();
  double a = 0, b = 0;
  take_shares(shares.share, grid_thread(), shares.count, grid_stride(), a, b);
  double sum = block_sum_pair(a, b);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (clustered) {
    __shared__ double of_block[cluster_blocks][2];
    const auto cluster = cooperative_groups::this_cluster();
    cluster.sync();  // the first block runs, so that its memory is there
    if (threadIdx.x < 2) *cluster.map_shared_rank(&of_block[blockIdx.x][threadIdx.x], 0) = sum;
    cluster.sync();
    if (blockIdx.x > 0) return;
    if (threadIdx.x < 2) {
      sum = 0;
#pragma unroll
      for (int i = 0; i < cluster_blocks; ++i) sum += of_block[i][threadIdx.x];
    }
  }
#endif
  if (threadIdx.x < 2) dots.set(static_cast<int>(threadIdx.x), sum);
}

}  // namespace

dot_workspace::dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows)
    : blocks_(blocks),
      count_(blocks + shared_rows),
      has_clusters_(ctx.info().compute_capability >= 90),
      share_(ctx, static_cast<std::size_t>(2 * count_)),
      arrived_(ctx, blocks <= most_waited_for ? 1 : 0) {
  fill_bytes(ctx, share_.data(), memory_space::device, 0, share_.bytes());
  fill_bytes(ctx, arrived_.data(), memory_space::device, 0, arrived_.bytes());
}

void dot_workspace::add_up(const dot_results& dots, cudaStream_t stream) {
  if (left_ || !arrived_.empty()) return;
  const bool clustered = has_clusters_ && count_ > most_of_a_block;
  if (!has_clusters_) return launch("add_shares", add_shares, {1, threads}, stream, view(), false, dots);
  const int blocks = clustered ? cluster_blocks : 1;
  launch_behind("add_shares", add_shares, {blocks, threads}, blocks, stream, view(), clustered, dots);
}

}  // namespace tulle::cuda

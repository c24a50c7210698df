// Fused dot products that blocks do not add up by themselves (cuda/device/epilogue.cuh), because rows that they share
// leave shares, too, or because they have no registers for it: a second kernel, which starts while the first one ends.
// A thread adds every 1024th share, or 8192nd on a cluster of eight blocks, whose sums meet in the shared memory of the
// first; 16 bytes per share.
#include <cooperative_groups.h>

#include <algorithm>

#include "cuda/spmv/fused_operator.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 1024;
constexpr int cluster_blocks = 8;
constexpr std::int64_t most_of_a_block = 4096;  // shares
/// Blocks of a group where shares arrive by themselves, unless groups would be too many: so many are read at once.
constexpr unsigned least_together = 256;
constexpr int most_groups = 128;

/// `clustered`: the grid is one cluster.
__global__ void __launch_bounds__(threads) add_shares(dot_shares shares, bool clustered, dot_results dots) {
  await_previous_grid();
  double a = 0, b = 0;
  const auto* const pairs = reinterpret_cast<const double2*>(shares.share);
#pragma unroll 8
  for (std::int64_t i = grid_thread(); i < shares.count; i += grid_stride()) {
    const double2 pair = __ldcg(pairs + i);
    a += pair.x;
    b += pair.y;
  }
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

dot_workspace::dot_workspace(const context& ctx, std::int64_t blocks, std::int64_t shared_rows, bool may_arrive)
    : together_(may_arrive && shared_rows == 0 ? least_together : 0),
      blocks_(blocks),
      count_(blocks + shared_rows),
      has_clusters_(ctx.info().compute_capability >= 90) {
  std::int64_t groups = 0;
  if (together_ > 0) {
    const int most = std::clamp(ctx.info().multiprocessors - 1, 1, most_groups);
    while (ceil_div(blocks, together_) > most) together_ *= 2;
    groups = ceil_div(blocks, together_);
  }
  share_ = buffer<double>(ctx, static_cast<std::size_t>(2 * (count_ + groups)));
  constexpr unsigned char missing = 0xff;
  fill_bytes(ctx, share_.data(), memory_space::device, together_ > 0 ? missing : 0, share_.bytes());
}

dot_shares dot_workspace::view() {
  std::int64_t direct = 0;
  if (together_ > 0 && count_ > 0) {
    const std::int64_t beside = left_ ? 1 : least_together;
    direct = std::max(count_ - beside, std::int64_t{0}) / together_ * together_;
  }
  return {share_.data(), count_, count_ > blocks_ ? blocks_ : 0, together_, static_cast<unsigned>(direct), left_};
}

void dot_workspace::add_up(const dot_results& dots, cudaStream_t stream) {
  if (together_ > 0) return;
  const bool clustered = has_clusters_ && count_ > most_of_a_block;
  if (!has_clusters_) return launch("add_shares", add_shares, {1, threads}, stream, view(), false, dots);
  const int blocks = clustered ? cluster_blocks : 1;
  launch_behind("add_shares", add_shares, {blocks, threads}, blocks, stream, view(), clustered, dots);
}

}  // namespace tulle::cuda

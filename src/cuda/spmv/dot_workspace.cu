// The second half of fused dot products: adds the shares that a kernel's blocks left (cuda/device/epilogue.cuh).
#include <cstdlib>

#include "cuda/spmv/fused_operator.cuh"

namespace tulle::cuda {
namespace {

constexpr int threads = 512;
constexpr std::int64_t shares_per_block = 4096;  // about
constexpr std::int64_t most_blocks = 64;
/// Blocks that the last of them may wait for: a kernel that is over so soon would pay for a second one.
constexpr std::int64_t most_waited_for = 1024;

/// Block b adds a piece of the shares; where there are several blocks, the last to arrive adds their sums.
__global__ void __launch_bounds__(threads) add_shares(dot_shares shares, double* of_block, dot_results dots) {
  await_previous_grid();
  const std::int64_t piece = (shares.count + gridDim.x - 1) / gridDim.x;
  const std::int64_t first = piece * blockIdx.x;
  double a = 0, b = 0;
  take_shares(shares.share, first + threadIdx.x, min(first + piece, shares.count), threads, a, b);
  double sum = block_sum_pair(a, b);
  if (gridDim.x > 1) {
    if (threadIdx.x < 2) of_block[2 * blockIdx.x + threadIdx.x] = sum;
    __syncwarp();
    if (!last_to_arrive(shares.arrived, gridDim.x)) return;
    a = b = 0;
    take_shares(of_block, threadIdx.x, gridDim.x, threads, a, b);
    sum = block_sum_pair(a, b);
  }
  if (threadIdx.x < 2) dots.set(static_cast<int>(threadIdx.x), sum);
}

}  // namespace

dot_workspace::dot_workspace(const context& ctx, std::int64_t blocks, int block_size, std::int64_t shared_rows) {
  const char* const text = std::getenv("TULLE_DOTS");
  const int variant = text == nullptr ? 3 : std::atoi(text);
  mode_ = blocks <= most_waited_for ? dot_mode::last_block : dot_mode::block_shares;
  if ((variant & 3) != 3) mode_ = static_cast<dot_mode>(variant & 3);
  behind_ = (variant & 4) == 0;
  early_ = (variant & 8) == 0;
  own_ = mode_ == dot_mode::warp_shares ? blocks * (block_size / 32) : blocks;
  count_ = own_ + shared_rows;
  share_ = buffer<double>(ctx, static_cast<std::size_t>(2 * (count_ + most_blocks)));
  arrived_ = buffer<unsigned>(ctx, 1);
  fill_bytes(ctx, share_.data(), memory_space::device, 0, share_.bytes());
  fill_bytes(ctx, arrived_.data(), memory_space::device, 0, arrived_.bytes());
}

void dot_workspace::add_up(const dot_results& dots, cudaStream_t stream) {
  if (mode_ == dot_mode::last_block) return;
  const launch_shape shape{std::clamp<std::int64_t>(count_ / shares_per_block, 1, most_blocks), threads};
  double* const of_block = share_.data() + 2 * count_;
  if (behind_)
    launch_behind("add_shares", add_shares, shape, stream, view(), of_block, dots);
  else
    launch("add_shares", add_shares, shape, stream, view(), of_block, dots);
}

}  // namespace tulle::cuda

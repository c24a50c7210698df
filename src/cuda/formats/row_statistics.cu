// A block takes windows of 1024 rows, one thread per row; the lengths of a window are sorted in shared memory for the
// padding of SELL-32-1024. Sums are of integers, so that the order of additions does not matter.
#include <cmath>
#include <limits>
#include <tulle/formats/views.hpp>

#include "cuda/device/warp.cuh"
#include "cuda/formats/statistics.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

constexpr int window = 1024;

struct row_totals {
  unsigned long long longest = 0;
  unsigned long long empty = 0;
  unsigned long long slots = 0;
  unsigned long long sorted_slots = 0;
  unsigned long long squares_low = 0;  // squared lengths, modulo 2^32 and divided by it, so that neither sum overflows
  unsigned long long squares_high = 0;
};

/// Bitonic sort of `window` numbers, one per thread (Batcher, AFIPS 1968).
__device__ void sort_descending(std::int64_t* numbers) {
  const int i = static_cast<int>(threadIdx.x);
  for (int size = 2; size <= window; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = i ^ stride;
      if (other > i) {
        const bool descending = (i & size) == 0;
        const std::int64_t a = numbers[i];
        const std::int64_t b = numbers[other];
        if ((a < b) == descending) {
          numbers[i] = b;
          numbers[other] = a;
        }
      }
      __syncthreads();
    }
  }
}

__device__ void add_length(row_totals& totals, std::int64_t length) {
  const auto n = static_cast<unsigned long long>(length);
  const unsigned long long bounded = min(n, 0xffffffffull);
  totals.longest = max(totals.longest, n);
  totals.empty += n == 0 ? 1 : 0;
  totals.squares_low += bounded * bounded & 0xffffffffull;
  totals.squares_high += bounded * bounded >> 32;
}

__device__ void add_totals(const row_totals& mine, row_totals* totals) {
  const unsigned long long longest = warp_max(mine.longest);
  const unsigned long long empty = warp_sum(mine.empty);
  const unsigned long long slots = warp_sum(mine.slots);
  const unsigned long long sorted_slots = warp_sum(mine.sorted_slots);
  const unsigned long long squares_low = warp_sum(mine.squares_low);
  const unsigned long long squares_high = warp_sum(mine.squares_high);
  if (lane_id() != 0) return;
  atomicMax(&totals->longest, longest);
  atomicAdd(&totals->empty, empty);
  atomicAdd(&totals->slots, slots);
  atomicAdd(&totals->sorted_slots, sorted_slots);
  atomicAdd(&totals->squares_low, squares_low);
  atomicAdd(&totals->squares_high, squares_high);
}

template <class O>
__global__ void __launch_bounds__(window) row_totals_kernel(index_t rows, const O* rowptr, row_totals* totals) {
  __shared__ std::int64_t lengths[window];
  const int i = static_cast<int>(threadIdx.x);
  row_totals mine;
  for (std::int64_t first = std::int64_t{blockIdx.x} * window; first < rows;
       first += std::int64_t{gridDim.x} * window) {
    const std::int64_t row = first + i;
    const std::int64_t length = row < rows ? std::int64_t{rowptr[row + 1]} - rowptr[row] : -1;
    if (length >= 0) add_length(mine, length);
    const std::int64_t width = max(warp_max(length), std::int64_t{0});
    if (lane_id() == 0) mine.slots += static_cast<unsigned long long>(width) * sell_slice_rows;
    lengths[i] = length;
    __syncthreads();
    if (__syncthreads_or(i > 0 && lengths[i - 1] < length)) sort_descending(lengths);
    const std::int64_t sorted_width = max(lengths[i], std::int64_t{0});
    if (lane_id() == 0) mine.sorted_slots += static_cast<unsigned long long>(sorted_width) * sell_slice_rows;
    __syncthreads();
  }
  add_totals(mine, totals);
}

/// `a` per `b`; 1 where there is nothing to divide by.
double ratio(double a, double b) { return b == 0 ? 1.0 : a / b; }

}  // namespace

template <offset O>
void row_statistics(const context& ctx, const O* rowptr, csr_stats& stats) {
  auto on_device = device_value<row_totals>(ctx);
  launch("row_totals", row_totals_kernel<O>, bounded(ctx, {ceil_div(stats.rows, window), window}), native(ctx),
         stats.rows, rowptr, on_device.data());
  const row_totals totals = read_back(ctx, on_device.data());
  const auto rows = static_cast<double>(stats.rows);
  const auto nnz = static_cast<double>(stats.nnz);
  const unsigned long long most = std::numeric_limits<index_t>::max();
  stats.max = static_cast<index_t>(std::min(totals.longest, most));
  stats.empty_rows = static_cast<index_t>(totals.empty);
  stats.mean = stats.rows == 0 ? 0 : nnz / rows;
  stats.skew = ratio(static_cast<double>(stats.max), stats.mean);
  const double squares = static_cast<double>(totals.squares_high) * 0x1p32 + static_cast<double>(totals.squares_low);
  stats.stddev = stats.rows == 0 ? 0 : std::sqrt(std::max(0.0, squares / rows - stats.mean * stats.mean));
  stats.ell_padding = ratio(rows * static_cast<double>(stats.max), nnz);
  stats.sell_padding = ratio(static_cast<double>(totals.slots), nnz);
  stats.sell_sorted_padding = ratio(static_cast<double>(totals.sorted_slots), nnz);
}

template void row_statistics(const context&, const std::int32_t*, csr_stats&);
template void row_statistics(const context&, const std::int64_t*, csr_stats&);

}  // namespace tulle::cuda

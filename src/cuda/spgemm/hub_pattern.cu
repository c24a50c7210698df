// Pattern of the few rows with by far the most products: bitmaps over all columns in device memory, to which several
// blocks of each row add, as one block alone would still be at it when all other rows are done. Integers only, so the
// order in which bits are set does not matter. One thread: an even share of the products of 256 entries of A. Bytes per
// product: 4, and an atomic in L2. Chosen where such rows are fewer than would fill the device.
#include <algorithm>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/even_bits.cuh"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {
namespace {

template <class O>
__global__ void __launch_bounds__(even_block) set_hub_bits_kernel(product_pattern<O> m, word_rows<O> b, row_list list,
                                                                  int sharing, unsigned* bits, unsigned stride) {
  __shared__ even_rows<O> rows;
  const int hub = static_cast<int>(blockIdx.x) / sharing, share = static_cast<int>(blockIdx.x) % sharing;
  set_bits_evenly(m, b, list[hub], {share, sharing}, {0, stride, bits + std::size_t{stride} * hub}, rows);
}

template <class O>
__global__ void __launch_bounds__(even_block)
    count_hub_bits_kernel(row_list list, const uint4* bits, unsigned stride, index_t* entries, wide_entries* of_wide) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  const uint4* const mine = bits + std::size_t{blockIdx.x} * (stride / 4);
  int found = 0;
  for (unsigned i = threadIdx.x; i < stride / 4; i += even_block) {
    const uint4 word = mine[i];
    found += __popc(word.x) + __popc(word.y) + __popc(word.z) + __popc(word.w);
  }
  found = warp_sum(found);
  if (lane_id() == 0) atomicAdd(&total, found);
  __syncthreads();
  if (threadIdx.x != 0) return;
  entries[list[static_cast<index_t>(blockIdx.x)]] = total;
  of_wide->add(total);
}

}  // namespace

bool are_few_hubs(index_t rows, const device_info& device) {
  constexpr index_t rows_of_each = 6;  // blocks that a multiprocessor has room for
  return rows <= rows_of_each * device.multiprocessors;
}

void count_hubs(const product_ref& p, const row_list& list, const device_info& device, index_t* entries,
                wide_entries* of_wide, uint4* bits, cudaStream_t stream) {
  if (list.most == 0) return;
  constexpr int most_sharing = 32, wanted = 24;  // blocks of a row, and of a multiprocessor
  const auto stride = static_cast<unsigned>(bitmap_words(p.cols));
  const int sharing = std::clamp(wanted * device.multiprocessors / list.most, 2, most_sharing);
  const std::size_t bytes = static_cast<std::size_t>(list.most) * stride * sizeof(unsigned);
  check(cudaMemsetAsync(bits, 0, bytes, stream), "cudaMemsetAsync");
  p.with_offsets([&]<class O>() {
    launch("spgemm: set_hub_bits", set_hub_bits_kernel<O>, {std::int64_t{list.most} * sharing, even_block}, stream,
           p.pattern<O>(), p.b_words<O>(), list, sharing, &bits->x, stride);
    launch("spgemm: count_hub_bits", count_hub_bits_kernel<O>, {list.most, even_block}, stream, list,
           static_cast<const uint4*>(bits), stride, entries, of_wide);
  });
}

}  // namespace tulle::cuda

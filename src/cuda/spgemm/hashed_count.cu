// Entries of the rows whose entries lie in few words of 32 columns, as those of meshes do: the words of B go into a
// hash table with a mask each (integers only), and the bits are counted. After the hash accumulators of Nagasaka et al.
// (ICPP Workshops 2018) and the rows by class of spECK (Parger et al., PPoPP 2020). One warp per row; one thread: a
// word of B at a time. Bytes per product: 8 per word of B, through L1 and L2.
#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/row_kernels.hpp"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

constexpr int block = 128, warps = block / 32;
/// A row of A with more entries would keep one warp busy while the others have long finished.
constexpr std::int64_t longest_tried = 160;

__device__ row_class class_of(int words, int entries) {
  if (words <= 64 && entries <= 376) return entries <= 256 ? hashed_256 : hashed_376;
  return entries <= 480 ? hashed_480 : wide_counted;
}

template <class O>
__global__ void __launch_bounds__(block)
    try_kernel(product_pattern<O> m, word_rows<O> b, row_class otherwise, row_list list, index_t* entries,
               wide_entries* of_wide, std::uint8_t* classes) {
  constexpr int slots = 256;
  __shared__ word_table<slots> tables[warps];
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (i >= list.count()) return;
  const index_t row = list[static_cast<index_t>(i)];
  word_table<slots>& table = tables[threadIdx.x / 32];
  const bool too_long = std::int64_t{m.a_rowptr[row + 1]} - m.a_rowptr[row] > longest_tried;
  if (too_long || !table.template collect<8, true>(m, b, row)) {
    if (lane_id() == 0) classes[row] = otherwise;
    return;
  }
  int count = 0;
  for (int s = lane_id(); s < slots; s += 32) count += __popc(table.entry[s].x);
  count = warp_sum(count);
  if (lane_id() != 0) return;
  entries[row] = count;
  const row_class c = class_of(table.used, count);
  if (c == wide_counted) of_wide->add(count);
  classes[row] = c;
}

}  // namespace

void try_hashed(const product_ref& p, row_class trial_class, const row_list& list, index_t* entries,
                wide_entries* of_wide, std::uint8_t* classes, cudaStream_t stream) {
  p.with_offsets([&]<class O>() {
    launch("spgemm: try_hashed", try_kernel<O>, {ceil_div(list.most, warps), block}, stream, p.pattern<O>(),
           p.b_words<O>(), trial_class == trial_512 ? sorted_512 : wide, list, entries, of_wide, classes);
  });
}

}  // namespace tulle::cuda

// Pattern of the rows whose entries lie in few words of 32 columns, as those of meshes do: the words of a row go into a hash
// table with a mask each (integers only), are put in order by counting the smaller ones, and their bits are the columns,
// sorted. After the bitmap-rank accumulators of Nagasaka et al. (ICPP Workshops 2018: hash) and of spECK (Parger et al., PPoPP
// 2020: rows by class). One warp a row; one thread: a word of B at a time. Bytes a product: 8 a word of B.
#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/hashed_rows.hpp"
#include "cuda/spgemm/word_table.cuh"

namespace tulle::cuda {
namespace {

constexpr int block = 128, warps = block / 32;

template <int Slots>
struct pattern_space {
  unsigned key[Slots];
  unsigned mask[Slots];
};

/// The words of a row, collected. Returns their number, or -1 where they are more than half the slots.
template <int Lanes, bool Words, int Slots, class O>
__device__ int collect(const product_pattern<O>& m, const word_rows<O>& b, index_t row, pattern_space<Slots>& space) {
  const word_table<Slots> table{space.key};
  table.clear();
  for (int i = lane_id(); i < Slots; i += 32) space.mask[i] = 0;
  __syncwarp();
  int words = 0;
  const O end = m.a_rowptr[row + 1];
  for (O base = m.a_rowptr[row]; base < end; base += 32) {
    const O mine = base + lane_id();
    O first = 0, last = 0;
    if (mine < end) {
      const index_t inner = m.a_colind[mine];
      first = b.begin[inner];
      last = b.begin[inner + 1];
    }
    int added = 0;
    bool full = false;
    walk_words<Lanes, Words>(b, first, last, end - base < 32 ? static_cast<int>(end - base) : 32,
                             [&](unsigned word, unsigned mask) {
                               const int slot = full ? Slots : table.insert(word, added);
                               if (slot == Slots) {
                                 full = true;
                               } else {
                                 atomicOr(space.mask + slot, mask);
                               }
                             });
    words += warp_sum(added);
    if (__any_sync(full_warp, full) || words > Slots / 2) return -1;
  }
  __syncwarp();
  return words;
}

template <int Lanes, bool Words, class O>
__global__ void __launch_bounds__(block)
    try_kernel(product_pattern<O> m, word_rows<O> b, row_class otherwise, row_list list, index_t* entries, std::uint8_t* classes) {
  constexpr int slots = 256;
  __shared__ pattern_space<slots> spaces[warps];
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  if (i >= list.count()) return;
  const index_t row = list[static_cast<index_t>(i)];
  pattern_space<slots>& space = spaces[threadIdx.x / 32];
  const int words = collect<Lanes, Words>(m, b, row, space);
  int count = 0;
  for (int s = lane_id(); s < slots; s += 32) count += __popc(space.mask[s]);
  count = warp_sum(count);
  if (lane_id() != 0) return;
  if (words < 0) {
    classes[row] = otherwise;
    return;
  }
  entries[row] = count;
  classes[row] = words <= 64 && count <= 256 ? hashed_256 : count <= 512 ? hashed_512 : wide_counted;
}

template <int Lanes, bool Words, int Slots, int Most, class O>
__global__ void __launch_bounds__(block)
    columns_kernel(product_pattern<O> m, word_rows<O> b, row_list list, const O* c_rowptr, index_t* c_colind) {
  __shared__ pattern_space<Slots> spaces[warps];
  __shared__ uint2 lists[warps][Slots / 2];  // word; its slot and, above, its number of columns
  __shared__ index_t columns[warps][Most];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = lane_id();
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + warp;
  if (i >= list.count()) return;
  const index_t row = list[static_cast<index_t>(i)];
  pattern_space<Slots>& space = spaces[warp];
  const int words = collect<Lanes, Words>(m, b, row, space);
  int listed = 0;
  for (int s = lane; s < Slots; s += 32) {
    const bool used = space.key[s] != word_table<Slots>::none;
    const unsigned all = __ballot_sync(full_warp, used);
    if (used) {
      lists[warp][listed + __popc(all & ((1u << lane) - 1))] = {
          space.key[s], static_cast<unsigned>(s) | static_cast<unsigned>(__popc(space.mask[s])) << 16};
    }
    listed += __popc(all);
  }
  __syncwarp();
  for (int w = lane; w < words; w += 32) {
    const uint2 mine = lists[warp][w];
    unsigned at = 0;
    for (int other = 0; other < words; ++other) {
      const uint2 entry = lists[warp][other];
      at += entry.x < mine.x ? entry.y >> 16 : 0;
    }
    const auto first = static_cast<index_t>(mine.x * 32);
    for (unsigned mask = space.mask[mine.y & 0xffff]; mask != 0; mask &= mask - 1) {
      columns[warp][at++] = first + __ffs(static_cast<int>(mask)) - 1;
    }
  }
  __syncwarp();
  const O to = c_rowptr[row];
  const int count = static_cast<int>(c_rowptr[row + 1] - to);
  for (int q = lane; q < count; q += 32) c_colind[to + q] = columns[warp][q];
}

unsigned blocks_for(const row_list& list) {
  return static_cast<unsigned>((std::int64_t{list.most} + warps - 1) / warps);
}

/// Calls f<Lanes, Words>(): how rows of B are walked.
template <class O, class F>
void with_walk(const word_rows<O>& b, bool short_rows, F&& f) {
  if (b.words != nullptr) return f.template operator()<8, true>();
  if (short_rows) return f.template operator()<8, false>();
  f.template operator()<32, false>();
}

}  // namespace

template <class O>
void try_hashed(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, row_class trial_class,
                const row_list& list, index_t* entries, std::uint8_t* classes, cudaStream_t stream) {
  if (list.most == 0) return;
  with_walk(b, short_rows, [&]<int Lanes, bool Words>() {
    try_kernel<Lanes, Words, O><<<blocks_for(list), block, 0, stream>>>(
        m, b, trial_class == trial_512 ? sorted_512 : wide, list, entries, classes);
  });
  check_launch("spgemm: try_hashed");
}

template <class O>
void fill_hashed_columns(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, row_class c,
                         const row_list& list, const O* c_rowptr, index_t* c_colind, cudaStream_t stream) {
  if (list.most == 0) return;
  with_walk(b, short_rows, [&]<int Lanes, bool Words>() {
    const auto run = [&](auto kernel) { kernel<<<blocks_for(list), block, 0, stream>>>(m, b, list, c_rowptr, c_colind); };
    c == hashed_256 ? run(columns_kernel<Lanes, Words, 128, 256, O>) : run(columns_kernel<Lanes, Words, 256, 512, O>);
  });
  check_launch("spgemm: fill_hashed_columns");
}

#define TULLE_INSTANTIATE(O)                                                                                           \
  template void try_hashed(const product_pattern<O>&, const word_rows<O>&, bool, row_class, const row_list&, index_t*, \
                           std::uint8_t*, cudaStream_t);                                                               \
  template void fill_hashed_columns(const product_pattern<O>&, const word_rows<O>&, bool, row_class, const row_list&,  \
                                    const O*, index_t*, cudaStream_t);
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda

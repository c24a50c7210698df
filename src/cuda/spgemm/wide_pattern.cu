// Pattern of the rows whose entries are many or far apart: a bitmap over the columns between the row's first and last,
// in shared memory, by passes where it does not fit. Integers only, so the order in which bits are set does not matter.
// One block per row; one thread: a share of the entries (or words) of B, an even one where rows of B are short, then
// words of the bitmap. Bytes per product: 4, or 8 per word.
#include <algorithm>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/even_bits.cuh"
#include "cuda/spgemm/row_kernels.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = even_block, warps = block / 32;
constexpr int widest_bitmap = 48 * 1024;  // words
/// Bitmaps of more words than the first are made between a row's first and last column; of more than the second they
/// are never kept.
constexpr std::size_t narrow_bitmap = 4096, widest_kept = 16384;
constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;

/// First and last column of a row of C; first > last where it has none. All threads of the block get them.
template <class O>
__device__ int2 column_span(const product_pattern<O>& m, index_t row, int2& shared) {
  if (threadIdx.x == 0) shared = {INT_MAX, -1};
  __syncthreads();
  int first = INT_MAX, last = -1;
  for (std::int64_t k = m.a_rowptr[row] + threadIdx.x; k < m.a_rowptr[row + 1]; k += block) {
    const index_t inner = m.a_colind[k];
    const O begin = m.b_rowptr[inner], end = m.b_rowptr[inner + 1];
    if (begin == end) continue;
    first = min(first, m.b_colind[begin]);
    last = max(last, m.b_colind[end - 1]);
  }
  first = warp_min(first);
  last = warp_max(last);
  if (lane_id() == 0) {
    atomicMin(&shared.x, first);
    atomicMax(&shared.y, last);
  }
  __syncthreads();
  return shared;
}

/// Sets the bits of a row's columns in words [first, first + count): every warp takes an eighth of A's entries, 32 at a
/// time; `Lanes` lanes per row of B.
template <int Lanes, bool Words, class O>
__device__ __forceinline__ void set_bits_by_rows(const product_pattern<O>& m, const word_rows<O>& b, index_t row,
                                                 unsigned first, unsigned count, unsigned* words) {
  constexpr int side_by_side = 32 / Lanes, depth = Lanes / 8;  // entries of a row of B that a lane has in flight
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t end = m.a_rowptr[row + 1];
  for (std::int64_t base = m.a_rowptr[row] + warp; base < end; base += 32 * warps) {
    const std::int64_t k = base + lane_id() * warps;
    O start = 0, stop = 0;
    if (k < end) {
      const index_t inner = __ldg(m.a_colind + k);
      start = __ldg(b.begin + inner);
      stop = __ldg(b.end + inner);
    }
    const int held = static_cast<int>(min(std::int64_t{32}, (end - base + warps - 1) / warps));
    for (int j = 0; j < held; j += side_by_side) {
      const int source = j + lane_id() / Lanes;  // lanes beyond the entries hold empty rows
      const std::int64_t last = __shfl_sync(full_warp, stop, source);
      for (std::int64_t q = __shfl_sync(full_warp, start, source) + lane_id() % Lanes; q < last; q += Lanes * depth) {
        set_bits_of<depth, Words>(b, q, Lanes, last, first, count, words);
      }
    }
  }
}

/// Sets the bits of the row's columns in words [first, first + count); `bits` are cleared up to a multiple of 4. By
/// even shares where `Lanes` is 1.
template <int Lanes, bool Words, class O>
__device__ void set_bits(const product_pattern<O>& m, const word_rows<O>& b, index_t row, unsigned first,
                         unsigned count, uint4* bits) {
  for (unsigned i = threadIdx.x; i < (count + 3) / 4; i += block) bits[i] = {0, 0, 0, 0};
  __syncthreads();
  if constexpr (Lanes == 1) {
    __shared__ even_rows<O> rows;
    set_bits_evenly(m, b, row, {}, {first, count, &bits->x}, rows);
  } else {
    set_bits_by_rows<Lanes, Words>(m, b, row, first, count, &bits->x);
  }
  __syncthreads();
}

/// Bits of this thread's share of the words, which are kept if they have a place.
__device__ int count_bits(const uint4* bits, unsigned count, uint4* kept) {
  int found = 0;
  for (unsigned i = threadIdx.x; i < (count + 3) / 4; i += block) {
    const uint4 word = bits[i];
    if (kept != nullptr) kept[i] = word;
    found += __popc(word.x) + __popc(word.y) + __popc(word.z) + __popc(word.w);
  }
  return found;
}

/// Writes the columns of the bits, in order, from `to` on; a warp takes a stretch of the words. Returns their number.
__device__ int write_columns(const unsigned* bits, unsigned first, unsigned count, index_t* to) {
  __shared__ int found[warps];
  const unsigned warp = threadIdx.x / 32, share = (count + block - 1) / block * 32;
  const unsigned begin = min(warp * share, count), end = min(begin + share, count);
  int mine = 0;
  for (unsigned i = begin + lane_id(); i < end; i += 32) mine += __popc(bits[i]);
  mine = warp_sum(mine);
  if (lane_id() == 0) found[warp] = mine;
  __syncthreads();
  int all = 0;
  for (unsigned w = 0; w < warps; ++w) {
    if (w < warp) to += found[w];
    all += found[w];
  }
  for (unsigned base = begin; base < end; base += 32) {
    const unsigned i = base + lane_id();
    unsigned mask = i < end ? bits[i] : 0;
    const int after = warp_inclusive_sum(__popc(mask));
    for (index_t* c = to + after - __popc(mask); mask != 0; mask &= mask - 1) {
      *c++ = static_cast<index_t>((first + i) * 32) + __ffs(static_cast<int>(mask)) - 1;
    }
    to += __shfl_sync(full_warp, after, 31);
  }
  __syncthreads();
  return all;
}

/// Counts where c_colind is null.
template <int Lanes, bool Words, class O>
__global__ void __launch_bounds__(block, 6)
    wide_kernel(product_pattern<O> m, word_rows<O> b, row_list list, unsigned capacity, index_t* entries,
                wide_entries* of_wide, uint4* kept, const O* c_rowptr, index_t* c_colind) {
  extern __shared__ uint4 bits[];
  __shared__ int2 span_shared;
  __shared__ int total;
  for (std::int64_t turn = blockIdx.x; turn < list.count(); turn += gridDim.x) {
    const std::int64_t i = list.count() - 1 - turn;  // those with the most products are last, and start first
    const index_t row = list[static_cast<index_t>(i)];
    const bool all_columns = capacity <= narrow_bitmap || kept != nullptr;
    const int2 span = all_columns ? int2{0, m.cols - 1} : column_span(m, row, span_shared);
    if (threadIdx.x == 0) total = 0;
    O written = 0;
    for (std::int64_t first = span.x / 32; first <= span.y / 32 && span.y >= 0; first += capacity) {
      const auto begin = static_cast<unsigned>(first);
      const unsigned count = min(capacity, static_cast<unsigned>(span.y) / 32 - begin + 1);
      set_bits<Lanes, Words>(m, b, row, begin, count, bits);
      if (c_colind != nullptr) {
        written += write_columns(&bits->x, begin, count, c_colind + c_rowptr[row] + written);
      } else {
        uint4* const place = kept == nullptr ? nullptr : kept + i * (capacity / 4);
        const int found = warp_sum(count_bits(bits, count, place));
        if (lane_id() == 0) atomicAdd(&total, found);
        __syncthreads();
      }
    }
    if (c_colind == nullptr && threadIdx.x == 0) {
      entries[row] = total;
      of_wide->add(total);
    }
    __syncthreads();
  }
}

/// Columns from the bitmaps that were kept.
template <class O>
__global__ void __launch_bounds__(block) kept_kernel(row_list list, const uint4* kept, unsigned stride, unsigned words,
                                                     const O* c_rowptr, index_t* c_colind) {
  const index_t i = static_cast<index_t>(blockIdx.x);
  write_columns(&kept[std::int64_t{i} * (stride / 4)].x, 0, words, c_colind + c_rowptr[list[i]]);
}

/// One block per row, so that the device balances them; a fixed number where the host does not know how many rows.
index_t blocks_of(const row_list& list, int multiprocessors) {
  return list.counted == nullptr ? list.most : std::min(list.most, 16 * multiprocessors);
}

template <class O>
void run_wide(const product_ref& p, float mean_b, const row_list& list, const device_info& device, index_t* entries,
              wide_entries* of_wide, uint4* kept, const O* c_rowptr, index_t* c_colind, cudaStream_t stream) {
  if (list.most == 0) return;
  const std::size_t most = std::min<std::size_t>(widest_bitmap, (device.shared_bytes - 16384) / 16 * 4);
  const std::size_t capacity = std::min(most, bitmap_words(p.cols));
  const auto run = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(most * sizeof(unsigned))),  // the same for all that may launch it
          "cudaFuncSetAttribute");
    launch("spgemm: wide pattern", kernel,
           {blocks_of(list, device.multiprocessors), block, capacity * sizeof(unsigned)}, stream, p.pattern<O>(),
           p.b_words<O>(), list, static_cast<unsigned>(capacity), entries, of_wide, kept, c_rowptr, c_colind);
  };
  if (p.words != nullptr) return run(wide_kernel<8, true, O>);
  if (mean_b <= 12) return run(wide_kernel<1, false, O>);
  mean_b <= 48 ? run(wide_kernel<16, false, O>) : run(wide_kernel<32, false, O>);
}

}  // namespace

std::size_t kept_bytes(std::int64_t rows, index_t cols) {
  const std::size_t words = bitmap_words(cols), bytes = static_cast<std::size_t>(rows) * words * sizeof(unsigned);
  return words > widest_kept || bytes > most_kept_bytes ? 0 : bytes;
}

void count_wide(const product_ref& p, float mean_b, const row_list& list, const device_info& device, index_t* entries,
                wide_entries* of_wide, uint4* kept, cudaStream_t stream) {
  p.with_offsets(
      [&]<class O>() { run_wide<O>(p, mean_b, list, device, entries, of_wide, kept, nullptr, nullptr, stream); });
}

void fill_wide_columns(const product_fill& to, float mean_b, const row_list& list, const device_info& device) {
  to.product.with_offsets([&]<class O>() {
    run_wide(to.product, mean_b, list, device, nullptr, nullptr, nullptr, static_cast<const O*>(to.c.rowptr),
             to.c.colind, to.stream);
  });
}

void fill_kept_columns(const product_fill& to, const row_list& list, const uint4* kept) {
  const index_t cols = to.product.cols;
  to.product.with_offsets([&]<class O>() {
    launch("spgemm: kept columns", kept_kernel<O>, {list.most, block}, to.stream, list, kept,
           static_cast<unsigned>(bitmap_words(cols)), static_cast<unsigned>(cols - 1) / 32 + 1,
           static_cast<const O*>(to.c.rowptr), to.c.colind);
  });
}

}  // namespace tulle::cuda

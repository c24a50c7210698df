// Pattern of the rows whose entries are many or far apart: a bitmap over the columns between the row's first and last,
// in shared memory, by passes where it does not fit. Integers only, so the order in which bits are set does not matter.
// One block a row; one thread: an entry (or word) of B at a time, then words of the bitmap. Bytes a product: 4, or 8 a
// word.
#include <algorithm>

#include "cuda/runtime/check.hpp"
#include "cuda/spgemm/wide_rows.hpp"

namespace tulle::cuda {
namespace {

constexpr int block = 256;
constexpr int widest_bitmap = 48 * 1024;  // words
constexpr unsigned narrow_bitmap =
    4096;  // so few words are cleared sooner than a row's first and last column are found

/// First and last column of a row of C; first > last where it has none. All threads of the block get them.
template <class O>
__device__ int2 column_span(const product_pattern<O>& m, index_t row, int2& shared) {
  __syncthreads();
  if (threadIdx.x == 0) shared = {INT_MAX, -1};
  __syncthreads();
  int first = INT_MAX, last = -1;
  for (O k = m.a_rowptr[row] + threadIdx.x; k < m.a_rowptr[row + 1]; k += block) {
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

/// Sets the bits of the row's columns in words [first, first + count).
template <int Lanes, bool Words, class O>
__device__ void set_bits(const product_pattern<O>& m, const word_rows<O>& b, index_t row, unsigned first,
                         unsigned count, unsigned* bits) {
  for (unsigned i = threadIdx.x; i < count; i += block) bits[i] = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  for (O k = m.a_rowptr[row] + threadIdx.x / Lanes; k < m.a_rowptr[row + 1]; k += block / Lanes) {
    const index_t inner = m.a_colind[k];
    for (O q = b.begin[inner] + lane; q < b.begin[inner + 1]; q += Lanes) {
      const uint2 word = b.template at<Words>(q);
      if (word.x - first < count) atomicOr(bits + (word.x - first), word.y);
    }
  }
  __syncthreads();
}

/// Writes the columns of the bits, in order, from `to` on; a warp takes a stretch of the words. Returns their number.
__device__ int write_columns(const unsigned* bits, unsigned first, unsigned count, index_t* to) {
  constexpr unsigned warps = block / 32;
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
    int after = __popc(mask);
    for (int d = 1; d < 32; d *= 2) {
      const int other = __shfl_up_sync(full_warp, after, d);
      if (lane_id() >= d) after += other;
    }
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
__global__ void __launch_bounds__(block)
    wide_kernel(product_pattern<O> m, word_rows<O> b, row_list list, unsigned capacity, index_t* entries,
                const O* c_rowptr, index_t* c_colind) {
  extern __shared__ unsigned bits[];
  __shared__ int2 span_shared;
  __shared__ int total;
  for (index_t i = static_cast<index_t>(blockIdx.x); i < list.count(); i += static_cast<index_t>(gridDim.x)) {
    const index_t row = list[i];
    const int2 span = capacity <= narrow_bitmap ? int2{0, m.cols - 1} : column_span(m, row, span_shared);
    if (threadIdx.x == 0) total = 0;
    if (span.y < 0) continue;
    O written = 0;
    const unsigned last = static_cast<unsigned>(span.y) / 32;
    for (unsigned first = static_cast<unsigned>(span.x) / 32; first <= last; first += capacity) {
      const unsigned count = min(capacity, last - first + 1);
      set_bits<Lanes, Words>(m, b, row, first, count, bits);
      if (c_colind != nullptr) {
        written += write_columns(bits, first, count, c_colind + c_rowptr[row] + written);
      } else {
        int found = 0;
        for (unsigned w = threadIdx.x; w < count; w += block) found += __popc(bits[w]);
        found = warp_sum(found);
        if (lane_id() == 0) atomicAdd(&total, found);
        __syncthreads();
      }
    }
    if (c_colind == nullptr && threadIdx.x == 0) entries[row] = total;
  }
}

template <class O>
void run_wide(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, const row_list& list,
              const wide_launch& device, index_t* entries, const O* c_rowptr, index_t* c_colind, cudaStream_t stream) {
  if (list.most == 0) return;
  const auto most = std::min<std::size_t>(widest_bitmap, (device.shared_bytes - 8192) / sizeof(unsigned));
  const auto capacity = static_cast<unsigned>(std::min<std::size_t>(most, static_cast<std::size_t>(m.cols) / 32 + 1));
  const auto bytes = capacity * sizeof(unsigned);
  const auto run = [&](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(most * sizeof(unsigned))),  // the same for all that may launch it
          "cudaFuncSetAttribute");
    const auto blocks = std::min<std::int64_t>(list.most, std::int64_t{16} * device.multiprocessors);
    kernel<<<static_cast<unsigned>(blocks), block, bytes, stream>>>(m, b, list, capacity, entries, c_rowptr, c_colind);
    check_launch("spgemm: wide pattern");
  };
  if (b.words != nullptr) return run(wide_kernel<8, true, O>);
  short_rows ? run(wide_kernel<8, false, O>) : run(wide_kernel<32, false, O>);
}

}  // namespace

template <class O>
void count_wide(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, const row_list& list,
                const wide_launch& device, index_t* entries, cudaStream_t stream) {
  run_wide<O>(m, b, short_rows, list, device, entries, nullptr, nullptr, stream);
}

template <class O>
void fill_wide_columns(const product_pattern<O>& m, const word_rows<O>& b, bool short_rows, const row_list& list,
                       const wide_launch& device, const O* c_rowptr, index_t* c_colind, cudaStream_t stream) {
  run_wide<O>(m, b, short_rows, list, device, nullptr, c_rowptr, c_colind, stream);
}

#define TULLE_INSTANTIATE(O)                                                                                          \
  template void count_wide(const product_pattern<O>&, const word_rows<O>&, bool, const row_list&, const wide_launch&, \
                           index_t*, cudaStream_t);                                                                   \
  template void fill_wide_columns(const product_pattern<O>&, const word_rows<O>&, bool, const row_list&,              \
                                  const wide_launch&, const O*, index_t*, cudaStream_t);
TULLE_INSTANTIATE(std::int32_t)
TULLE_INSTANTIATE(std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda

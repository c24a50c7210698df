// Entries of the rows that are put in buckets (bucketed_fill.cu): a hash set of columns in shared memory, twice as
// large as a row has products, and a count of those that were not in it (Nagasaka et al., ICPP Workshops 2018). No
// order is needed to count, and none is made. A block of threads per row; one thread: an even share of the products,
// four in flight. Bytes per product: 4, through L1 and L2. Chosen where B's columns share few words, up to 4096
// products.
#include <bit>

#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/bucketed_rows.cuh"

namespace tulle::cuda {
namespace {

/// Slots of the hash set.
constexpr unsigned slots_for(int most) { return 2 * std::bit_ceil(static_cast<unsigned>(most)); }

template <class O>
__global__ void count_bucketed_kernel(product_pattern<O> m, row_list list, unsigned slots,
                                      index_t* __restrict__ entries) {
  extern __shared__ uint4 memory[];
  __shared__ int shared[512 / 32];
  constexpr unsigned none = ~0u;
  unsigned* const set = reinterpret_cast<unsigned*>(memory);
  const entry_batch<int, O> batch(set + slots, static_cast<int>(blockDim.x));
  const index_t row = list[static_cast<index_t>(blockIdx.x)];
  for (unsigned i = threadIdx.x; i < slots / 4; i += blockDim.x) memory[i] = {none, none, none, none};
  const int shift = 1 + __clz(static_cast<int>(slots));
  int found = 0;
  unsigned column[bucketed_depth];
  walk_row(
      m, row, batch, shared, [](O) { return 0; },
      [&](int u, O k) { column[u] = static_cast<unsigned>(__ldg(m.b_colind + k)); },
      [&](int u, int, int) {
        for (unsigned at = column[u] * 0x9e3779b1u >> shift;; at = (at + 1) & (slots - 1)) {
          const unsigned held = atomicCAS(set + at, none, column[u]);
          found += held == none;
          if (held == none || held == column[u]) break;
        }
      });
  int all;
  block_sum_before(found, shared, all);
  if (threadIdx.x == 0) entries[row] = all;
}

}  // namespace

void count_bucketed(const product_ref& p, const bucketed_lists& lists, index_t* entries, cudaStream_t stream) {
  p.with_offsets([&]<class O>() {
    for (int c = 0; c < bucketed_classes; ++c) {
      const int threads = bucketed_threads(most_bucketed(c));
      const unsigned slots = slots_for(most_bucketed(c));
      launch("spgemm: count_bucketed", count_bucketed_kernel<O>,
             {lists.of[c].most, threads, slots * sizeof(unsigned) + entry_batch<int, O>::bytes(threads)}, stream,
             p.pattern<O>(), lists.of[c], slots, entries);
    }
  });
}

}  // namespace tulle::cuda

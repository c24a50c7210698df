// Rows with more products than are sorted in registers, few of which share an entry of C: all of them are laid out in
// shared memory and put in order by one distribution over as many buckets of columns as there is room for products
// (Knuth, The Art of Computer Programming 3, 5.2.5: distribution sorting), then each by counting those before it in its
// bucket, of which there are few where columns are spread. A row whose columns crowd is sorted by a bitonic network
// (Batcher, AFIPS 1968) in shared memory. Products of an entry are added up one by one in the order of A's entries.
// A block of threads per row; one thread: eight or so of its products. Bytes per product: 4 + sizeof(T), through L1 and
// L2; C is written once. Chosen where B's columns share few words, up to 4096 products.
#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/spgemm/bucketed_rows.cuh"

namespace tulle::cuda {
namespace {

/// With more products than this in one bucket a row is sorted by the network.
constexpr unsigned most_in_bucket = 40;

/// In shared memory: the products of a row in the order of A's entries, and their order in C.
template <class T>
struct bucketed_space {
  T* values;
  unsigned* columns;
  unsigned* ends;             // of the buckets, as many as products fit
  unsigned short* by_bucket;  // products
  unsigned short* order;

  __device__ bucketed_space(void* memory, int most)
      : values(static_cast<T*>(memory)),
        columns(reinterpret_cast<unsigned*>(values + most)),
        ends(columns + most),
        by_bucket(reinterpret_cast<unsigned short*>(ends + most)),
        order(by_bucket + most) {}
  static constexpr std::size_t bytes(int most) {
    return static_cast<std::size_t>(most) * (sizeof(T) + 2 * sizeof(unsigned) + 2 * sizeof(unsigned short));
  }
  /// Whether product p comes before product q.
  __device__ __forceinline__ bool before(unsigned p, unsigned q) const {
    const unsigned left = columns[p], right = columns[q];
    return left < right || (left == right && p < q);
  }
};

/// Buckets of equal width over the columns [low, low + width).
struct bucket_range {
  unsigned low;
  unsigned scale;  // buckets per column, times 2^32; 0: one each

  __device__ bucket_range(unsigned low, unsigned high, int buckets)
      : low(low),
        scale(high - low < static_cast<unsigned>(buckets)
                  ? 0
                  : static_cast<unsigned>(static_cast<float>(buckets) * 4294960000.f /
                                          (static_cast<float>(high - low) + 1))) {}
  __device__ __forceinline__ unsigned operator()(unsigned column) const {
    return scale == 0 ? column - low : __umulhi(column - low, scale);
  }
};

/// Lays out the products of a row and returns their number; the ends of their columns go to low and high.
template <class T, class O>
__device__ __forceinline__ int lay_out(const product_pattern<O>& m, const product_values<T, O>& v, index_t row,
                                       const bucketed_space<T>& space, int* shared, unsigned& low, unsigned& high) {
  const entry_batch<T, O> batch(space.ends, static_cast<int>(blockDim.x));
  unsigned column[bucketed_depth];
  T value[bucketed_depth];
  return walk_row(
      m, row, batch, shared, [&](O k) { return __ldg(v.a + k); },
      [&](int u, O k) {
        column[u] = static_cast<unsigned>(__ldg(m.b_colind + k));
        value[u] = __ldg(v.b + k);
      },
      [&](int u, T factor, int place) {
        space.columns[place] = column[u];
        space.values[place] = rounded_product(factor, value[u]);
        low = min(low, column[u]);
        high = max(high, column[u]);
      });
}

/// The least `low` and the greatest `high` of a block.
__device__ __forceinline__ void block_ends(unsigned& low, unsigned& high, int* shared) {
  const int warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int first = warp_min(static_cast<int>(low)), last = warp_max(static_cast<int>(high));
  if (lane_id() == 0) {
    shared[warp] = first;
    shared[warps + warp] = last;
  }
  __syncthreads();
  for (int w = 0; w < warps; ++w) {
    low = min(low, static_cast<unsigned>(shared[w]));
    high = max(high, static_cast<unsigned>(shared[warps + w]));
  }
  __syncthreads();
}

/// Counts of the buckets become where they begin. Returns whether one is too full.
__device__ __forceinline__ bool scan_buckets(unsigned* counts, int* shared) {
  constexpr int each = 8;
  uint4* const mine = reinterpret_cast<uint4*>(counts) + 2 * threadIdx.x;
  const uint4 first = mine[0], second = mine[1];
  unsigned value[each] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
  unsigned sum = 0, most = 0;
#pragma unroll
  for (unsigned& n : value) {
    most = max(most, n);
    const unsigned before = sum;
    sum += n;
    n = before;
  }
  int all;
  const auto before = static_cast<unsigned>(block_sum_before(static_cast<int>(sum), shared, all));
  mine[0] = {before + value[0], before + value[1], before + value[2], before + value[3]};
  mine[1] = {before + value[4], before + value[5], before + value[6], before + value[7]};
  return __syncthreads_or(most > most_in_bucket) != 0;
}

/// The order of the products by their place in their bucket.
template <class T>
__device__ __forceinline__ void rank_in_buckets(const bucketed_space<T>& space, const bucket_range& bucket,
                                                int products) {
  const int threads = static_cast<int>(blockDim.x), tid = static_cast<int>(threadIdx.x);
  for (int p = tid; p < products; p += threads) {
    const unsigned at = atomicAdd(space.ends + bucket(space.columns[p]), 1u);
    space.by_bucket[at] = static_cast<unsigned short>(p);
  }
  __syncthreads();
  for (int i = tid; i < products; i += threads) {
    const unsigned p = space.by_bucket[i], b = bucket(space.columns[p]), end = space.ends[b];
    unsigned rank = b == 0 ? 0 : space.ends[b - 1];
    for (unsigned j = rank; j < end; ++j) rank += space.before(space.by_bucket[j], p);
    space.order[rank] = static_cast<unsigned short>(p);
  }
  __syncthreads();
}

/// The order of the products by a bitonic network; what is beyond them comes last. The first step of a merge mirrors,
/// so that all comparisons point the same way.
template <class T>
__device__ __forceinline__ void sort_by_network(const bucketed_space<T>& space, int products) {
  const int threads = static_cast<int>(blockDim.x), tid = static_cast<int>(threadIdx.x);
  for (int p = tid; p < products; p += threads) space.order[p] = static_cast<unsigned short>(p);
  __syncthreads();
  for (int size = 2; size < 2 * products; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int t = tid; 2 * t < 2 * products; t += threads) {
        const int i = 2 * t - (t & (stride - 1));
        const int j = stride == size / 2 ? i ^ (size - 1) : i + stride;
        if (j >= products) continue;
        const unsigned short left = space.order[i], right = space.order[j];
        if (!space.before(right, left)) continue;
        space.order[i] = right;
        space.order[j] = left;
      }
      __syncthreads();
    }
  }
}

/// Adds up neighbours with the same column and writes them. A warp has a share of the products, in order.
template <class T, class O>
__device__ __forceinline__ void write_row(const bucketed_space<T>& space, const product_values<T, O>& v, O to,
                                          int products, bool write_columns, int* shared) {
  const int warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int share = (products + 32 * warps - 1) / (32 * warps) * 32;
  const int first = warp * share, last = min(first + share, products);
  const auto head = [&](int i) {
    return i < last && (i == 0 || space.columns[space.order[i]] != space.columns[space.order[i - 1]]);
  };
  int heads = 0;
  for (int base = first; base < last; base += 32) heads += __popc(__ballot_sync(full_warp, head(base + lane_id())));
  if (lane_id() == 0) shared[warp] = heads;
  __syncthreads();
  for (int w = 0; w < warp; ++w) to += shared[w];
  for (int base = first; base < last; base += 32) {
    const int i = base + lane_id();
    const bool mine = head(i);
    const unsigned all = __ballot_sync(full_warp, mine);
    if (mine) {
      unsigned p = space.order[i];
      const unsigned column = space.columns[p];
      T sum = T{0} + space.values[p];
      for (int j = i + 1; j < products; ++j) {
        p = space.order[j];
        if (space.columns[p] != column) break;
        sum = sum + space.values[p];
      }
      const O at = to + __popc(all & lanes_before());
      if (write_columns) v.c_colind[at] = static_cast<index_t>(column);
      v.c[at] = v.alpha * sum;
    }
    to += __popc(all);
  }
}

template <class T, class O>
__global__ void __launch_bounds__(512, 3)
    fill_bucketed_kernel(product_pattern<O> m, product_values<T, O> v, row_list list, int most, bool write_columns) {
  extern __shared__ uint4 memory[];
  __shared__ int shared[2 * 512 / 32];
  const bucketed_space<T> space(memory, most);
  const int threads = static_cast<int>(blockDim.x), tid = static_cast<int>(threadIdx.x);
  const index_t row = list[static_cast<index_t>(blockIdx.x)];
  unsigned low = 0x7fffffff, high = 0;
  const int products = lay_out(m, v, row, space, shared, low, high);
  for (int i = tid; i < most / 4; i += threads) reinterpret_cast<uint4*>(space.ends)[i] = {0, 0, 0, 0};
  block_ends(low, high, shared);
  const bucket_range bucket(low, high, most);
  for (int p = tid; p < products; p += threads) atomicAdd(space.ends + bucket(space.columns[p]), 1u);
  __syncthreads();
  if (scan_buckets(space.ends, shared)) {
    sort_by_network(space, products);
  } else {
    rank_in_buckets(space, bucket, products);
  }
  write_row(space, v, v.c_rowptr[row], products, write_columns, shared);
}

}  // namespace

void fill_bucketed(const product_fill& to, const bucketed_lists& lists) {
  to.run([&]<class T, class O>(const product_pattern<O>& m, const product_values<T, O>& v) {
    for (int c = 0; c < bucketed_classes; ++c) {
      if (lists.of[c].most == 0) continue;
      const int most = most_bucketed(c);
      const std::size_t bytes = bucketed_space<T>::bytes(most);
      const auto kernel = fill_bucketed_kernel<T, O>;
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
            "cudaFuncSetAttribute");
      launch("spgemm: fill_bucketed", kernel, {lists.of[c].most, bucketed_threads(most), bytes}, to.stream, m, v,
             lists.of[c], most, to.columns);
    }
  });
}

int largest_bucketed(const device_info& device) {
  int most = 0;
  for (int c = 0; c < bucketed_classes; ++c) {
    if (bucketed_space<double>::bytes(most_bucketed(c)) + 1024 <= device.shared_bytes) most = most_bucketed(c);
  }
  return most;
}

}  // namespace tulle::cuda

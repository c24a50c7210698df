// gustavson with a mask: the pattern of M is cut into chunks of up to 256 neighbouring entries of a row, and the warp
// of a chunk takes from each row of B the columns between the chunk's first and last (Milakovic et al., IPDPS 2022: the
// pull side of masked SpGEMM, by column ranges). Entries of M without a product are left out, so a first pass counts
// those with one. Sums lie in shared memory that the warp owns; no atomics on values. One thread: a product at a time.
// Bytes per product: 4 + sizeof(T), through L1 and L2, twice.
#include <cooperative_groups.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>
#include <tulle/core/buffer.hpp>

#include "cuda/device/search.cuh"
#include "cuda/runtime/cub_workspace.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spgemm/column_places.cuh"
#include "cuda/spgemm/rowptr.cuh"
#include "cuda/spgemm/value_walk.cuh"
#include "kernels/backends.hpp"

namespace tulle::cuda {
namespace {

constexpr int chunk = 256;
constexpr int block = 128, warps = block / 32;

template <class T>
struct masked_space {
  T sum[chunk];
  unsigned hit[chunk / 32];
  column_places<chunk> places;
};

template <class T>
struct masked_sums {
  masked_space<T>& space;
  column_map<chunk> map;

  __device__ __forceinline__ int place(index_t column) const { return space.places.template find<true>(map, column); }
  __device__ __forceinline__ void add(int at, T product) {
    space.sum[at] += product;
    atomicOr(space.hit + at / 32, 1u << at % 32);
  }
  __device__ void index(const index_t* columns, int count) {
    for (int i = lane_id(); i < count; i += 32) space.sum[i] = 0;
    if (lane_id() < chunk / 32) space.hit[lane_id()] = 0;
    space.places.index(cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block()), map, columns,
                       count);
  }
};

/// The chunks of M: those of row r are chunk_begin[r] .. chunk_begin[r + 1] - 1.
template <class O>
struct mask_chunks {
  const O* rowptr;
  const index_t* colind;
  const std::int64_t* begin;
};

/// entries[i]: entries of C in chunk i, counted if not Values, else where they begin; columns are written if asked for.
template <bool Values, class T, class O>
__global__ void __launch_bounds__(block)
    masked_kernel(product_pattern<O> m, mask_chunks<O> mask, product_values<T, O> v, std::int64_t first,
                  std::int64_t* entries, bool columns) {
  __shared__ masked_space<T> spaces[warps];
  masked_space<T>& space = spaces[threadIdx.x / 32];
  const std::int64_t chunks = mask.begin[m.rows];
  for (std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; i < chunks;
       i += std::int64_t{gridDim.x} * warps) {
    const index_t row = row_of(mask.begin, 0, m.rows, i);
    const O begin = mask.rowptr[row] + static_cast<O>(i - mask.begin[row]) * chunk;
    const O left = mask.rowptr[row + 1] - begin;
    const int count = left < chunk ? static_cast<int>(left) : chunk;
    const index_t low = mask.colind[begin], high = mask.colind[begin + count - 1];
    masked_sums<T> sums{space, column_map<chunk>(low, high)};
    sums.index(mask.colind + begin, count);
    walk_values<8, true, false, Values>(m, v.a, v.b, m.a_rowptr[row], m.a_rowptr[row + 1],
                                        column_range<true>{low, high}, sums);
    __syncwarp();
    std::int64_t to = Values ? first + entries[i] : 0;
    for (int base = 0; base < count; base += 32) {
      const unsigned hits = space.hit[base / 32];
      const int q = base + lane_id();
      if (Values && (hits >> lane_id() & 1) != 0) {
        const std::int64_t at = to + __popc(hits & lanes_before());
        if (columns) v.c_colind[at] = mask.colind[begin + q];
        v.c[at] = v.alpha * space.sum[q];
      }
      to += __popc(hits);
    }
    if (!Values && lane_id() == 0) entries[i] = to;
    __syncwarp();
  }
}

template <class P>
__global__ void masked_rowptr_kernel(index_t rows, const std::int64_t* chunk_begin, const std::int64_t* entries,
                                     std::int64_t first, P* rowptr) {
  for (std::int64_t r = grid_thread(); r <= rows; r += grid_stride())
    rowptr[r] = static_cast<P>(first + entries[chunk_begin[r]]);
}

template <class O>
struct chunks_of_mask_row {
  const O* rowptr;
  __host__ __device__ std::int64_t operator()(std::int64_t row) const {
    return (std::int64_t{rowptr[row + 1]} - rowptr[row] + chunk - 1) / chunk;
  }
};

template <class T, class O>
class masked_spgemm final : public spgemm_operator {
 public:
  masked_spgemm(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx), product_(p), mask_{static_cast<const O*>(p.mask->rowptr), p.mask->colind, nullptr} {}

  std::int64_t symbolic() override {
    if (product_.rows == 0) return 0;
    const device_guard guard(ctx_.device());
    chunk_begin_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(product_.rows) + 1);
    mask_.begin = chunk_begin_.data();
    fill_bytes(ctx_, chunk_begin_.data(), memory_space::device, 0, sizeof(std::int64_t));
    const auto chunks = thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0),
                                                        chunks_of_mask_row<O>{mask_.rowptr});
    with_workspace(ctx_, "cub::DeviceScan", [&](void* workspace, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(workspace, bytes, chunks, chunk_begin_.data() + 1, product_.rows, stream());
    });
    chunks_ = read_back(ctx_, chunk_begin_.data() + product_.rows);
    entries_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(chunks_) + 1);
    run<false>({}, 0, false);
    fill_bytes(ctx_, entries_.data() + chunks_, memory_space::device, 0, sizeof(std::int64_t));
    exclusive_scan(ctx_, entries_);
    return read_back(ctx_, entries_.data() + chunks_);
  }

  void fill(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    if (product_.rows == 0) return write_first_offset(ctx_, c);
    c.offset == offset_type::i32 ? write_rowptr<std::int32_t>(c) : write_rowptr<std::int64_t>(c);
    run<true>(product_.numbers<T, O>(values, c), c.first, true);
  }

  void numeric(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    run<true>(product_.numbers<T, O>(values, c), c.first, false);
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return chunk_begin_.bytes() + entries_.bytes();
  }

 private:
  [[nodiscard]] cudaStream_t stream() const { return native(ctx_); }

  template <class P>
  void write_rowptr(const csr_sink& c) {
    launch_items(ctx_, "spgemm: masked offsets", masked_rowptr_kernel<P>, std::int64_t{product_.rows} + 1,
                 product_.rows, chunk_begin_.data(), entries_.data(), c.first, static_cast<P*>(c.rowptr));
  }

  template <bool Values>
  void run(const product_values<sum_of<T>, O>& v, std::int64_t first, bool columns) {
    if (chunks_ == 0) return;
    const auto blocks = std::min(ceil_div(chunks_, warps), std::int64_t{64} * ctx_.info().multiprocessors);
    launch("spgemm: masked", masked_kernel<Values, sum_of<T>, O>, {blocks, block}, stream(), product_.pattern<O>(),
           mask_, v, first, entries_.data(), columns);
  }

  context ctx_;
  product_ref product_;
  mask_chunks<O> mask_;
  std::int64_t chunks_ = 0;
  buffer<std::int64_t> chunk_begin_;
  buffer<std::int64_t> entries_;  // of C before each chunk of the mask
};

}  // namespace

std::unique_ptr<spgemm_operator> make_masked_spgemm(const context& ctx, const spgemm_problem& p) {
  return make_operator<masked_spgemm>(ctx, p);
}

}  // namespace tulle::cuda

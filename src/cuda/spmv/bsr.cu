// bsr: block CSR (Choi, Singh, Vuduc, PPoPP 2010, "BCSR"), blocks of 2 x 2 to 8 x 8. A group of 8 to 32 lanes takes a
// block row; bsr_walk.cuh says how. Entries outside the pattern (mask) never touch x.
// Bytes per nonzero of a full block: sizeof(T) + 4 / block^2; plus one offset per block row and one y per row. Where
// blocks are not full: (sizeof(T) + 12 / block^2) / fill. Chosen where blocks are full enough for long rows of blocks
// of 8 and, where all stays in L2, of others (docs/notes/0012-fused-passes.md), and with effort `none` for a BSR.
#include "cuda/spmv/block_operator.cuh"
#include "cuda/spmv/bsr_walk.cuh"
#include "cuda/spmv/many_vectors.cuh"
#include "cuda/spmv/supports.hpp"
#include "kernels/bsr_block.hpp"

namespace tulle::cuda {
namespace {

constexpr int bsr_threads = 128;  // per block

/// Where a group of lanes is: its block row, and the lane's place in it.
template <class Division>
struct bsr_place {
  std::int64_t block_row = (std::int64_t{blockIdx.x} * bsr_threads + threadIdx.x) / Division::group;
  int lane = static_cast<int>(threadIdx.x) % Division::group;
  std::int64_t first = 0, end = 0;  // blocks of the lane

  __device__ __forceinline__ explicit bsr_place(const bsr_pattern& a) {
    if (block_row >= a.block_rows || lane >= Division::slots * Division::lanes) return;
    first = a.offset(block_row) + lane / Division::lanes;
    end = a.offset(block_row + 1);
  }
  __device__ __forceinline__ int part() const { return lane % Division::lanes; }
  __device__ __forceinline__ std::int64_t row() const { return block_row * Division::block + lane; }
  __device__ __forceinline__ bool owns_row(const bsr_pattern& a) const {
    return lane < Division::block && row() < a.rows;
  }
};

/// What was fastest on an NVIDIA H200. Lanes of a group: few where a block has few fragments, or rows would not fill
/// them. Blocks that a lane has in flight.
template <int Block>
struct bsr_tuning {
  static constexpr int group = Block == 2 || Block == 4 ? 8 : 32;
  static constexpr int unroll = Block <= 3 || Block % 2 == 1 ? 2 : 4;
  static constexpr int resident = Block == 2 ? 16 : Block == 7 ? 8 : 10;  // blocks per multiprocessor
};

template <int Block, bool Masked, class T, class Epilogue>
__global__ void __launch_bounds__(bsr_threads, bsr_tuning<Block>::resident)
    bsr_kernel(bsr_pattern a, const T* __restrict__ values, const T* __restrict__ x, bool aligned, Epilogue epilogue) {
  using division = bsr_division<Block, bsr_tuning<Block>::group, T>;
  constexpr int unroll = bsr_tuning<Block>::unroll;
  const bsr_place<division> place(a);
  const bool owns_row = place.owns_row(a);
  if (owns_row) epilogue.fetch(static_cast<index_t>(place.row()));
  T sum[division::rounds][1] = {};
  if (aligned)
    walk_blocks<division, unroll, Masked, true>(a, values, bsr_vector<true, T>{x}, place.first, place.end, place.part(),
                                                sum);
  else
    walk_blocks<division, unroll, Masked, false>(a, values, bsr_vector<false, T>{x}, place.first, place.end,
                                                 place.part(), sum);
  T row[1];
  sum_fragments<division>(sum, row);
  if (owns_row) epilogue(static_cast<index_t>(place.row()), row[0]);
  epilogue.finish();
}

/// Up to four right-hand sides anywhere.
template <class V>
struct bsr_vectors {
  static constexpr int count = 4;
  typed_vectors<const V> x;
  int live;

  template <int Width>
  __device__ __forceinline__ void fetch(index_t first, index_t last, V (&to)[Width][count]) const {
#pragma unroll
    for (int i = 0; i < Width; ++i) {
#pragma unroll
      for (int j = 0; j < count; ++j) to[i][j] = __ldg(x.at(min(first + i, last), min(j, live - 1)));
    }
  }
};

template <int Block, bool Masked, class T>
__global__ void __launch_bounds__(bsr_threads)
    bsr_many_kernel(bsr_pattern a, const T* __restrict__ values, bsr_vectors<T> vectors, typed_vectors<T> y, T alpha,
                    T beta) {
  using division = bsr_division<Block, 32, T>;
  constexpr int count = bsr_vectors<T>::count;
  const bsr_place<division> place(a);
  T sum[division::rounds][count] = {};
  walk_blocks<division, 2, Masked, false>(a, values, vectors, place.first, place.end, place.part(), sum);
  T row[count];
  sum_fragments<division>(sum, row);
  if (!place.owns_row(a)) return;
#pragma unroll
  for (int j = 0; j < count; ++j) {
    if (j >= vectors.live) continue;
    T* const to = y.at(place.row(), j);
    const T scaled = alpha * row[j];
    *to = beta == T{0} ? scaled : fma(beta, *to, scaled);
  }
}

template <class T, class O>
class bsr_operator final : public block_operator<bsr_operator<T, O>, T, bsr_storage<T, O>> {
  using base = block_operator<bsr_operator, T, bsr_storage<T, O>>;
  using base::storage_;

 public:
  bsr_operator(const context& ctx, const matrix_ref& a, const csr_stats& s, const spmv_options& o)
      : base(ctx, bsr_threads, a, s, o) {
    this->dots_ = {ctx, blocks(), 0};
  }
  void apply_many(double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                  stream_view stream) override {
    const device_guard guard(this->device_);
    with_block([&]<int Block>() {
      const bool masked = storage_.view().mask != nullptr;
      const auto kernel = masked ? bsr_many_kernel<Block, true, T> : bsr_many_kernel<Block, false, T>;
      typed_vectors<const T> from(x);
      typed_vectors<T> to(y);
      for (index_t done = 0; done < x.count; done += bsr_vectors<T>::count) {
        const bsr_vectors<T> some{from, std::min(bsr_vectors<T>::count, x.count - done)};
        launch("bsr.many", kernel, threads_for(std::int64_t{storage_.view().block_rows} * 32, bsr_threads),
               native(stream), pattern(), storage_.view().values, some, to, static_cast<T>(alpha),
               static_cast<T>(beta));
        from.data += bsr_vectors<T>::count * x.vector_stride;
        to.data += bsr_vectors<T>::count * y.vector_stride;
      }
    });
  }

  [[nodiscard]] std::int64_t blocks() const {
    std::int64_t threads = 0;
    with_block([&]<int Block>() { threads = std::int64_t{storage_.view().block_rows} * bsr_tuning<Block>::group; });
    return ceil_div(threads, bsr_threads);
  }
  template <class Epilogue>
  void start(const Epilogue& epilogue, const T* x, cudaStream_t stream) {
    const bsr_view<T, O>& a = storage_.view();
    const auto place = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    with_block([&]<int Block>() {
      constexpr int bytes = bsr_division<Block, 32, T>::width * sizeof(T);
      const bool masked = a.mask != nullptr;
      const bool aligned = (place(a.values) | place(x)) % bytes == 0 && (!masked || a.cols % Block == 0);
      const auto kernel = masked ? bsr_kernel<Block, true, T, Epilogue> : bsr_kernel<Block, false, T, Epilogue>;
      launch("bsr", kernel, {blocks(), bsr_threads}, stream, pattern(), a.values, x, aligned, epilogue);
    });
  }

 private:
  template <class F>
  void with_block(const F& f) const {
    with_constant<2, 3, 4, 5, 6, 7, 8>(storage_.view().block, f);
  }
  [[nodiscard]] bsr_pattern pattern() const {
    const bsr_view<T, O>& a = storage_.view();
    return {a.rows, a.cols, a.block_rows, sizeof(O) == 8, a.rowptr, a.colind, a.mask};
  }
};

}  // namespace

spmv_kernel bsr_entry() {
  return {
      .name = "bsr",
      .summary = "blocks of 2 to 8, a group of lanes per block row",
      .backend = backend_kind::cuda,
      .types = type_set::floating,
      .takes_bsr = true,
      .has = {.many = true, .dots = true, .jacobi = true},
      .listens_to = {.block = true},
      .supports = supports_bsr,
      .make = make_block_operator<bsr_operator, type_set::floating>,
  };
}

}  // namespace tulle::cuda

// kernel0: C = alpha A B as tulle's first kernel did it, kept as the oracle of the others. Gustavson's row-wise product
// (ACM TOMS 4(3), 1978) with a dense accumulator for tile_size columns at a time, reused tile after tile.
//
// One thread: a row of A at a time. It walks the rows of B that the row names, entry by entry, into its own accumulator
// in device memory: a sum and a hit bit per column. Hit columns come out in order; the tile that follows begins at the
// smallest column that was not reached, so that empty tiles cost nothing. A first pass of hit bits alone counts, so
// that C has its exact size. Bytes per product: 4 of column, a value, and a sum read and written, none of it coalesced;
// every tile of a row reads the row of A again and searches the rows of B. Never chosen.
#include <algorithm>
#include <tulle/core/buffer.hpp>
#include <utility>

#include "cuda/device/arithmetic.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spgemm/column_search.cuh"
#include "cuda/spgemm/rowptr.cuh"
#include "kernels/spgemm.hpp"

namespace tulle::cuda {
namespace {

constexpr int threads_per_block = 128;
constexpr index_t default_tile = 512;
constexpr std::size_t most_tile_bytes = std::size_t{256} << 20;  // of all threads together

/// Who works with how much.
struct tile_sizes {
  index_t threads;
  index_t columns;
  index_t words;
};

tile_sizes sizes_for(const context& ctx, const spgemm_problem& p) {
  tile_sizes s{};
  s.columns = std::max(1, std::min(p.tile_size > 0 ? p.tile_size : default_tile, p.b.cols));
  s.words = s.columns / 32 + (s.columns % 32 != 0 ? 1 : 0);
  const std::size_t bytes_per_thread =
      static_cast<std::size_t>(s.columns) * size_of(p.a.types.value) + static_cast<std::size_t>(s.words) * 4;
  const auto fit = static_cast<std::int64_t>(most_tile_bytes / bytes_per_thread);
  const std::int64_t most = std::min<std::int64_t>(std::int64_t{1024} * ctx.info().multiprocessors, fit);
  s.threads = static_cast<index_t>(std::min<std::int64_t>(p.a.rows, std::max<std::int64_t>(most, 32)));
  return s;
}

/// The accumulators: thread t has sums[t * columns ..] and hits[t * words ..], whose bits are 0 between tiles.
template <class T>
struct tiles : tile_sizes {
  T* sums;
  std::uint32_t* hits;

  __device__ tiles of(std::int64_t thread) const {
    return {{1, columns, words}, sums + thread * columns, hits + thread * words};
  }
};

/// Adds the products of row i with columns in [first, end). Returns the smallest column beyond, or b.cols.
template <bool Values, class T, class O>
__device__ index_t accumulate(const csr_view<T, O>& a, const csr_view<T, O>& b, index_t i, index_t first, index_t end,
                              const tiles<T>& tile) {
  index_t next = b.cols;
  for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) {
    const index_t row = a.colind[k];
    const O row_end = b.rowptr[row + 1];
    O q = lower_bound(b.colind, b.rowptr[row], row_end, first);
    for (; q < row_end && b.colind[q] < end; ++q) {
      const index_t j = b.colind[q] - first;
      const std::uint32_t bit = 1u << (j % 32);
      const std::uint32_t hit = tile.hits[j / 32];
      if constexpr (Values) tile.sums[j] = multiply_add(a.values[k], b.values[q], (hit & bit) ? tile.sums[j] : T{0});
      tile.hits[j / 32] = hit | bit;
    }
    if (q < row_end) next = min(next, b.colind[q]);
  }
  return next;
}

/// Calls emit(column, sum) for the entries of row i in order; of the mask's pattern alone where its rowptr is not null.
template <bool Values, class T, class O, class Emit>
__device__ void walk_row(const csr_view<T, O>& a, const csr_view<T, O>& b, const csr_view<T, O>& mask, index_t i,
                         const tiles<T>& tile, Emit emit) {
  O m = mask.rowptr ? mask.rowptr[i] : 0;
  const O mask_end = mask.rowptr ? mask.rowptr[i + 1] : 0;
  for (index_t first = 0; first < b.cols;) {
    const index_t width = min(tile.columns, b.cols - first);
    const index_t next = accumulate<Values>(a, b, i, first, first + width, tile);
    for (index_t w = 0; w * std::int64_t{32} < width; ++w) {
      for (std::uint32_t bits = tile.hits[w]; bits != 0; bits &= bits - 1) {
        const index_t j = w * 32 + __ffs(static_cast<int>(bits)) - 1;
        while (m < mask_end && mask.colind[m] < first + j) ++m;
        const bool in_mask = !mask.rowptr || (m < mask_end && mask.colind[m] == first + j);
        if (in_mask) emit(first + j, Values ? tile.sums[j] : T{0});
      }
      tile.hits[w] = 0;
    }
    first = next;
  }
}

template <class T, class O>
__global__ void __launch_bounds__(threads_per_block)
    count_kernel(csr_view<T, O> a, csr_view<T, O> b, csr_view<T, O> mask, tiles<T> all, std::int64_t* counts) {
  const std::int64_t thread = grid_thread();
  if (thread >= all.threads) return;
  for (std::int64_t i = thread; i < a.rows; i += all.threads) {
    std::int64_t count = 0;
    walk_row<false>(a, b, mask, static_cast<index_t>(i), all.of(thread), [&](index_t, T) { ++count; });
    counts[i] = count;
  }
}

/// Columns are left alone where colind is null.
template <class T, class O>
__global__ void __launch_bounds__(threads_per_block)
    write_kernel(csr_view<T, O> a, csr_view<T, O> b, csr_view<T, O> mask, tiles<T> all, T alpha,
                 const std::int64_t* offsets, std::int64_t first, index_t* colind, T* values) {
  const std::int64_t thread = grid_thread();
  if (thread >= all.threads) return;
  for (std::int64_t i = thread; i < a.rows; i += all.threads) {
    std::int64_t at = first + offsets[i];
    walk_row<true>(a, b, mask, static_cast<index_t>(i), all.of(thread), [&](index_t column, T sum) {
      if (colind) colind[at] = column;
      values[at++] = static_cast<T>(static_cast<sum_of<T>>(alpha) * static_cast<sum_of<T>>(sum));
    });
  }
}

template <class T, class O>
class kernel0 final : public spgemm_operator {
 public:
  kernel0(const context& ctx, const spgemm_problem& p)
      : ctx_(ctx),
        a_(p.a.as<T, O>()),
        b_(p.b.as<T, O>()),
        mask_(p.mask ? p.mask->as<T, O>() : csr_view<T, O>{}),
        sizes_(sizes_for(ctx, p)) {
    const device_guard guard(ctx.device());
    const auto threads = static_cast<std::size_t>(sizes_.threads);
    sums_ = buffer<T>(ctx, threads * static_cast<std::size_t>(sizes_.columns));
    hits_ = buffer<std::uint32_t>(ctx, threads * static_cast<std::size_t>(sizes_.words));
    fill_bytes(ctx, hits_.data(), memory_space::device, 0, hits_.bytes());
  }

  std::int64_t symbolic() override {
    const device_guard guard(ctx_.device());
    offsets_ = zero_counts(ctx_, a_.rows);
    launch("kernel0: count", count_kernel<T, O>, shape(), native(ctx_), a_, b_, mask_, all(), offsets_.data());
    exclusive_scan(ctx_, offsets_);
    return read_back(ctx_, offsets_.data() + a_.rows);
  }
  void fill(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    write_offsets(ctx_, a_.rows, std::as_const(offsets_).data(), c);
    write(values, c, c.colind);
  }
  void numeric(const spgemm_values& values, const csr_sink& c) override {
    const device_guard guard(ctx_.device());
    write(values, c, nullptr);
  }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    return sums_.bytes() + hits_.bytes() + offsets_.bytes();
  }

 private:
  [[nodiscard]] tiles<T> all() { return {sizes_, sums_.data(), hits_.data()}; }

  [[nodiscard]] launch_shape shape() const { return threads_for(sizes_.threads, threads_per_block); }

  void write(const spgemm_values& v, const csr_sink& c, index_t* colind) {
    csr_view<T, O> a = a_, b = b_;
    a.values = static_cast<const T*>(v.a);
    b.values = static_cast<const T*>(v.b);
    launch("kernel0", write_kernel<T, O>, shape(), native(ctx_), a, b, mask_, all(), static_cast<T>(v.alpha),
           offsets_.data(), c.first, colind, static_cast<T*>(c.values));
  }

  context ctx_;
  csr_view<T, O> a_, b_, mask_;
  tile_sizes sizes_;
  buffer<T> sums_;
  buffer<std::uint32_t> hits_;
  buffer<std::int64_t> offsets_;
};

}  // namespace

std::unique_ptr<spgemm_operator> make_kernel0(const context& ctx, const spgemm_problem& p) {
  return make_operator<kernel0>(ctx, p);
}

}  // namespace tulle::cuda

// CSR <-> ELL. A block takes 256 rows by 32 slots, so that no thread walks a long row alone.
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/formats/collect_rows.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

constexpr std::int64_t tile_slots = 32;

/// At least 1, so that every row is checked.
__host__ __device__ std::int64_t tiles_per_row(index_t width) { return width == 0 ? 1 : ceil_div(width, tile_slots); }

/// Writes the values, and the column indices unless `colind` is null. Sets *too_long when a row has more than `width`
/// entries.
template <class T, class O>
__global__ void fill_slots_kernel(csr_view<T, O> a, index_t width, index_t* colind, T* values, int* too_long) {
  const std::int64_t tiles = tiles_per_row(width);
  const std::int64_t tasks = ceil_div(a.rows, block_threads) * tiles;
  for (std::int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
    const std::int64_t row = task / tiles * block_threads + threadIdx.x;
    if (row >= a.rows) continue;
    const O begin = a.rowptr[row];
    const O length = a.rowptr[row + 1] - begin;
    const std::int64_t first = task % tiles * tile_slots;
    if (first == 0 && length > width) atomicOr(too_long, 1);
    for (std::int64_t s = first; s < min(first + tile_slots, std::int64_t{width}); ++s) {
      const std::int64_t slot = s * a.rows + row;
      const bool used = s < length;
      values[slot] = used ? a.values[begin + s] : T{0};
      if (colind != nullptr) colind[slot] = used ? a.colind[begin + s] : -1;
    }
  }
}

template <class T, class O>
bool fill_slots(const context& ctx, csr_view<T, O> a, index_t width, index_t* colind, T* values) {
  auto too_long = device_value<int>(ctx);
  const launch_shape tiles{ceil_div(a.rows, block_threads) * tiles_per_row(width)};
  launch("ell.fill_slots", fill_slots_kernel<T, O>, bounded(ctx, tiles), native(ctx), a, width, colind, values,
         too_long.data());
  return read_back(ctx, too_long.data()) == 0;
}

/// The slots of every row, for collect_rows.
template <class T>
struct ell_rows {
  ell_view<T> a;

  __device__ index_t row(std::int64_t thread) const { return static_cast<index_t>(thread); }
  template <class F>
  __device__ void for_each(std::int64_t row, F f) const {
    for (std::int64_t s = 0; s < a.width; ++s) {
      const std::int64_t slot = s * a.rows + row;
      if (a.colind[slot] >= 0) f(a.colind[slot], slot);
    }
  }
};

}  // namespace

template <scalar T, offset O>
ell<T> csr_to_ell(const context& ctx, csr_view<T, O> a, index_t width) {
  const auto slots = static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(width);
  ell<T> out{a.rows, a.cols, a.nnz, width, buffer<index_t>(ctx, slots), buffer<T>(ctx, slots)};
  fill_slots(ctx, a, width, out.colind.data(), out.values.data());
  return out;
}

template <scalar T, offset O>
void update_ell(const context& ctx, csr_view<T, O> from, ell<T>& to) {
  if (!fill_slots<T, O>(ctx, from, to.width, nullptr, to.values.data())) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the ELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> ell_to_csr(const context& ctx, ell_view<T> a) {
  return collect_rows<T, O>(ctx, a, a.rows, ell_rows<T>{a});
}

#define TULLE_INSTANTIATE(T, O)                                              \
  template ell<T> csr_to_ell<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> ell_to_csr<T, O>(const context&, ell_view<T>);          \
  template void update_ell<T, O>(const context&, csr_view<T, O>, ell<T>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda

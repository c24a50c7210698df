// One bit per entry says whether it is kept. The number of entries kept before any entry is a prefix sum over words
// plus a population count within its word (Jacobson, "Space-efficient static trees and graphs", FOCS 1989), and gives
// the new position of entries and of row starts. Scratch: 3/8 byte per entry.
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/read_back.hpp"
#include "cuda/spmv/column_piece.hpp"

namespace tulle::cuda {
namespace {

constexpr int word_bits = 32;

struct kept_view {
  const unsigned* bits;
  const std::int64_t* before;  // kept in the words before

  __device__ bool has(std::int64_t k) const { return (bits[k / word_bits] >> (k % word_bits) & 1) != 0; }
  /// Entries kept before entry k.
  __device__ std::int64_t rank(std::int64_t k) const {
    return before[k / word_bits] + __popc(bits[k / word_bits] & ((1u << (k % word_bits)) - 1));
  }
};

/// One warp per word.
__global__ void mark_columns(std::int64_t nnz, const index_t* colind, index_t first, index_t end, std::int64_t words,
                             unsigned* bits, std::int64_t* count) {
  for (std::int64_t w = grid_thread() / word_bits; w < words; w += grid_stride() / word_bits) {
    const std::int64_t k = w * word_bits + lane_id();
    const bool keep = k < nnz && colind[k] >= first && colind[k] < end;
    const unsigned kept = __ballot_sync(full_warp, keep);
    if (lane_id() != 0) continue;
    bits[w] = kept;
    count[w] = __popc(kept);
  }
}

template <class O>
__global__ void place_rows(index_t rows, const O* rowptr, kept_view kept, O* out) {
  for (std::int64_t r = grid_thread(); r <= rows; r += grid_stride()) out[r] = static_cast<O>(kept.rank(rowptr[r]));
}

template <class T, class O>
__global__ void place_entries(csr_view<T, O> a, kept_view kept, index_t* colind, T* values) {
  for (std::int64_t k = grid_thread(); k < a.nnz; k += grid_stride()) {
    if (!kept.has(k)) continue;
    const std::int64_t at = kept.rank(k);
    colind[at] = a.colind[k];
    values[at] = a.values[k];
  }
}

}  // namespace

template <scalar T, offset O>
csr<T, O> column_piece(const context& ctx, csr_view<T, O> a, index_t first, index_t end) {
  const device_guard guard(ctx.device());
  const std::int64_t nnz = a.nnz, words = nnz / word_bits + 1;  // the last word ranks nnz, too
  buffer<unsigned> bits(ctx, static_cast<std::size_t>(words));
  buffer<std::int64_t> before(ctx, static_cast<std::size_t>(words));
  launch_items(ctx, "mark_columns", mark_columns, words * word_bits, nnz, a.colind, first, end, words, bits.data(),
               before.data());
  exclusive_scan(ctx, before);
  const kept_view kept{bits.data(), before.data()};

  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  launch_items(ctx, "place_rows", place_rows<O>, std::int64_t{a.rows} + 1, a.rows, a.rowptr, kept, rowptr.data());
  const auto count = static_cast<std::size_t>(read_back(ctx, rowptr.data() + a.rows));
  csr<T, O> piece{a.rows, a.cols, std::move(rowptr), buffer<index_t>(ctx, count), buffer<T>(ctx, count)};
  launch_items(ctx, "place_entries", place_entries<T, O>, nnz, a, kept, piece.colind.data(), piece.values.data());
  return piece;
}

#define TULLE_INSTANTIATE(T, O) template csr<T, O> column_piece<T, O>(const context&, csr_view<T, O>, index_t, index_t);
TULLE_INSTANTIATE(float, std::int32_t)
TULLE_INSTANTIATE(float, std::int64_t)
TULLE_INSTANTIATE(double, std::int32_t)
TULLE_INSTANTIATE(double, std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda

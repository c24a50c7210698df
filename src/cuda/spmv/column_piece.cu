// One bit per entry says whether it is kept. The number of entries kept before any entry is a prefix sum over words
// plus a population count within its word (Jacobson, "Space-efficient static trees and graphs", FOCS 1989), and gives
// the new position of entries and of row starts. Scratch: 3/8 byte per entry.
#include "cuda/device/warp.cuh"
#include "cuda/runtime/device_guard.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
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

}  // namespace

template <scalar T, offset O>
csr<T, O> column_piece(const context& ctx, csr_view<T, O> a, index_t first, index_t end) {
  const device_guard guard(ctx.device());
  const std::int64_t nnz = a.nnz, words = nnz / word_bits + 1;  // the last word ranks nnz, too
  buffer<unsigned> bits(ctx, static_cast<std::size_t>(words));
  buffer<std::int64_t> before(ctx, static_cast<std::size_t>(words));
  const auto mark = [nnz, first, end, colind = a.colind, bits = bits.data(),
                     count = before.data()] __device__(std::int64_t k) {  // one warp per word
    const bool keep = k < nnz && colind[k] >= first && colind[k] < end;
    const unsigned kept = __ballot_sync(full_warp, keep);
    if (lane_id() != 0) return;
    bits[k / word_bits] = kept;
    count[k / word_bits] = __popc(kept);
  };
  for_each_item(ctx, "mark_columns", words * word_bits, mark);
  exclusive_scan(ctx, before);
  const kept_view kept{bits.data(), before.data()};

  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  for_each_item(ctx, "place_rows", std::int64_t{a.rows} + 1,
                [=, to = rowptr.data()] __device__(std::int64_t r) { to[r] = static_cast<O>(kept.rank(a.rowptr[r])); });
  const auto count = static_cast<std::size_t>(read_back(ctx, rowptr.data() + a.rows));
  csr<T, O> piece{a.rows, a.cols, std::move(rowptr), buffer<index_t>(ctx, count), buffer<T>(ctx, count)};
  const auto place = [=, colind = piece.colind.data(), values = piece.values.data()] __device__(std::int64_t k) {
    if (!kept.has(k)) return;
    const std::int64_t at = kept.rank(k);
    colind[at] = a.colind[k];
    values[at] = a.values[k];
  };
  for_each_item(ctx, "place_entries", nnz, place);
  return piece;
}

#define TULLE_INSTANTIATE(T, O) template csr<T, O> column_piece<T, O>(const context&, csr_view<T, O>, index_t, index_t);
TULLE_INSTANTIATE(float, std::int32_t)
TULLE_INSTANTIATE(float, std::int64_t)
TULLE_INSTANTIATE(double, std::int32_t)
TULLE_INSTANTIATE(double, std::int64_t)
#undef TULLE_INSTANTIATE

}  // namespace tulle::cuda

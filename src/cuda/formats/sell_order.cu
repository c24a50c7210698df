// Two stable radix sorts of (key, row) packed into 64 bits: by decreasing length, then by window.
#include <tulle/formats/views.hpp>

#include "cuda/runtime/launch.cuh"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/primitives.hpp"
#include "cuda/formats/sell_order.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class O>
__device__ std::int64_t row_length(const O* rowptr, std::int64_t row) {
  return std::int64_t{rowptr[row + 1]} - rowptr[row];
}

/// Sets *moves if a row is longer than the one before it in its window.
template <class O>
__global__ void find_moves(index_t rows, const O* rowptr, index_t sigma, int* moves) {
  bool found = false;
  for (std::int64_t r = grid_thread(); r < rows; r += grid_stride()) {
    found |= r % sigma != 0 && row_length(rowptr, r) > row_length(rowptr, r - 1);
  }
  if (found) atomicOr(moves, 1);
}

}  // namespace

template <offset O>
buffer<index_t> sell_order(const context& ctx, index_t rows, const O* rowptr, index_t sigma) {
  if (sigma == 1) return {};
  auto moves = device_value<int>(ctx);
  launch_items(ctx, "sell.find_moves", find_moves<O>, rows, rows, rowptr, sigma, moves.data());
  if (read_back(ctx, moves.data()) == 0) return {};

  const std::int64_t most = longest(ctx, rows, rowptr);
  const int row_bits = bits_for(rows);
  buffer<std::uint64_t> keys(ctx, static_cast<std::size_t>(rows));
  for_each_item(ctx, "sell.pack_lengths", rows, [=, keys = keys.data()] __device__(std::int64_t r) {
    const auto shortfall = static_cast<std::uint64_t>(most - row_length(rowptr, r));
    keys[r] = shortfall << row_bits | static_cast<std::uint64_t>(r);
  });
  sort_keys(ctx, keys, row_bits, row_bits + bits_for(most + 1));
  const std::uint64_t row_mask = (std::uint64_t{1} << row_bits) - 1;
  for_each_item(ctx, "sell.pack_windows", rows, [=, keys = keys.data()] __device__(std::int64_t i) {
    const std::uint64_t row = keys[i] & row_mask;
    keys[i] = row / static_cast<std::uint64_t>(sigma) << row_bits | row;
  });
  sort_keys(ctx, keys, row_bits, row_bits + bits_for(ceil_div(rows, sigma)));

  const std::int64_t lanes = ceil_div(rows, sell_slice_rows) * sell_slice_rows;
  buffer<index_t> perm(ctx, static_cast<std::size_t>(lanes));
  for_each_item(ctx, "sell.unpack_rows", lanes, [=, keys = keys.data(), perm = perm.data()] __device__(std::int64_t i) {
    perm[i] = i < rows ? static_cast<index_t>(keys[i] & row_mask) : -1;
  });
  return perm;
}

template buffer<index_t> sell_order(const context&, index_t, const std::int32_t*, index_t);
template buffer<index_t> sell_order(const context&, index_t, const std::int64_t*, index_t);

}  // namespace tulle::cuda

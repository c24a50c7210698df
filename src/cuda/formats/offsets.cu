// Row offsets: conversion of their type, from counts, and the longest row.
#include <limits>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cuda/device/warp.cuh"
#include "cuda/formats/formats.hpp"
#include "cuda/formats/offsets.hpp"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/read_back.hpp"

namespace tulle::cuda {
namespace {

template <class To, class O>
buffer<To> convert_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  buffer<To> out(ctx, count);
  for_each_item(ctx, "convert_offsets", static_cast<std::int64_t>(count),
                [rowptr, to = out.data()] __device__(std::int64_t i) { to[i] = static_cast<To>(rowptr[i]); });
  return out;
}

template <class O>
__global__ void longest_kernel(index_t rows, const O* rowptr, unsigned long long* longest) {
  std::int64_t mine = 0;
  for (std::int64_t r = grid_thread(); r < rows; r += grid_stride()) {
    mine = max(mine, std::int64_t{rowptr[r + 1]} - rowptr[r]);
  }
  mine = warp_max(mine);
  if (lane_id() == 0) atomicMax(longest, static_cast<unsigned long long>(mine));
}

}  // namespace

template <offset O>
buffer<std::int32_t> narrow_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  return convert_offsets<std::int32_t>(ctx, rowptr, count);
}

template <offset O>
buffer<std::int64_t> widen_offsets(const context& ctx, const O* rowptr, std::size_t count) {
  return convert_offsets<std::int64_t>(ctx, rowptr, count);
}

template <offset O>
scanned_offsets<O> offsets_of(const context& ctx, buffer<std::int64_t> counts) {
  exclusive_scan(ctx, counts);
  const auto total = read_back(ctx, counts.data() + counts.size() - 1);
  if (total > std::numeric_limits<O>::max()) {
    throw error(status::overflow, "the nonzeros do not fit 32-bit offsets: ask for 64-bit ones");
  }
  if constexpr (std::same_as<O, std::int64_t>) {
    return {std::move(counts), total};
  } else {
    return {narrow_offsets(ctx, counts.data(), counts.size()), total};
  }
}

template <offset O>
std::int64_t longest(const context& ctx, index_t rows, const O* rowptr) {
  auto found = device_value<unsigned long long>(ctx);
  launch_items(ctx, "longest_row", longest_kernel<O>, rows, rows, rowptr, found.data());
  return static_cast<std::int64_t>(read_back(ctx, found.data()));
}

template <scalar T, offset O>
index_t longest_row(const context& ctx, csr_view<T, O> a) {
  const std::int64_t found = longest(ctx, a.rows, a.rowptr);
  if (found > std::numeric_limits<index_t>::max()) {
    throw error(status::overflow, "longest_row: a row has 2^31 entries or more");
  }
  return static_cast<index_t>(found);
}

#define TULLE_INSTANTIATE_OFFSET(O)                                                       \
  template buffer<std::int32_t> narrow_offsets<O>(const context&, const O*, std::size_t); \
  template buffer<std::int64_t> widen_offsets<O>(const context&, const O*, std::size_t);  \
  template scanned_offsets<O> offsets_of<O>(const context&, buffer<std::int64_t>);        \
  template std::int64_t longest<O>(const context&, index_t, const O*);
TULLE_INSTANTIATE_OFFSET(std::int32_t)
TULLE_INSTANTIATE_OFFSET(std::int64_t)
#define TULLE_INSTANTIATE(T, O) template index_t longest_row<T, O>(const context&, csr_view<T, O>);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cuda

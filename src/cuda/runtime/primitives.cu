#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "cuda/runtime/cub_workspace.cuh"
#include "cuda/runtime/primitives.hpp"
#include "cuda/runtime/stream.hpp"

namespace tulle::cuda {

void sort_keys(const context& ctx, buffer<std::uint64_t>& keys, int begin_bit, int end_bit) {
  const auto n = static_cast<std::int64_t>(keys.size());
  if (n < 2 || begin_bit == end_bit) return;
  buffer<std::uint64_t> other(ctx, keys.size());
  cub::DoubleBuffer<std::uint64_t> both(keys.data(), other.data());
  with_workspace(ctx, "cub::DeviceRadixSort::SortKeys", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(workspace, bytes, both, n, begin_bit, end_bit, native(ctx));
  });
  if (both.Current() != keys.data()) keys = std::move(other);
}

void sort_pairs(const context& ctx, buffer<std::uint64_t>& keys, buffer<std::int64_t>& numbers, int begin_bit,
                int end_bit) {
  const auto n = static_cast<std::int64_t>(keys.size());
  if (n < 2 || begin_bit == end_bit) return;
  buffer<std::uint64_t> other_keys(ctx, keys.size());
  buffer<std::int64_t> other_numbers(ctx, keys.size());
  cub::DoubleBuffer<std::uint64_t> both_keys(keys.data(), other_keys.data());
  cub::DoubleBuffer<std::int64_t> both_numbers(numbers.data(), other_numbers.data());
  with_workspace(ctx, "cub::DeviceRadixSort::SortPairs", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, both_keys, both_numbers, n, begin_bit, end_bit,
                                           native(ctx));
  });
  if (both_keys.Current() != keys.data()) keys = std::move(other_keys);
  if (both_numbers.Current() != numbers.data()) numbers = std::move(other_numbers);
}

void exclusive_scan(const context& ctx, buffer<std::int64_t>& numbers) {
  const auto n = static_cast<std::int64_t>(numbers.size());
  if (n == 0) return;
  with_workspace(ctx, "cub::DeviceScan::ExclusiveSum", [&](void* workspace, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(workspace, bytes, numbers.data(), numbers.data(), n, native(ctx));
  });
}

buffer<std::int64_t> zero_counts(const context& ctx, std::int64_t n) {
  buffer<std::int64_t> counts(ctx, static_cast<std::size_t>(n) + 1);
  fill_bytes(ctx, counts.data(), memory_space::device, 0, counts.bytes());
  return counts;
}

}  // namespace tulle::cuda

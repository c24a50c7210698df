// Device-wide sorts and scans, instantiated once for all operations: they take long to compile.
#pragma once

#include <bit>
#include <cstdint>
#include <tulle/core/buffer.hpp>
#include <utility>

namespace tulle::cuda {

/// Bits that hold every number from 0 to n - 1.
constexpr int bits_for(std::int64_t n) { return n <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(n - 1)); }

/// Sorts by bits [begin_bit, end_bit), stable; the other bits move along with their key.
void sort_keys(const context& ctx, buffer<std::uint64_t>& keys, int begin_bit, int end_bit);

/// The same, with a number that moves along with each key.
void sort_pairs(const context& ctx, buffer<std::uint64_t>& keys, buffer<std::int64_t>& numbers, int begin_bit,
                int end_bit);

/// In place: element i becomes the sum of those before it.
void exclusive_scan(const context& ctx, buffer<std::int64_t>& numbers);

/// A zeroed array of n counts and one more.
buffer<std::int64_t> zero_counts(const context& ctx, std::int64_t n);

}  // namespace tulle::cuda

// The pattern of a list of pairs so short that launches take longer than sorting.
#pragma once

#include "kernels/block_pattern.hpp"

namespace tulle::cuda {

/// What the host has to know of a pattern.
struct pattern_report {
  unsigned long long from_end;  // of the first pair that is out of range, or 0
  std::int64_t blocks;
  std::int64_t kept;  // entries that are in a block
  std::int64_t slots;
};

/// The row of entry e; block_rows where it has none, and then, if its pair is out of range, *from_end learns of it.
__device__ inline index_t row_in_range(const block_entries& entries, std::int64_t e, unsigned long long* from_end) {
  const std::int64_t p = entries.pair_of(e);
  if (p >= entries.pairs.pairs || entries.is_in_range(p)) return entries[e].row;
  if (from_end != nullptr) atomicMax(from_end, static_cast<unsigned long long>(entries.pairs.pairs - p));
  return entries.pairs.block_rows;
}

bool is_small(const block_entries& entries);

/// Everything of `out` but its sizes, unless a pair is out of range. Waits once.
pattern_report find_small(const context& ctx, const block_entries& entries, block_pattern& out);

}  // namespace tulle::cuda

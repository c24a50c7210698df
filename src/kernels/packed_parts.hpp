// Into how many parts the CPU's `packed` cuts a matrix, and how many threads they are worth: the kernel and what
// predicts its time agree on both.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.hpp"

namespace tulle {

/// Parts depend on the matrix alone, so that no number of threads shows in sums over rows. Their number is one that
/// many numbers of threads divide. `work`: rows and entries.
inline int packed_parts(std::int64_t work) {
  constexpr std::int64_t of_a_part = 1 << 14;
  const int most = threads_for(240, work, of_a_part);
  const auto down_to = [most](int multiple) { return most / multiple * multiple; };
  if (most >= 48) return down_to(24);
  if (most >= 8) return down_to(8);
  if (most >= 4) return 4;
  return work >= of_a_part ? 2 : 1;
}

/// An entry on a diagonal takes a quarter of the time of one that is gathered.
inline int packed_threads(int most, std::int64_t work, bool by_diagonal) {
  return threads_for_product(most, by_diagonal ? work / 4 : work);
}

}  // namespace tulle

// How the rows of the sorted classes are laid out over launches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/spgemm/sorted_rows.cuh"

namespace tulle::cuda {

/// So many blocks of a class are worth a launch of their own; more where the rows are not counted yet.
constexpr std::int64_t own_launch = 1024, own_launch_uncounted = 1100;

inline std::int64_t blocks_of(const row_list& list, int c) {
  return (std::int64_t{list.most} + groups_of(c) - 1) / groups_of(c);
}

/// Calls alone(c, list, blocks) for each class with many rows and shared(lists, blocks) for the others together.
template <class Alone, class Shared>
void lay_out_classes(sorted_lists lists, Alone alone, Shared shared) {
  const bool single = std::ranges::count_if(lists.of, [](const row_list& l) { return l.most > 0; }) == 1;
  std::int64_t blocks = 0;
  for (int c = 0; c < sorted_count; ++c) {
    row_list& list = lists.of[c];
    const std::int64_t own = blocks_of(list, c);
    if (own > 0 && (single || own >= (list.counted == nullptr ? own_launch : own_launch_uncounted))) {
      alone(c, list, static_cast<unsigned>(own));
      list = {};
    }
    blocks += blocks_of(list, c);
  }
  if (blocks > 0) shared(lists, static_cast<unsigned>(blocks));
}

}  // namespace tulle::cuda

// Huge pages for the large arrays of the reader: a page fault every 2 MB instead of every 4 kB.
#pragma once

#include <cstdint>

#include <sys/mman.h>

#include <tulle/core/buffer.hpp>

namespace tulle::matrix_market {

/// A hint; nothing depends on it.
template <class T>
void prefer_huge_pages(buffer<T>& memory) noexcept {
  constexpr std::uintptr_t huge = std::uintptr_t{1} << 21;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + huge - 1) & ~(huge - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory.data()) + memory.bytes()) & ~(huge - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace tulle::matrix_market

// The sums of one slice of packed_format.hpp, in portable code.
#pragma once

#include <bit>
#include <cstring>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/packed_format.hpp"

namespace tulle::cpu {

/// Where the next slice begins.
template <scalar T>
struct packed_cursor {
  const std::uint32_t* words;
  const T* values;
};

/// Asks for the cache line `ahead` bytes past p. Always inline: GCC takes a function that only prefetches for one that
/// does nothing, and drops the call.
[[gnu::always_inline]] inline void prefetch_ahead(const void* p, std::size_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + ahead));
}

/// Asks for the values of a position that lies prefetch_bytes ahead, and for as many words as one of `Width` bytes an
/// offset takes.
template <std::size_t Width, scalar T>
[[gnu::always_inline]] inline void prefetch_position(packed_cursor<T> at) {
  for (std::size_t line = 0; line < packed_lanes * sizeof(T); line += 64) {
    prefetch_ahead(at.values, prefetch_bytes + line);
  }
  for (std::size_t line = 0; line <= packed_lanes * Width; line += 64) {
    prefetch_ahead(at.words, prefetch_bytes / 2 + line);
  }
}

/// sum[l] += the entries of one position whose columns are base + lane + offset.
template <class Offset, scalar T>
[[gnu::always_inline]] inline void add_offsets(packed_cursor<T>& at, std::uint32_t base, std::uint32_t mask, const T* x,
                                               T* sum) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(at.words);
  std::uint32_t stored = 0;
  for (std::uint32_t left = mask; left != 0; left &= left - 1, ++stored) {
    const auto l = static_cast<std::uint32_t>(std::countr_zero(left));
    Offset offset;
    std::memcpy(&offset, bytes + (offsets_are_padded(sizeof(Offset)) ? l : stored) * sizeof(Offset), sizeof(Offset));
    sum[l] += *at.values++ * x[base + l + offset];
  }
}

template <scalar T>
[[gnu::always_inline]] inline void add_run(packed_cursor<T>& at, run_header run, const T* x, T* sum) {
  for (std::uint32_t i = 0; i < run.count; ++i) {
    prefetch_position<2>(at);
    const std::uint32_t base = *at.words++;
    if (run.kind == run_kind::full_diagonal) {
      const T* from = x + static_cast<std::int32_t>(base);
#pragma omp simd
      for (index_t l = 0; l < packed_lanes; ++l) sum[l] += at.values[l] * from[l];
      at.values += packed_lanes;
      continue;
    }
    const std::uint32_t mask = is_full(run.kind) ? all_lanes : *at.words++;
    const std::uint32_t width = offset_bytes(run.kind);
    if (width == 0) {
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const auto l = static_cast<std::uint32_t>(std::countr_zero(left));
        sum[l] += *at.values++ * x[base + l];
      }
    } else if (width == 1) {
      add_offsets<std::uint8_t>(at, base, mask, x, sum);
    } else if (width == 2) {
      add_offsets<std::uint16_t>(at, base, mask, x, sum);
    } else {
      add_offsets<std::uint32_t>(at, base, mask, x, sum);
    }
    at.words += offset_words(run.kind, std::popcount(mask));
  }
}

/// Adds the products of one slice to `sum`, which holds 32 of them, and moves on. Returns its row numbers, or null.
template <scalar T>
[[gnu::always_inline]] inline const std::uint32_t* add_slice(packed_cursor<T>& at, const T* x, T* sum) {
  at.values = aligned_values(at.values);
  run_header run = run_header::of(*at.words++);
  const std::uint32_t* rows = run.permuted ? at.words : nullptr;
  if (run.permuted) at.words += packed_lanes;
  for (;; run = run_header::of(*at.words++)) {
    add_run(at, run, x, sum);
    if (run.last) return rows;
  }
}

}  // namespace tulle::cpu

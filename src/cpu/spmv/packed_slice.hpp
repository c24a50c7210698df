// The sums of one slice of packed_format.hpp, in portable code.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/spmv/arithmetic.hpp"
#include "cpu/spmv/packed_format.hpp"
#include "kernels/value_words.hpp"

namespace tulle::cpu {

/// Asks for the cache line `ahead` bytes past p. Always inline: GCC takes a function that only prefetches for one that
/// does nothing, and drops the call.
[[gnu::always_inline]] inline void prefetch_ahead(const void* p, std::size_t ahead) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(p) + ahead));
}

/// Asks for the values of a position, of `slot_bytes` each, that lies prefetch_bytes ahead, and for as many words as one
/// of `Width` bytes an offset takes.
template <std::size_t Width>
[[gnu::always_inline]] inline void prefetch_position(const std::uint32_t* words, const void* values,
                                                     std::size_t slot_bytes) {
  for (std::size_t line = 0; line < packed_lanes * slot_bytes; line += 64) {
    prefetch_ahead(values, prefetch_bytes + line);
  }
  for (std::size_t line = 0; line <= packed_lanes * Width; line += 64) prefetch_ahead(words, prefetch_bytes / 2 + line);
}

/// Where values are read, as numbers of V. Whole: that is how they are stored, and is told when this is compiled.
template <scalar V, bool Whole>
class value_cursor {
 public:
  value_cursor(const packed_values<V>& values, const packed_part& part)
      : at_(values.of(part)),
        storage_(values.storage),
        by_slice_(values.by_slice),
        slot_bytes_(values.slot_bytes()),
        alignment_(values.alignment()),
        list_(values.list),
        low_(values.low) {}

  /// `count` numbers from `skip` on: where they are, or in `room`.
  [[gnu::always_inline]] const V* read(std::size_t skip, int count, V* room) const {
    const std::byte* from = address(skip);
    if constexpr (Whole) return reinterpret_cast<const V*>(from);
    switch (storage_) {
      case value_storage::f32:
        return widen<float>(from, count, room, [](float v) { return static_cast<V>(v); });
      case value_storage::f16:
        return widen<std::uint16_t>(from, count, room, [scale = scale_](std::uint16_t v) {
          return static_cast<V>(from_f16(v) * scale);
        });
      case value_storage::bf16:
        return widen<std::uint16_t>(from, count, room, [](std::uint16_t v) {
          return static_cast<V>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16));
        });
      case value_storage::listed:
        return widen<std::uint8_t>(from, count, room, [list = list_](std::uint8_t v) { return list[v]; });
      case value_storage::words:
        return join(from, count, room);
      case value_storage::high:
        return widen<std::uint32_t>(from, count, room, [](std::uint32_t v) { return static_cast<V>(from_high(v)); });
      default:
        return reinterpret_cast<const V*>(from);
    }
  }
  [[gnu::always_inline]] void skip(int count) { at_ = address(static_cast<std::size_t>(count)); }
  /// The same and moves on.
  [[gnu::always_inline]] const V* take(int count, V* room) {
    const V* values = read(0, count, room);
    skip(count);
    return values;
  }
  /// To where a slice begins that has this header.
  [[gnu::always_inline]] void enter(run_header slice) {
    at_ = aligned_address(at_, Whole ? std::size_t{64} : alignment_);
    if (Whole || !by_slice_) return;
    storage_ = storage_of(slice.form);
    slot_bytes_ = bytes_of(storage_, sizeof(V));
    if (storage_ == value_storage::f16) scale_ = f16_scale(slice.form);
  }
  [[gnu::always_inline]] const std::byte* address(std::size_t slot) const { return at_ + slot * slot_bytes(); }
  [[gnu::always_inline]] std::size_t slot_bytes() const { return Whole ? sizeof(V) : slot_bytes_; }

 private:
  template <class S, class F>
  [[gnu::always_inline]] static const V* widen(const std::byte* from, int count, V* room, const F& f) {
    for (int i = 0; i < count; ++i) {
      S stored;
      std::memcpy(&stored, from + static_cast<std::size_t>(i) * sizeof(S), sizeof(S));
      room[i] = f(stored);
    }
    return room;
  }

  /// High words and low ones.
  [[gnu::always_inline]] const V* join(const std::byte* from, int count, V* room) const {
    for (int i = 0; i < count; ++i) {
      value_words w;
      const std::byte* high = from + static_cast<std::size_t>(i) * sizeof w.high;
      std::memcpy(&w.high, high, sizeof w.high);
      std::memcpy(&w.low, high + low_, sizeof w.low);
      room[i] = static_cast<V>(from_words(w));
    }
    return room;
  }

  const std::byte* at_;
  value_storage storage_;
  bool by_slice_;
  std::size_t slot_bytes_;
  std::size_t alignment_;
  const V* list_;
  std::ptrdiff_t low_;
  float scale_ = 1;
};

/// Where the next slice begins.
template <scalar V, bool Whole>
struct packed_cursor {
  const std::uint32_t* words;
  value_cursor<V, Whole> values;

  packed_cursor(const packed_part& part, const packed_values<V>& of) : words(part.words), values(of, part) {}
};

/// sum[l] += the entries of one position whose columns are base + lane + offset.
template <class Offset, scalar V>
[[gnu::always_inline]] inline void add_offsets(const std::uint32_t* words, const V* values, std::uint32_t base,
                                               std::uint32_t mask, const V* x, V* sum) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(words);
  std::uint32_t stored = 0;
  for (std::uint32_t left = mask; left != 0; left &= left - 1, ++stored) {
    const auto l = static_cast<std::uint32_t>(std::countr_zero(left));
    Offset offset;
    std::memcpy(&offset, bytes + (offsets_are_padded(sizeof(Offset)) ? l : stored) * sizeof(Offset), sizeof(Offset));
    sum[l] += *values++ * x[base + l + offset];
  }
}

/// The same of a position with an entry in every lane.
template <class Offset, scalar V>
[[gnu::always_inline]] inline void add_all_offsets(const std::uint32_t* words, const V* values, std::uint32_t base,
                                                   const V* x, V* sum) {
  Offset offsets[packed_lanes];
  std::memcpy(offsets, words, sizeof(offsets));
  const V* from = x + static_cast<std::int32_t>(base);
#pragma GCC unroll 4
  for (index_t l = 0; l < packed_lanes; ++l) sum[l] += values[l] * from[static_cast<std::int64_t>(l) + offsets[l]];
}

/// Positions on diagonals with an entry in every lane: sums stay in registers.
template <scalar V, bool Whole>
[[gnu::always_inline]] inline void add_full_diagonals(packed_cursor<V, Whole>& at, std::uint32_t count, const V* x,
                                                      V* sum) {
  constexpr int bytes = 32, each = bytes / sizeof(V), vectors = packed_lanes / each;
  typedef V vec __attribute__((vector_size(bytes), aligned(sizeof(V)), may_alias));
  alignas(64) V room[packed_lanes];
  vec part[vectors];
#pragma GCC unroll 8
  for (int i = 0; i < vectors; ++i) part[i] = *reinterpret_cast<const vec*>(sum + i * each);
  for (; count > 0; --count) {
    prefetch_position<2>(at.words, at.values.address(0), at.values.slot_bytes());
    const V* from = x + static_cast<std::int32_t>(*at.words++);
    const V* values = at.values.take(packed_lanes, room);
#pragma GCC unroll 8
    for (int i = 0; i < vectors; ++i) {
      part[i] += *reinterpret_cast<const vec*>(values + i * each) * *reinterpret_cast<const vec*>(from + i * each);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < vectors; ++i) *reinterpret_cast<vec*>(sum + i * each) = part[i];
}

template <scalar V, bool Whole>
[[gnu::always_inline]] inline void add_run(packed_cursor<V, Whole>& at, run_header run, const V* x, V* sum) {
  if (run.kind == run_kind::full_diagonal) return add_full_diagonals(at, run.count, x, sum);
  alignas(64) V room[packed_lanes];
  for (std::uint32_t i = 0; i < run.count; ++i) {
    prefetch_position<2>(at.words, at.values.address(0), at.values.slot_bytes());
    const std::uint32_t base = *at.words++;
    if (is_full(run.kind)) {
      const V* values = at.values.take(packed_lanes, room);
      if (run.kind == run_kind::full8) add_all_offsets<std::uint8_t>(at.words, values, base, x, sum);
      if (run.kind == run_kind::full16) add_all_offsets<std::uint16_t>(at.words, values, base, x, sum);
      if (run.kind == run_kind::full32) add_all_offsets<std::uint32_t>(at.words, values, base, x, sum);
      at.words += offset_words(run.kind, packed_lanes);
      continue;
    }
    const std::uint32_t mask = *at.words++;
    const std::uint32_t width = offset_bytes(run.kind);
    const V* values = at.values.take(std::popcount(mask), room);
    if (width == 0) {
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const auto l = static_cast<std::uint32_t>(std::countr_zero(left));
        sum[l] += *values++ * x[base + l];
      }
    } else if (width == 1) {
      add_offsets<std::uint8_t>(at.words, values, base, mask, x, sum);
    } else if (width == 2) {
      add_offsets<std::uint16_t>(at.words, values, base, mask, x, sum);
    } else {
      add_offsets<std::uint32_t>(at.words, values, base, mask, x, sum);
    }
    at.words += offset_words(run.kind, std::popcount(mask));
  }
}

/// Adds the products of one slice to `sum`, which holds 32 of them, and moves on. Returns its row numbers, or null.
template <scalar V, bool Whole>
[[gnu::always_inline]] inline const std::uint32_t* add_slice(packed_cursor<V, Whole>& at, const V* x, V* sum) {
  run_header run = run_header::of(*at.words++);
  at.values.enter(run);
  const std::uint32_t* rows = run.permuted ? at.words : nullptr;
  if (run.permuted) at.words += packed_lanes;
  for (;; run = run_header::of(*at.words++)) {
    add_run(at, run, x, sum);
    if (run.last) return rows;
  }
}

}  // namespace tulle::cpu

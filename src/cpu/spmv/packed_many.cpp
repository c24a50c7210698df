// Y = alpha A X + beta Y of one part of packed_format.hpp, for several column-major vectors in one pass over the matrix. For
// matrices that are mostly full diagonals: the other kinds of positions are read correctly, not fast. X by rows is left to CSR,
// which is faster: docs/notes/0026-sddmm-and-spmm-cpu.md.
//
// A slice is walked once for each block of its lanes, so that their sums of all vectors stay in registers.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/parallel.hpp"
#include "cpu/spmv/csr_many.hpp"
#include "cpu/spmv/packed_multiply.hpp"
#include "cpu/spmv/packed_slice.hpp"

namespace tulle::cpu {
namespace {

/// `Width` vectors of X, `stride` apart, whose elements lie together.
template <scalar V, int Width>
struct vectors_by_column {
  static constexpr index_t block = 64 / sizeof(V);
  static constexpr index_t place(index_t l, int j) { return j * block + l; }
  const V* x;
  std::int64_t stride;

  [[gnu::always_inline]] void add_diagonal(V* sum, const V* values, std::int64_t first) const {
#pragma GCC unroll 8
    for (int j = 0; j < Width; ++j) {
      const V* from = x + j * stride + first;
#pragma omp simd
      for (index_t l = 0; l < block; ++l) sum[place(l, j)] += values[l] * from[l];
    }
  }
  /// Lanes without an entry load what another one does, and drop it: a NaN there does not leak.
  template <class Column>
  [[gnu::always_inline]] void add_masked(V* sum, const V* values, std::uint32_t mask, const Column& column_of) const {
    V value[block] = {};
    std::int32_t column[block];
    std::fill_n(column, block, column_of(std::countr_zero(mask)));
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const index_t l = std::countr_zero(left);
      value[l] = *values++;
      column[l] = column_of(l);
    }
#pragma GCC unroll 8
    for (int j = 0; j < Width; ++j) {
      const V* from = x + j * stride;
#pragma omp simd
      for (index_t l = 0; l < block; ++l) {
        const V product = value[l] * from[column[l]];
        sum[place(l, j)] += (mask >> l & 1) != 0 ? product : V{0};
      }
    }
  }
  [[gnu::always_inline]] void store(const many_output<V>& y, index_t row, const V* sum) const {
    for (int j = 0; j < Width; ++j) y.store(row, j, sum[place(0, j)]);
  }
};

/// The offset number i of a position, of 0, 1, 2 or 4 bytes.
[[gnu::always_inline]] inline std::int32_t offset_at(const std::uint32_t* offsets, std::uint32_t bytes,
                                                     std::uint32_t i) {
  std::uint32_t offset = 0;
  std::memcpy(&offset, reinterpret_cast<const unsigned char*>(offsets) + i * bytes, bytes);
  return static_cast<std::int32_t>(offset);
}

/// sum += the entries of a run of `kind` that the lanes [first, first + block) have; moves on to the next run.
/// `Kind` is known to the compiler where it matters: offsets32 stands for all that are not on diagonals.
template <run_kind Kind, scalar V, bool Whole, class Vectors>
[[gnu::always_inline]] inline void add_run(packed_cursor<V, Whole>& at, run_header run, index_t first, const Vectors& x,
                                           V* sum) {
  constexpr index_t block = Vectors::block;
  constexpr std::uint32_t block_mask = (std::uint32_t{1} << block) - 1;
  constexpr bool diagonal = offset_bytes(Kind) == 0;
  const run_kind kind = diagonal ? Kind : run.kind;
  alignas(64) V room[block];
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const std::int32_t base = static_cast<std::int32_t>(*at.words++) + first;
    const std::uint32_t mask = is_full(kind) ? all_lanes : *at.words++;
    const std::uint32_t mine = mask >> first & block_mask;
    const auto before = static_cast<std::uint32_t>(std::popcount(mask & ((std::uint32_t{1} << first) - 1)));
    for (std::size_t byte = 0; byte < block * at.values.slot_bytes(); byte += 64) {
      prefetch_ahead(at.values.address(before), 2 * prefetch_bytes + byte);
    }
    const auto values = [&]() __attribute__((always_inline)) { return at.values.read(before, std::popcount(mine), room); };
    if (diagonal && mine == block_mask) {
      x.add_diagonal(sum, at.values.read(before, block, room), base);
    } else if (diagonal && mine != 0) {
      x.add_masked(sum, values(), mine, [base](index_t l) { return base + l; });
    } else if (mine != 0) {
      std::int32_t column[block];
      std::uint32_t k = before;
      for (std::uint32_t left = mine; left != 0; left &= left - 1, ++k) {
        const index_t l = std::countr_zero(left);
        const std::uint32_t bytes = offset_bytes(kind);
        column[l] = base + l +
                    offset_at(at.words, bytes, offsets_are_padded(bytes) ? static_cast<std::uint32_t>(first + l) : k);
      }
      x.add_masked(sum, values(), mine, [&column](index_t l) { return column[l]; });
    }
    const int entries = std::popcount(mask);
    at.values.skip(entries);
    at.words += offset_words(kind, entries);
  }
}

/// The sums of the lanes [first, first + block) of one slice; moves on to the next slice.
template <scalar V, bool Whole, class Vectors>
[[gnu::always_inline]] inline void add_lanes(packed_cursor<V, Whole>& at, index_t first, const Vectors& x, V* sum) {
  for (;;) {
    const run_header run = run_header::of(*at.words++);
    if (run.permuted) at.words += packed_lanes;
    switch (run.kind) {
      case run_kind::full_diagonal:
        add_run<run_kind::full_diagonal>(at, run, first, x, sum);
        break;
      case run_kind::diagonal:
        add_run<run_kind::diagonal>(at, run, first, x, sum);
        break;
      default:
        add_run<run_kind::offsets32>(at, run, first, x, sum);
    }
    if (run.last) return;
  }
}

template <int Width, bool Whole, class Vectors, scalar V>
void multiply_part(isa level, const packed_part& part, const packed_values<V>& values, Vectors x, many_output<V> y) {
  constexpr index_t block = Vectors::block;
  with_isa(
      level, [&]() __attribute__((always_inline)) {
        packed_cursor<V, Whole> at(part, values);
        for (index_t slice = part.first; slice < part.last; slice += packed_lanes) {
          const run_header slice_header = run_header::of(*at.words);
          at.values.enter(slice_header);
          const packed_cursor<V, Whole> begin = at;
          const bool permuted = slice_header.permuted;
          for (index_t first = 0; first < packed_lanes; first += block) {
            V sum[block * Width] = {};
            at = begin;
            for (index_t l = 0; l < block; ++l) prefetch_ahead(y.at(slice + first + l, 0), 0);
            add_lanes(at, first, x, sum);
            const index_t lanes = std::min(block, part.last - slice - first);
            for (index_t l = 0; l < lanes; ++l) {
              const index_t row = permuted ? static_cast<index_t>(begin.words[1 + first + l]) : slice + first + l;
              x.store(y, row, sum + Vectors::place(l, 0));
            }
          }
        }
      });
}

constexpr int widest = 8;  // vectors in one pass

template <bool Whole, scalar V>
void multiply_parts(isa level, int threads, std::span<const packed_part> parts, const packed_values<V>& values,
                    const strided_vectors& x, const many_output<V>& y) {
  in_chunks<V, false, widest>(0, x, y, [&]<int Width, bool>(const V* from, std::int64_t stride, const many_output<V>& to) {
    parallel_for(threads, static_cast<int>(parts.size()), [&](int i) {
      const packed_part& part = parts[static_cast<std::size_t>(i)];
      multiply_part<Width, Whole>(level, part, values, vectors_by_column<V, Width>{from, stride}, to);
    });
  });
}

}  // namespace

template <scalar V>
void multiply_packed_many(isa level, int threads, std::span<const packed_part> parts, const packed_values<V>& values,
                          double alpha, const strided_vectors& x, double beta, const strided_vectors& y,
                          const many_finish& finish) {
  const many_output<V> to = output_of<V>(alpha, beta, y, finish);
  if (values.storage == value_storage::whole && !values.by_slice) {
    multiply_parts<true>(level, threads, parts, values, x, to);
  } else {
    multiply_parts<false>(level, threads, parts, values, x, to);
  }
}

template void multiply_packed_many(isa, int, std::span<const packed_part>, const packed_values<float>&, double,
                                   const strided_vectors&, double, const strided_vectors&, const many_finish&);
template void multiply_packed_many(isa, int, std::span<const packed_part>, const packed_values<double>&, double,
                                   const strided_vectors&, double, const strided_vectors&, const many_finish&);

}  // namespace tulle::cpu

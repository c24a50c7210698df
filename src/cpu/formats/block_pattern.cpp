// Block patterns: a counting sort by row, then every row by column; duplicates of a block are side by side.
#include <fmt/format.h>

#include <algorithm>
#include <tulle/core/status.hpp>
#include <tulle/formats/views.hpp>

#include "core/parallel.hpp"
#include "core/wrapping_sum.hpp"
#include "kernels/backends.hpp"
#include "kernels/types.hpp"

namespace tulle::cpu {
namespace {

void check_range(const context& ctx, const block_entries& entries) {
  const std::int64_t pairs = entries.pairs.pairs;
  const std::int64_t bad = parallel_reduce(
      threads_for(ctx.threads(), pairs), pairs, 4096, pairs,
      [&](std::int64_t p, std::int64_t& first) {
        if (p < first && !entries.is_in_range(p)) first = p;
      },
      [](std::int64_t& first, std::int64_t other) { first = std::min(first, other); });
  if (bad == pairs) return;
  throw error(status::invalid_structure, fmt::format("find_block_pattern: pair {} is ({}, {}), out of range", bad,
                                                     entries.pairs.rowind[bad], entries.pairs.colind[bad]));
}

/// Blocks of the longest row of every bin, as offsets of slots.
void find_bins(const context& ctx, block_pattern& out) {
  const index_t rows = out.rows(), b = out.block;
  const std::int64_t bins = (std::int64_t{rows} + bin_rows - 1) / bin_rows;
  out.binptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(bins) + 1);
  const std::int64_t* rowptr = out.rowptr.data();
  std::int64_t* binptr = out.binptr.data();
  parallel_for(threads_for(ctx.threads(), rows), bins, [&](std::int64_t bin) {
    const std::int64_t last = std::min<std::int64_t>((bin + 1) * bin_rows, rows);
    std::int64_t length = 0;
    for (std::int64_t R = bin * bin_rows / b; R * b < last; ++R) length = std::max(length, rowptr[R + 1] - rowptr[R]);
    binptr[bin + 1] = length * bin_rows;
  });
  scan_counts(ctx.threads(), binptr, bins);
  out.slots = binptr[bins];
}

block_pattern find(const context& ctx, const block_pairs_view& pairs, const block_pattern_options& options) {
  const block_entries entries(pairs, options);
  check_range(ctx, entries);
  const index_t rows = pairs.block_rows;
  block_pattern out{rows, pairs.block_cols, options.block, pairs.pairs, {}, {}, {}, {}, {}, 0};
  const std::int64_t n = entries.size();
  buffer<std::int64_t> sorted(ctx, static_cast<std::size_t>(n));
  std::int64_t* const e = sorted.data();
  const auto place = [&](std::int64_t begin, std::int64_t end, auto next) {
    for (std::int64_t k = begin; k < end; ++k) e[next(entries[k].row)] = k;
  };
  const buffer<std::int64_t> offsets = counting_sort<std::int64_t>(
      ctx, n, rows + 1, [&](std::int64_t k) { return entries[k].row; }, place);
  const std::int64_t* first = offsets.data();
  const int threads = threads_for(ctx.threads(), n + rows);

  out.rowptr = buffer<std::int64_t>(ctx, static_cast<std::size_t>(rows) + 1);
  std::int64_t* rowptr = out.rowptr.data();
  const auto opens = [&](std::int64_t at, std::int64_t begin) {
    return at == begin || entries[e[at]].col != entries[e[at - 1]].col;
  };
  parallel_for(threads, rows, 64, [&](index_t r) {
    std::sort(e + first[r], e + first[r + 1], [&](std::int64_t a, std::int64_t b) {
      const index_t i = entries[a].col, j = entries[b].col;
      return i != j ? i < j : a < b;
    });
    std::int64_t count = 0;
    for (std::int64_t at = first[r]; at < first[r + 1]; ++at) count += opens(at, first[r]) ? 1 : 0;
    rowptr[r + 1] = count;
  });
  scan_counts(ctx.threads(), rowptr, rows);

  const auto blocks = static_cast<std::size_t>(rowptr[rows]);
  out.colind = buffer<index_t>(ctx, blocks);
  out.termptr = buffer<std::int64_t>(ctx, blocks + 1);
  out.terms = buffer<std::int64_t>(ctx, static_cast<std::size_t>(first[rows]));
  out.termptr.data()[blocks] = first[rows];
  parallel_for(threads, rows, 64, [&](index_t r) {
    std::int64_t k = rowptr[r];
    for (std::int64_t at = first[r]; at < first[r + 1]; ++at) {
      const block_entry entry = entries[e[at]];
      out.terms.data()[at] = entry.term;
      if (!opens(at, first[r])) continue;
      out.colind.data()[k] = entry.col;
      out.termptr.data()[k++] = at;
    }
  });
  find_bins(ctx, out);
  return out;
}

void fill_bins(const context& ctx, const block_pattern& p, std::int64_t* rowptr, index_t* colptr) {
  const auto bins = static_cast<std::int64_t>(p.binptr.size()) - 1;
  std::fill(colptr, colptr + p.slots, index_t{-1});
  parallel_for(threads_for(ctx.threads(), p.slots), (bins + 1) * bin_rows, 4096, [&](std::int64_t r) {
    rowptr[r] = p.binptr.data()[r / bin_rows] + r % bin_rows;
    if (r >= p.rows()) return;
    const std::int64_t begin = p.rowptr.data()[r / p.block], end = p.rowptr.data()[r / p.block + 1];
    for (std::int64_t k = begin; k < end; ++k) colptr[rowptr[r] + (k - begin) * bin_rows] = p.colind.data()[k];
  });
}

/// Value (i, j) of block k.
template <scalar T>
T sum_of_terms(const block_pattern& p, const T* from, std::int64_t k, index_t i, index_t j) {
  T sum{0};
  const std::int64_t begin = p.termptr.data()[k], end = p.termptr.data()[k + 1];
  for (std::int64_t at = begin; at < end; ++at) {
    const std::int64_t term = p.terms.data()[at];
    if (term < 0) continue;
    const T value = from[term_place(term, i, j, p.block)];
    sum = at == begin ? value : wrapping_sum(sum, value);
  }
  return sum;
}

template <class F>
void with_values(scalar_type type, const F& f) {
  dispatch<type_set::all>({type, offset_type::i32}, [&]<class T, class>() { f.template operator()<T>(); });
}

void assemble_bsr(const context& ctx, const block_pattern& p, scalar_type type, const void* from, void* to) {
  const index_t b = p.block;
  with_values(type, [&]<class T>() {
    parallel_for(threads_for(ctx.threads(), p.blocks() * b * b), p.blocks(), 256, [&](std::int64_t k) {
      T* block = static_cast<T*>(to) + k * b * b;
      for (index_t i = 0; i < b; ++i) {
        for (index_t j = 0; j < b; ++j) block[i * b + j] = sum_of_terms(p, static_cast<const T*>(from), k, i, j);
      }
    });
  });
}

void assemble_bins(const context& ctx, const block_pattern& p, scalar_type type, const void* from, void* to) {
  const index_t b = p.block;
  with_values(type, [&]<class T>() {
    parallel_for(threads_for(ctx.threads(), p.slots * b), p.rows(), 256, [&](index_t r) {
      std::int64_t slot = p.binptr.data()[r / bin_rows] + r % bin_rows;
      for (std::int64_t k = p.rowptr.data()[r / b]; k < p.rowptr.data()[r / b + 1]; ++k, slot += bin_rows) {
        T* row = static_cast<T*>(to) + bin_place(slot, r, b);
        for (index_t j = 0; j < b; ++j) {
          row[j * bin_rows] = sum_of_terms(p, static_cast<const T*>(from), k, r % b, j);
        }
      }
    });
  });
}

}  // namespace

const block_pattern_kernels& block_patterns() {
  static constexpr block_pattern_kernels table = {find, fill_bins, assemble_bsr, assemble_bins};
  return table;
}

}  // namespace tulle::cpu

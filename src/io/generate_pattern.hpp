// A generated matrix: its pattern by row lengths from a formula, a scan, then every row by itself; and its values, from
// a hash of the seed, the row and the column.
#pragma once

#include <cstdint>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>

#include "core/parallel.hpp"
#include "io/generate_spec.hpp"

namespace tulle::generators_detail {

struct pattern {
  index_t rows = 0;
  index_t cols = 0;
  buffer<std::int64_t> rowptr;
  buffer<index_t> colind;  // ascending and distinct within each row
  bool symmetric = false;  // and every diagonal entry is there
};

/// Throws OUT_OF_MEMORY when `rows` offsets and `nnz` entries are more than this machine's memory.
void require_memory(const context& ctx, index_t rows, double nnz);

/// expected: about how many entries, to refuse before anything is allocated what cannot fit; length(r): the number of
/// entries of row r; fill(r, to, end): writes the columns of row r in ascending order; symmetric: as in pattern.
template <class Length, class Fill>
pattern build_pattern(const context& ctx, index_t rows, index_t cols, double expected, Length length, Fill fill,
                      bool symmetric = false) {
  require_memory(ctx, rows, expected);
  pattern out{rows, cols, buffer<std::int64_t>(ctx, static_cast<std::size_t>(rows) + 1), {}, symmetric};
  std::int64_t* rowptr = out.rowptr.data();
  parallel_for(threads_for(ctx.threads(), rows), rows, 4096, [&](index_t r) { rowptr[r + 1] = length(r); });
  scan_counts(ctx.threads(), rowptr, rows);
  require_memory(ctx, rows, static_cast<double>(rowptr[rows]));
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[rows]));
  index_t* colind = out.colind.data();
  parallel_rows(threads_for(ctx.threads(), rows + rowptr[rows]), rows, rowptr, [&](index_t begin, index_t end) {
    for (index_t r = begin; r < end; ++r) fill(r, colind + rowptr[r], colind + rowptr[r + 1]);
  });
  return out;
}

pattern make_uniform(const context& ctx, const parameters& p);
pattern make_corner(const context& ctx, const parameters& p);
pattern make_stencil(const context& ctx, const parameters& p);
pattern make_fem(const context& ctx, const parameters& p);
pattern make_banded(const context& ctx, const parameters& p);
pattern make_rmat(const context& ctx, const parameters& p);
pattern make_short(const context& ctx, const parameters& p);
pattern make_arrow(const context& ctx, const parameters& p);
pattern make_block(const context& ctx, const parameters& p);
pattern make_diagonal(const context& ctx, const parameters& p);

enum class value_kind : std::uint8_t { random, spd, integer };

/// random: uniform in (-1, 1), never 0 (i32: as integer). integer: -8 .. 8 without 0. spd: a symmetric matrix with
/// those off the diagonal and a diagonal above the sum of their magnitudes; needs a symmetric pattern.
template <scalar T>
buffer<T> make_values(const context& ctx, const pattern& p, value_kind kind, std::uint64_t seed);

}  // namespace tulle::generators_detail

// C = A B of dense blocks of any shape.
//
// Method: row by row (Gustavson, ACM TOMS 4, 1978), a block for an entry. A thread takes 16 block rows of A at a time,
// finds the block columns of C in a table of B's, sorts them, and adds the products of blocks where they belong. Bytes
// per product of entries: 3 sizeof(T) at most, from caches where blocks are large.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {
namespace {

using further::row_offsets;

constexpr std::int64_t rows_at_once = 16;

/// c += a b for blocks of height x inner and inner x width; B: all three, 0: any.
template <int B, class N>
[[gnu::always_inline]] inline void add_product(const N* a, const N* b, N* c, index_t height, index_t inner,
                                               index_t width) {
  const index_t rows = B > 0 ? B : height, terms = B > 0 ? B : inner, columns = B > 0 ? B : width;
  for (index_t i = 0; i < rows; ++i) {
    for (index_t k = 0; k < terms; ++k) {
      const N factor = a[std::int64_t{i} * terms + k];
      const N* const from = b + std::int64_t{k} * columns;
      N* const to = c + std::int64_t{i} * columns;
      for (index_t j = 0; j < columns; ++j) to[j] = multiply_add(to[j], factor, from[j]);
    }
  }
}

/// Calls f(integral_constant) with the size of blocks that are square and alike, up to 6, else with 0.
template <int B = 1, class F>
void with_square(const blocks_ref& a, const blocks_ref& b, const F& f) {
  if constexpr (B > 6) {
    f(std::integral_constant<int, 0>{});
  } else {
    if (a.block_rows == B && a.block_cols == B && b.block_cols == B) return f(std::integral_constant<int, B>{});
    with_square<B + 1>(a, b, f);
  }
}

struct operands {
  const blocks_ref& a;
  const blocks_ref& b;
  row_offsets of_a{a.rowptr, a.types.offset};
  row_offsets of_b{b.rowptr, b.types.offset};

  template <class F>
  [[gnu::always_inline]] void for_products(index_t row, const F& f) const {
    for (std::int64_t k = of_a[row], end = of_a[row + 1]; k < end; ++k) {
      for (std::int64_t l = of_b[a.colind[k]], last = of_b[a.colind[k] + 1]; l < last; ++l) f(k, l);
    }
  }
};

/// Where a block column of B is in the row of C at hand; a thread's own.
struct places {
  std::vector<std::int64_t> of;
  explicit places(index_t columns) : of(static_cast<std::size_t>(columns), -1) {}
  std::int64_t& operator[](index_t column) { return of[static_cast<std::size_t>(column)]; }
};

}  // namespace

block_matrix multiply_blocks(const context& ctx, const blocks_ref& a, const blocks_ref& b) {
  const operands p{a, b};
  const index_t rows = a.rows_of_blocks(), columns = b.cols / b.block_cols;
  const std::int64_t size = std::int64_t{a.block_rows} * b.block_cols;
  const int threads = threads_for(ctx.threads(), rows + a.blocks() * a.block_rows * a.block_cols);
  block_matrix c{
      a.types.value, a.rows, b.cols, a.block_rows, b.block_cols, {ctx, static_cast<std::size_t>(rows) + 1}, {}, {}};
  std::int64_t* const rowptr = c.rowptr.data();
  parallel_chunks(threads, rows, rows_at_once, [&](int, auto next) {
    places seen_in(columns);
    next([&](index_t r) {
      std::int64_t count = 0;
      p.for_products(r, [&](std::int64_t, std::int64_t l) {
        if (std::int64_t& seen = seen_in[b.colind[l]]; seen != r) {
          seen = r;
          ++count;
        }
      });
      rowptr[r + 1] = count;
    });
  });
  scan_counts(1, rowptr, rows);
  c.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[rows]));
  c.values = buffer<std::byte>(ctx, static_cast<std::size_t>(rowptr[rows] * size) * size_of(a.types.value));
  const isa level = best_isa();
  const auto fill = [&]<int B, class N>(std::integral_constant<int, B>, const N* of_a, const N* of_b, N* of_c) {
    parallel_chunks(threads, rows, rows_at_once, [&](int, auto next) {
      places place(columns);
      next([&](index_t r) {
        const std::int64_t begin = rowptr[r];
        std::int64_t free = rowptr[r + 1];  // places are taken from the end
        std::fill_n(of_c + begin * size, (free - begin) * size, N::zero());
        with_isa(
            level, [&]() __attribute__((always_inline)) {
              p.for_products(
                  r, [&](std::int64_t k, std::int64_t l) __attribute__((always_inline)) {
                    std::int64_t& at = place[b.colind[l]];
                    if (at < begin) {  // of an earlier row, or none
                      at = --free;
                      c.colind.data()[at] = b.colind[l];
                    }
                    add_product<B>(of_a + k * a.block_rows * a.block_cols, of_b + l * b.block_rows * b.block_cols,
                                   of_c + at * size, a.block_rows, a.block_cols, b.block_cols);
                  });
            });
      });
    });
  };
  further::dispatch_numbers(a.types.value, [&]<class N>() {
    with_square(a, b, [&](auto square) {
      fill(square, static_cast<const N*>(a.values), static_cast<const N*>(b.values),
           reinterpret_cast<N*>(c.values.data()));
    });
  });
  return c;
}

}  // namespace tulle::cpu

// Arrays: column-major values in the file, every element of a CSR in memory.
#include <algorithm>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "io/matrix_market_assemble.hpp"

namespace tulle::matrix_market {
namespace {

/// Closes the gaps between segments.
template <scalar T>
void close_gaps(value_list<T>& values) {
  array_entry<T>* to = values.entries.data();
  for (const segment& s : values.segments) {
    const array_entry<T>* from = values.entries.data() + s.first;
    to = std::copy(from, from + s.count, to);
  }
}

/// Element (i, j) of a column-major array, of which symmetric ones store the lower triangle alone (skew-symmetric ones
/// without the diagonal).
template <scalar T>
T element(const header& h, const array_entry<T>* values, std::int64_t i, std::int64_t j) {
  const std::int64_t n = h.rows;
  if (h.symmetry == mm_symmetry::general) return values[j * n + i].value;
  if constexpr (complex_scalar<T>) {
    if (h.symmetry == mm_symmetry::hermitian) {
      const bool mirrored = i < j;
      if (mirrored) std::swap(i, j);
      const T value = values[j * n - j * (j + 1) / 2 + i].value;
      return mirrored ? std::conj(value) : value;
    }
  }
  if (h.symmetry == mm_symmetry::symmetric) {
    if (i < j) std::swap(i, j);
    return values[j * n - j * (j + 1) / 2 + i].value;
  }
  if (i == j) return T{0};
  const bool upper = i < j;
  if (upper) std::swap(i, j);
  const T value = values[j * n - j * (j + 1) / 2 + i - j - 1].value;
  return upper ? -value : value;
}

}  // namespace

template <scalar T>
csr<T> assemble_array(const context& ctx, const header& h, value_list<T> values) {
  close_gaps(values);
  const std::int64_t rows = h.rows;
  const std::int64_t cols = h.cols;
  const auto nnz = static_cast<std::size_t>(rows * cols);
  csr<T> a{h.rows, h.cols, buffer<std::int64_t>(ctx, static_cast<std::size_t>(rows) + 1), buffer<index_t>(ctx, nnz),
           buffer<T>(ctx, nnz)};
  constexpr std::int64_t tile = 64;  // rows at a time, so that columns are read and rows are written in cache lines
  a.rowptr.data()[rows] = rows * cols;
  parallel_for(threads_for(ctx.threads(), rows + rows * cols), (rows + tile - 1) / tile, [&](std::int64_t number) {
    const std::int64_t first = number * tile;
    const std::int64_t last = std::min(first + tile, rows);
    for (std::int64_t i = first; i < last; ++i) a.rowptr.data()[i] = i * cols;
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t i = first; i < last; ++i) {
        a.colind.data()[i * cols + j] = static_cast<index_t>(j);
        a.values.data()[i * cols + j] = element(h, values.entries.data(), i, j);
      }
    }
  });
  return a;
}

#define TULLE_INSTANTIATE(T) template csr<T> assemble_array<T>(const context&, const header&, value_list<T>);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market

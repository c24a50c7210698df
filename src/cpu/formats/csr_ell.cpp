// CSR <-> ELL. Rows are taken 64 at a time, so that the column-major slots are written in runs.
#include <algorithm>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

constexpr index_t rows_at_once = 64;

/// Writes the values, and the column indices unless `colind` is null. False when a row is longer than `width`.
template <scalar T, offset O>
bool fill_slots(int threads, csr_view<T, O> a, index_t width, index_t* colind, T* values) {
  bool fits = true;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(&& : fits)
  for (std::int64_t first = 0; first < a.rows; first += rows_at_once) {
    const auto last = static_cast<index_t>(std::min<std::int64_t>(first + rows_at_once, a.rows));
    for (index_t s = 0; s < width; ++s) {
      const std::int64_t slots = static_cast<std::int64_t>(s) * a.rows;
      for (auto r = static_cast<index_t>(first); r < last; ++r) {
        const O k = a.rowptr[r] + s;
        const bool used = k < a.rowptr[r + 1];
        values[slots + r] = used ? a.values[k] : T{0};
        if (colind != nullptr) colind[slots + r] = used ? a.colind[k] : -1;
      }
    }
    for (auto r = static_cast<index_t>(first); r < last; ++r) fits = fits && a.rowptr[r + 1] - a.rowptr[r] <= width;
  }
  return fits;
}

}  // namespace

template <scalar T, offset O>
ell<T> csr_to_ell(const context& ctx, csr_view<T, O> a, index_t width) {
  const auto slots = static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(width);
  ell<T> out{a.rows, a.cols, a.nnz, width, buffer<index_t>(ctx, slots), buffer<T>(ctx, slots)};
  fill_slots(ctx.threads(), a, width, out.colind.data(), out.values.data());
  return out;
}

template <scalar T, offset O>
void update_ell(const context& ctx, csr_view<T, O> from, ell<T>& to) {
  if (!fill_slots<T, O>(ctx.threads(), from, to.width, nullptr, to.values.data())) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the ELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> ell_to_csr(const context& ctx, ell_view<T> a) {
  const int threads = ctx.threads();
  csr<T, O> out{a.rows, a.cols, buffer<O>(ctx, static_cast<std::size_t>(a.rows) + 1), {}, {}};
  O* rowptr = out.rowptr.data();
  const auto slot = [&](index_t s, index_t r) { return static_cast<std::int64_t>(s) * a.rows + r; };
#pragma omp parallel for num_threads(threads) schedule(static)
  for (index_t r = 0; r < a.rows; ++r) {
    O count = 0;
    for (index_t s = 0; s < a.width; ++s) count += a.colind[slot(s, r)] >= 0;
    rowptr[r + 1] = count;
  }
  scan_counts(threads, rowptr, a.rows);
  out.colind = buffer<index_t>(ctx, static_cast<std::size_t>(rowptr[a.rows]));
  out.values = buffer<T>(ctx, static_cast<std::size_t>(rowptr[a.rows]));
  index_t* colind = out.colind.data();
  T* values = out.values.data();
#pragma omp parallel for num_threads(threads) schedule(static)
  for (index_t r = 0; r < a.rows; ++r) {
    O k = rowptr[r];
    for (index_t s = 0; s < a.width; ++s) {
      if (a.colind[slot(s, r)] < 0) continue;
      colind[k] = a.colind[slot(s, r)];
      values[k++] = a.values[slot(s, r)];
    }
  }
  return out;
}

#define TULLE_INSTANTIATE(T, O)                                              \
  template ell<T> csr_to_ell<T, O>(const context&, csr_view<T, O>, index_t); \
  template csr<T, O> ell_to_csr<T, O>(const context&, ell_view<T>);          \
  template void update_ell<T, O>(const context&, csr_view<T, O>, ell<T>&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu

// CSR <-> ELL. Rows are taken 32 at a time, so that the column-major slots are written in runs.
#include <algorithm>
#include <tulle/core/status.hpp>

#include "core/instantiate.hpp"
#include "cpu/formats/formats.hpp"

namespace tulle::cpu {
namespace {

/// Writes the values, and the column indices unless `colind` is null. False when a row is longer than `width`.
template <scalar T, offset O>
bool fill_ell(const context& ctx, csr_view<T, O> a, index_t width, index_t* colind, T* values) {
  const std::int64_t slices = (std::int64_t{a.rows} + sell_slice_rows - 1) / sell_slice_rows;
  return parallel_all(threads_for(ctx, a), slices, 64, [&](std::int64_t slice) {
    const std::int64_t first = slice * sell_slice_rows;
    const auto count = static_cast<index_t>(std::min<std::int64_t>(sell_slice_rows, a.rows - first));
    return fill_slots(
        a, count, [first](index_t l) { return static_cast<index_t>(first + l); }, width, a.rows,
        colind == nullptr ? nullptr : colind + first, values + first);
  });
}

template <scalar T, offset O>
ell<T> csr_to_ell(const context& ctx, csr_view<T, O> a, index_t width) {
  const auto slots = static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(width);
  ell<T> out{a.rows, a.cols, a.nnz, width, buffer<index_t>(ctx, slots), buffer<T>(ctx, slots)};
  fill_ell(ctx, a, width, out.colind.data(), out.values.data());
  return out;
}

template <scalar T, offset O>
void update_ell(const context& ctx, csr_view<T, O> from, ell<T>& to) {
  if (!fill_ell<T, O>(ctx, from, to.width, nullptr, to.values.data())) {
    throw error(status::invalid_structure, "update_values: the CSR has a longer row than the ELL made from it");
  }
}

template <scalar T, offset O>
csr<T, O> ell_to_csr(const context& ctx, ell_view<T> a) {
  return gather_rows<T, O>(
      ctx, {a.rows, a.cols}, a.rows, [](std::int64_t row) { return static_cast<index_t>(row); },
      [&](std::int64_t row, auto f) {
        for (std::int64_t s = 0; s < a.width; ++s) {
          const std::int64_t slot = s * a.rows + row;
          if (a.colind[slot] >= 0) f(a.colind[slot], a.values[slot]);
        }
      });
}

}  // namespace

template <scalar T, offset O>
void enter<T, O>::ell(table& made) {
  made.csr_to_ell = csr_to_ell<T, O>;
  made.ell_to_csr = ell_to_csr<T, O>;
  made.update_ell = update_ell<T, O>;
}

#define TULLE_INSTANTIATE(T, O) template void enter<T, O>::ell(table&);
TULLE_FOR_EACH_TYPE(TULLE_INSTANTIATE)

}  // namespace tulle::cpu

// What one look at a pattern counts. One thread takes consecutive rows; 4 bytes per nonzero and the offsets.
#include <algorithm>

#include "cpu/matrix/matrix.hpp"

namespace tulle::cpu {
namespace {

/// Rows begin .. end - 1. Columns that do not exceed the one before are counted in one sweep over all entries, which
/// the compiler turns to vectors; those among them that begin a row are taken off in another.
template <class T, class O>
pattern_counts inspect_columns(csr_view<T, O> a, index_t begin, index_t end) {
  const O first = a.rowptr[begin], last = a.rowptr[end];
  if (first == last) return {};
  std::uint32_t largest = static_cast<std::uint32_t>(a.colind[first]);  // where one is negative, beyond all columns
  O descents = 0;
  for (O k = first + 1; k < last; ++k) {
    largest = std::max(largest, static_cast<std::uint32_t>(a.colind[k]));
    descents += a.colind[k] <= a.colind[k - 1] ? 1 : 0;
  }
  for (index_t r = begin; r < end; ++r) {
    const O k = a.rowptr[r];
    if (k > first && k < a.rowptr[r + 1]) descents -= a.colind[k] <= a.colind[k - 1] ? 1 : 0;
  }
  return {largest < static_cast<std::uint32_t>(a.cols) ? 0u : 1u, static_cast<unsigned long long>(descents)};
}

template <class T, class O>
pattern_counts inspect_one(int threads, csr_view<T, O> a) {
  // Between 0 and nnz, offsets that nowhere fall stay in range.
  if (a.rowptr[0] != 0 || a.rowptr[a.rows] != a.nnz) return {1, 0};
  const bool ascend = parallel_all(threads, a.rows, 4096, [&](index_t r) { return a.rowptr[r] <= a.rowptr[r + 1]; });
  if (!ascend) return {1, 0};
  pattern_counts all;
  std::mutex lock;
  parallel_rows(threads, a.rows, a.rowptr, [&](index_t begin, index_t end) {
    const pattern_counts mine = inspect_columns(a, begin, end);
    if (mine.increasing()) return;
    const std::scoped_lock hold(lock);
    all.defects += mine.defects;
    all.descents += mine.descents;
  });
  return all;
}

}  // namespace

buffer<pattern_counts> inspect_patterns(const context& ctx, std::span<const matrix_ref> patterns) {
  buffer<pattern_counts> counts(ctx, patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const matrix_ref& a = patterns[i];
    counts.data()[i] = dispatch<type_set::all>(
        pattern_types(a.types), [&]<class T, class O>() { return inspect_one(threads_for(ctx, a), a.as<T, O>()); });
  }
  return counts;
}

}  // namespace tulle::cpu

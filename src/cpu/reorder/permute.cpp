// Orders checked, and the entries of a matrix in another order: counted row by row, then copied, and sorted where
// asked.
#include <algorithm>
#include <atomic>
#include <vector>

#include "cpu/reorder/reorder.hpp"

namespace tulle::cpu {
namespace {

/// Whether `from` is an order, and then it and its inverse.
template <class N>
bool take_sound(int threads, const N* from, std::int64_t n, index_t* order, index_t* inverse) {
  const auto there = [&](std::int64_t i) { return from[i] >= 0 && from[i] < n; };
  parallel_for(threads, n, [&](std::int64_t i) { inverse[i] = -1; });
  parallel_for(threads, n, [&](std::int64_t i) {
    if (!there(i)) return;
    std::atomic_ref(inverse[from[i]]).store(static_cast<index_t>(i), std::memory_order_relaxed);
    order[i] = static_cast<index_t>(from[i]);
  });
  return parallel_all(threads, n, 1 << 14, [&](std::int64_t i) { return there(i) && inverse[from[i]] == i; });
}

/// The same on every run: of equal numbers the first keeps its place.
template <class N>
std::int64_t take_typed(const context& ctx, const N* from, std::int64_t n, index_t* order, index_t* inverse) {
  if (take_sound(threads_for(ctx.threads(), n), from, n, order, inverse)) return n;
  std::fill_n(inverse, n, index_t{-1});
  std::int64_t defect = n;
  for (std::int64_t i = 0; i < n; ++i) {
    const N value = from[i];
    const bool there = value >= 0 && value < n;
    if (there && inverse[value] < 0) {
      inverse[value] = static_cast<index_t>(i);
    } else if (defect == n) {
      defect = i;
    }
    order[i] = there ? static_cast<index_t>(value) : 0;
  }
  return defect;
}

/// A column, and the place of its entry in the row, as one number.
constexpr std::uint64_t key_of(index_t column, std::int64_t place) {
  return std::uint64_t{static_cast<std::uint32_t>(column)} << 32 | static_cast<std::uint64_t>(place);
}

template <offset O>
entry_map permute_typed(const context& ctx, const matrix_ref& a, const matrix_order& order) {
  const auto* from = static_cast<const O*>(a.rowptr);
  const auto row = [&](index_t i) { return order.rows != nullptr ? order.rows[i] : i; };
  const auto column = [&](O k) {
    return order.inverse_columns != nullptr ? order.inverse_columns[a.colind[k]] : a.colind[k];
  };
  const int threads = threads_for(ctx, a);
  buffer<O> rowptr(ctx, static_cast<std::size_t>(a.rows) + 1);
  O* const offsets = rowptr.data();
  parallel_for(threads, a.rows, [&](index_t i) { offsets[i + 1] = from[row(i) + 1] - from[row(i)]; });
  scan_counts(threads, offsets, a.rows);
  const auto nnz = static_cast<std::size_t>(a.nnz);
  entry_map out{{}, buffer<index_t>(ctx, nnz), buffer<std::int64_t>(ctx, nnz)};
  index_t* const colind = out.colind.data();
  std::int64_t* const positions = out.positions.data();
  parallel_chunks(threads, a.rows, 1024, [&](int, auto next) {
    std::vector<std::uint64_t> keys;
    next([&](index_t i) {
      const O first = from[row(i)], count = from[row(i) + 1] - first, to = offsets[i];
      bool ascending = true;
      for (O j = 0; j < count; ++j) {
        colind[to + j] = column(first + j);
        positions[to + j] = first + j;
        ascending = ascending && (j == 0 || colind[to + j - 1] <= colind[to + j]);
      }
      if (!order.sorted || ascending) return;
      keys.resize(static_cast<std::size_t>(count));
      for (O j = 0; j < count; ++j) keys[static_cast<std::size_t>(j)] = key_of(colind[to + j], j);
      std::sort(keys.begin(), keys.end());
      for (O j = 0; j < count; ++j) {
        const std::uint64_t key = keys[static_cast<std::size_t>(j)];
        colind[to + j] = static_cast<index_t>(key >> 32);
        positions[to + j] = first + static_cast<std::int64_t>(key & 0xffffffff);
      }
    });
  });
  out.rowptr = std::move(rowptr);
  return out;
}

}  // namespace

std::int64_t take_order(const context& ctx, const permutation_ref& from, index_t* order, index_t* inverse) {
  return from.type == offset_type::i32
             ? take_typed(ctx, static_cast<const std::int32_t*>(from.data), from.size, order, inverse)
             : take_typed(ctx, static_cast<const std::int64_t*>(from.data), from.size, order, inverse);
}

entry_map permute_entries(const context& ctx, const matrix_ref& a, const matrix_order& order) {
  return a.types.offset == offset_type::i32 ? permute_typed<std::int32_t>(ctx, a, order)
                                            : permute_typed<std::int64_t>(ctx, a, order);
}

}  // namespace tulle::cpu

// What an order is worth: bandwidth, profile, and the lines and sectors of x that lanes side by side touch together.
#include <algorithm>
#include <array>
#include <tulle/ops/matrix.hpp>
#include <tulle/reorder/orderings.hpp>

#include "core/parallel.hpp"

namespace tulle {
namespace {

constexpr index_t warp = 32;
constexpr index_t lanes_of_group = 8;

struct sums {
  index_t bandwidth = 0;
  std::int64_t profile = 0;
  std::array<std::int64_t, 3> lines{}, sectors{};

  void add(const sums& other) {
    bandwidth = std::max(bandwidth, other.bandwidth);
    profile += other.profile;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i] += other.lines[i];
      sectors[i] += other.sectors[i];
    }
  }
};

/// Up to 32 columns that are read at once.
class gather {
 public:
  void add(index_t column) { columns_[count_++] = column; }
  /// Adds the different lines and sectors of `value_bytes` per column, and begins anew.
  void close(std::size_t value_bytes, std::size_t how, sums& to) {
    if (count_ == 0) return;
    if (!std::is_sorted(columns_.begin(), columns_.begin() + count_))
      std::sort(columns_.begin(), columns_.begin() + count_);
    const auto different = [&](index_t per) {
      std::int64_t n = 1;
      for (int i = 1; i < count_; ++i)
        n += columns_[static_cast<std::size_t>(i)] / per != columns_[static_cast<std::size_t>(i) - 1] / per;
      return n;
    };
    to.lines[how] += different(static_cast<index_t>(128 / value_bytes));
    to.sectors[how] += different(static_cast<index_t>(32 / value_bytes));
    count_ = 0;
  }

 private:
  std::array<index_t, warp> columns_;
  int count_ = 0;
};

template <offset O>
void measure_slice(const matrix_ref& a, const O* rowptr, index_t slice, sums& to) {
  const std::size_t value_bytes = size_of(a.types.value);
  const index_t begin = slice * warp, end = std::min(a.rows - begin, warp) + begin;
  O longest = 0;
  gather lanes, group;
  for (index_t i = begin; i < end; ++i) {
    longest = std::max(longest, rowptr[i + 1] - rowptr[i]);
    index_t least = i;
    for (O k = rowptr[i]; k < rowptr[i + 1]; ++k) {
      const index_t j = a.colind[k];
      to.bandwidth = std::max(to.bandwidth, j < i ? i - j : j - i);
      least = std::min(least, j);
      if ((k - rowptr[i]) % lanes_of_group == 0) group.close(value_bytes, 1, to);
      if ((k - rowptr[i]) % warp == 0) lanes.close(value_bytes, 2, to);
      group.add(j);
      lanes.add(j);
    }
    group.close(value_bytes, 1, to);
    lanes.close(value_bytes, 2, to);
    to.profile += i - least;
  }
  std::array<index_t, warp> rows;  // those that have entries left
  index_t count = 0;
  for (index_t i = begin; i < end; ++i) rows[static_cast<std::size_t>(count++)] = i;
  for (O step = 0; step < longest; ++step) {
    index_t left = 0;
    for (index_t r = 0; r < count; ++r) {
      const index_t i = rows[static_cast<std::size_t>(r)];
      if (step >= rowptr[i + 1] - rowptr[i]) continue;
      rows[static_cast<std::size_t>(left++)] = i;
      lanes.add(a.colind[rowptr[i] + step]);
    }
    count = left;
    lanes.close(value_bytes, 0, to);
  }
}

template <offset O>
sums measure(const context& ctx, const matrix_ref& a) {
  const auto* rowptr = static_cast<const O*>(a.rowptr);
  const index_t slices = a.rows / warp + (a.rows % warp != 0 ? 1 : 0);
  return parallel_reduce(
      threads_for(ctx, a), slices, 64, sums{},
      [&](index_t slice, sums& mine) { measure_slice(a, rowptr, slice, mine); },
      [](sums& all, const sums& mine) { all.add(mine); });
}

}  // namespace

order_quality measure_order(const context& ctx, const matrix_ref& a) {
  const context host = ctx.backend() == backend_kind::cpu ? ctx : context::cpu();
  const matrix_ref csr = a.space == memory_space::host ? to_csr(host, a) : clone(host, to_csr(ctx, a));
  const sums found =
      csr.types.offset == offset_type::i32 ? measure<std::int32_t>(host, csr) : measure<std::int64_t>(host, csr);
  order_quality q{found.bandwidth, found.profile, {}, {}};
  const auto nnz = static_cast<double>(std::max<std::int64_t>(a.nnz, 1));
  for (std::size_t i = 0; i < 3; ++i) {
    q.lines[i] = static_cast<double>(found.lines[i]) / nnz;
    q.sectors[i] = static_cast<double>(found.sectors[i]) / nnz;
  }
  return q;
}

}  // namespace tulle

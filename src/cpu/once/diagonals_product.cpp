// C = A B of diagonals.
//
// Method: diagonal a of A times diagonal b of B is part of diagonal a + b of C, c[j] += a[j - b] b[j] in B's columns j:
// for any pair three streams side by side. One thread takes diagonals of C. Bytes per product: 4 sizeof(T).
#include <algorithm>
#include <limits>
#include <span>
#include <tulle/core/status.hpp>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spmv/isa.hpp"
#include "kernels/numbers.hpp"
#include "kernels/once.hpp"

namespace tulle::cpu {
namespace {

/// A pair of diagonals that meet in columns begin .. end - 1 of C; j - across is a column of A there.
struct pair {
  std::int64_t offset;  // of C
  std::int64_t a, b;
  std::int64_t across, begin, end;
};

std::vector<pair> pairs_of(const diagonals_ref& a, const diagonals_ref& b, std::int64_t length) {
  const std::int64_t inner = std::min<std::int64_t>(a.cols, a.length);
  std::vector<pair> all;
  for (std::int64_t i = 0; i < a.diagonals; ++i) {
    for (std::int64_t j = 0; j < b.diagonals; ++j) {
      const std::int64_t across = b.offsets[j], offset = a.offsets[i] + across;
      const std::int64_t begin = std::max({std::int64_t{0}, across, offset});
      const std::int64_t end = std::min({length, inner + across, a.rows + offset});
      if (begin < end) all.push_back({offset, i, j, across, begin, end});
    }
  }
  std::ranges::stable_sort(all, {}, &pair::offset);
  return all;
}

template <class N>
[[gnu::always_inline]] inline void add_pair(const diagonals_ref& a, const diagonals_ref& b, const pair& p, N* c) {
  const N* const from_a = static_cast<const N*>(a.values) + p.a * a.length;
  const N* const from_b = static_cast<const N*>(b.values) + p.b * b.length;
#pragma omp simd
  for (std::int64_t j = p.begin; j < p.end; ++j) c[j] = multiply_add(c[j], from_a[j - p.across], from_b[j]);
}

}  // namespace

diagonal_matrix multiply_diagonals(const context& ctx, const diagonals_ref& a, const diagonals_ref& b) {
  const std::int64_t length = std::min<std::int64_t>(b.cols, b.length);
  const std::vector<pair> pairs = pairs_of(a, b, length);
  std::vector<std::size_t> first;  // of each diagonal of C
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (k == 0 || pairs[k].offset != pairs[k - 1].offset) first.push_back(k);
  }
  const auto count = static_cast<std::int64_t>(first.size());
  first.push_back(pairs.size());
  if (length > 0 && count > std::numeric_limits<std::int64_t>::max() / 16 / length) {
    throw error(status::overflow, "the product of so many diagonals does not fit memory");
  }
  const auto size = static_cast<std::size_t>(count * length) * size_of(a.type);
  diagonal_matrix c{a.type, a.rows, b.cols, length, {ctx, static_cast<std::size_t>(count)}, {ctx, size}};
  for (std::int64_t d = 0; d < count; ++d)
    c.offsets.data()[d] = static_cast<std::int32_t>(pairs[first[static_cast<std::size_t>(d)]].offset);
  const int threads = threads_for(ctx.threads(), static_cast<std::int64_t>(pairs.size()) * length);
  const isa level = best_isa();
  further::dispatch_numbers(a.type, [&]<class N>() {
    parallel_for(threads, count, 1, [&](std::int64_t d) {
      N* const to = reinterpret_cast<N*>(c.values.data()) + d * length;
      std::fill_n(to, length, N::zero());
      const std::size_t at = static_cast<std::size_t>(d);
      for (const pair& p : std::span(pairs).subspan(first[at], first[at + 1] - first[at])) {
        with_isa(
            level, [&]() __attribute__((always_inline)) { add_pair<N>(a, b, p, to); });
      }
    });
  });
  return c;
}

}  // namespace tulle::cpu

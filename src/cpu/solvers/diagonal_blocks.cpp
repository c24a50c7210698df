// The inverses of the diagonal blocks of a CSR, in f64 by their Cholesky factors: a block is gathered and inverted on
// one thread.
#include "cpu/solvers/diagonal_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cholesky.hpp"
#include "core/parallel.hpp"
#include "kernels/backends.hpp"
#include "kernels/types.hpp"

namespace tulle::cpu {
namespace {

constexpr int most_block = 8;

/// Entries of a block's rows, in f64, row by row.
template <class T, class O>
void gather(const csr_view<T, O>& a, index_t first, index_t size, double* dense) {
  std::fill_n(dense, size * size, 0.0);
  for (index_t i = 0; i < size; ++i) {
    const index_t* const begin = a.colind + a.rowptr[first + i];
    const index_t* const end = a.colind + a.rowptr[first + i + 1];
    for (const index_t* at = std::lower_bound(begin, end, first); at != end && *at < first + size; ++at) {
      dense[i * size + *at - first] = static_cast<double>(a.values[at - a.colind]);
    }
  }
}

/// The largest sum of a column's sizes.
double norm1(const double* dense, index_t size) {
  double most = 0;
  for (index_t j = 0; j < size; ++j) {
    double sum = 0;
    for (index_t i = 0; i < size; ++i) sum += std::abs(dense[i * size + j]);
    if (!(sum <= most)) most = sum;  // NaN too
  }
  return most;
}

}  // namespace

void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses) {
  invert_diagonal_blocks(ctx, a, block, inverses, nullptr);
}

void invert_diagonal_blocks(const context& ctx, const matrix_ref& a, index_t block, void* inverses, double* condition) {
  const index_t blocks = (a.rows + block - 1) / block;
  constexpr index_t none = std::numeric_limits<index_t>::max();
  const auto size_of = [&](index_t b) { return std::min(block, a.rows - b * block); };
  const index_t broken = dispatch<type_set::floating>(a.types, [&]<class T, class O>() {
    return parallel_reduce(
        threads_for(ctx.threads(), std::int64_t{a.rows} * block * block), blocks, 256, none,
        [&](index_t b, index_t& first_broken) {
          double dense[most_block * most_block];
          const index_t size = size_of(b);
          gather(a.as<T, O>(), b * block, size, dense);
          const double norm = condition == nullptr ? 0 : norm1(dense, size);
          if (!invert_positive_definite<most_block>(dense, size)) first_broken = std::min(first_broken, b);
          if (condition != nullptr) condition[b] = norm * norm1(dense, size);
          T* const to = static_cast<T*>(inverses) + std::int64_t{b} * block * block;
          for (index_t i = 0; i < size * size; ++i) to[i] = static_cast<T>(dense[i]);
        },
        [](index_t& first, index_t other) { first = std::min(first, other); });
  });
  if (broken == none) return;
  throw error(status::indefinite, fmt::format("A is not positive definite: its diagonal block {} of {} x {} is not, "
                                              "counted from 0",
                                              broken, size_of(broken), size_of(broken)));
}

}  // namespace tulle::cpu

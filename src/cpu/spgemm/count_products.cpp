// What A B amounts to, row by row: one read of A and two offsets of B per entry of A.
#include <algorithm>

#include "kernels/backends.hpp"
#include "core/parallel.hpp"

namespace tulle::cpu {
namespace {

template <class T, class O>
spgemm_work count(int threads, csr_view<T, O> a, csr_view<T, O> b, const O* mask_rowptr) {
  std::int64_t products = 0, bound = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : products, bound)
  for (index_t i = 0; i < a.rows; ++i) {
    std::int64_t row = 0;
    for (O k = a.rowptr[i]; k < a.rowptr[i + 1]; ++k) row += b.rowptr[a.colind[k] + 1] - b.rowptr[a.colind[k]];
    const std::int64_t limit = mask_rowptr ? std::int64_t{mask_rowptr[i + 1]} - mask_rowptr[i] : b.cols;
    products += row;
    bound += std::min(row, limit);
  }
  return {products, bound};
}

}  // namespace

spgemm_work count_products(const context& ctx, const spgemm_problem& p) {
  return dispatch<type_set::all>(p.a.types, [&]<class T, class O>() {
    return count(ctx.threads(), p.a.as<T, O>(), p.b.as<T, O>(),
                 p.mask ? static_cast<const O*>(p.mask->rowptr) : nullptr);
  });
}

}  // namespace tulle::cpu

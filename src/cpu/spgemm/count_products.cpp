// What A B amounts to, row by row: one read of A and two offsets of B per entry of A.
#include <algorithm>

#include "kernels/backends.hpp"
#include "cpu/spgemm/row_product.hpp"

namespace tulle::cpu {
namespace {

template <scalar T, offset O>
spgemm_work count(int threads, const row_product<T, O>& p, const O* mask_rowptr) {
  std::int64_t products = 0, bound = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : products, bound)
  for (index_t i = 0; i < p.a.rows; ++i) {
    const std::int64_t row = p.products(i);
    const std::int64_t limit = mask_rowptr ? std::int64_t{mask_rowptr[i + 1]} - mask_rowptr[i] : p.b.cols;
    products += row;
    bound += std::min(row, limit);
  }
  return {products, bound};
}

}  // namespace

spgemm_work count_products(const context& ctx, const spgemm_problem& p) {
  return dispatch<type_set::all>(p.a.types, [&]<class T, class O>() {
    return count<T, O>(ctx.threads(), {p.a.as<T, O>(), p.b.as<T, O>()},
                       p.mask ? static_cast<const O*>(p.mask->rowptr) : nullptr);
  });
}

}  // namespace tulle::cpu

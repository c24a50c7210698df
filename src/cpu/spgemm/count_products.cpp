// What A B amounts to, row by row: one read of A and two offsets of B per entry of A.
#include <algorithm>

#include "core/parallel.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "kernels/backends.hpp"

namespace tulle::cpu {
namespace {

template <scalar T, offset O>
spgemm_work count(int threads, const row_product<T, O>& p, const O* mask_rowptr) {
  const auto add_row = [&](index_t i, spgemm_work& work) {
    const std::int64_t row = p.products(i);
    const std::int64_t limit = mask_rowptr ? std::int64_t{mask_rowptr[i + 1]} - mask_rowptr[i] : p.b.cols;
    work.products += row;
    work.nnz_bound += std::min(row, limit);
  };
  return parallel_reduce(threads, p.a.rows, 4096, spgemm_work{}, add_row,
                         [](spgemm_work& all, const spgemm_work& mine) {
                           all.products += mine.products;
                           all.nnz_bound += mine.nnz_bound;
                         });
}

}  // namespace

spgemm_work count_products(const context& ctx, const spgemm_problem& p) {
  return dispatch<type_set::all>(pattern_types(p.a.types), [&]<class T, class O>() {
    return count<T, O>(threads_for(ctx, p.a), {p.a.as<T, O>(), p.b.as<T, O>()},
                       p.mask ? static_cast<const O*>(p.mask->rowptr) : nullptr);
  });
}

}  // namespace tulle::cpu

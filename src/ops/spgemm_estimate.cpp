// What a product will take: bounds from a count of the products, nnz(C) from exact counts of a few panels of rows.
#include <algorithm>
#include <tulle/ops/spgemm.hpp>

#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "ops/spgemm_factors.hpp"
#include "ops/spgemm_panels.hpp"
#include "plan/choose_spgemm.hpp"

namespace tulle {
namespace {

constexpr index_t panels = 16, rows_per_panel = 64;

/// nnz(C) where the other rows compress as those of panels at equal distances do.
std::int64_t estimate_nnz(const context& ctx, const spgemm_kernel& kernel, const spgemm_problem& problem,
                          const spgemm_work& work) {
  const index_t rows = problem.a.rows;
  if (rows <= panels * rows_per_panel) return kernel.make(ctx, problem)->symbolic();
  std::int64_t products = 0, nnz = 0;
  for (index_t p = 0; p < panels; ++p) {
    const auto begin = static_cast<index_t>(std::int64_t{rows - rows_per_panel} * p / (panels - 1));
    const spgemm_problem sample = detail::panel_of(ctx, problem, {begin, begin + rows_per_panel});
    products += count_products(ctx, sample).products;
    nnz += kernel.make(ctx, sample)->symbolic();
  }
  if (products == 0) return work.nnz_bound;
  const double compressed = static_cast<double>(nnz) / static_cast<double>(products);
  return std::min(work.nnz_bound, static_cast<std::int64_t>(compressed * static_cast<double>(work.products)));
}

}  // namespace

spgemm_estimate estimate_spgemm(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                const spgemm_options& options) {
  detail::spgemm_factors factors(ctx, {a, b}, options);
  factors.settle();
  const spgemm_problem problem = factors.problem();
  const spgemm_choice choice = choose_spgemm(ctx, problem, options.kernel);
  const spgemm_work work = count_products(ctx, problem);
  const type_key c_types{problem.a.types.value, offsets_for(work.nnz_bound)};
  return {work.products, work.nnz_bound, estimate_nnz(ctx, *choice.kernel, problem, work),
          detail::csr_bytes(problem.a.rows, work.nnz_bound, c_types)};
}

}  // namespace tulle

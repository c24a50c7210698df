#include <tulle/ops/spgemm.hpp>

#include <fmt/format.h>

#include <limits>
#include <tulle/ops/matrix.hpp>

#include "ops/owned_csr.hpp"
#include "ops/spgemm_plan_impl.hpp"

namespace tulle {
namespace {

/// Whether a C that is handed in can be one that the plan made.
void check_c(const detail::spgemm_plan_impl& plan, const matrix_ref& c) {
  if (!plan.filled()) throw error(status::invalid_argument, "numeric writes into a C of multiply: none was made yet");
  const shape s = plan.dimensions();
  if (c.rows != s.rows || c.cols != s.cols || c.nnz != plan.nnz()) {
    throw error(status::invalid_dimensions, fmt::format("C is {} x {} with {} entries, the plan's is {} x {} with {}",
                                                        c.rows, c.cols, c.nnz, s.rows, s.cols, plan.nnz()));
  }
  if (c.format != matrix_format::csr || c.types != plan.c_types()) {
    throw error(status::invalid_argument,
                fmt::format("C is {} of {} values with {} offsets, that of multiply is CSR of {} with {}", name(c.format),
                            name(c.types.value), name(c.types.offset), name(plan.c_types().value),
                            name(plan.c_types().offset)));
  }
  if (c.space != plan.ctx().space()) {
    throw error(status::invalid_argument,
                fmt::format("C is in {} memory, the plan runs on {}", name(c.space), name(plan.ctx().backend())));
  }
}

}  // namespace

any_spgemm_plan::any_spgemm_plan(const context& ctx, const matrix_ref& a, const matrix_ref& b,
                                 const spgemm_options& options, const spgemm_terms& terms)
    : impl_(std::make_unique<detail::spgemm_plan_impl>(ctx, detail::spgemm_inputs{a, b, terms.mask, terms.d}, options)) {
}
any_spgemm_plan::any_spgemm_plan(any_spgemm_plan&&) noexcept = default;
any_spgemm_plan& any_spgemm_plan::operator=(any_spgemm_plan&&) noexcept = default;
any_spgemm_plan::~any_spgemm_plan() = default;

void any_spgemm_plan::symbolic() { (void)impl_->symbolic(); }
std::int64_t any_spgemm_plan::nnz() const noexcept { return impl_->nnz(); }

matrix_ref any_spgemm_plan::multiply(double alpha, double beta) {
  matrix_ref c = impl_->multiply(alpha, beta);
  return impl_->eliminates_zeros() ? eliminate_zeros(ctx(), c) : c;
}

void any_spgemm_plan::multiply_into(const csr_arrays& c, double alpha, double beta) {
  const std::int64_t nnz = impl_->symbolic();
  if (c.rowptr == nullptr || (nnz > 0 && (c.colind == nullptr || c.values == nullptr))) {
    throw error(status::null_pointer, "an array of C is null");
  }
  if (c.offset == offset_type::i32 && nnz > std::numeric_limits<std::int32_t>::max()) {
    throw error(status::overflow, fmt::format("C has {} entries, which 32-bit offsets do not hold", nnz));
  }
  if (impl_->eliminates_zeros()) throw error(status::unsupported, "multiply_into with eliminate_zeros");
  impl_->fill(alpha, beta, {c.offset, 0, c.rowptr, c.colind, c.values});
}

void any_spgemm_plan::numeric(const matrix_ref& c, double alpha, double beta) {
  if (impl_->eliminates_zeros()) {
    throw error(status::invalid_argument, "numeric: a C without its zeros is not filled anew; use multiply");
  }
  check_c(*impl_, c);
  impl_->numeric(alpha, beta, detail::sink_of(c));
}

void any_spgemm_plan::read_values(const const_vector_ref& a, const const_vector_ref& b,
                                  const std::optional<const_vector_ref>& d) {
  impl_->update_values(a, b, d);
}

std::string_view any_spgemm_plan::kernel() const noexcept { return impl_->kernel(); }
std::string any_spgemm_plan::explain() const { return impl_->explain(); }
std::int64_t any_spgemm_plan::products() { return impl_->products(); }
std::size_t any_spgemm_plan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }
shape any_spgemm_plan::dimensions() const noexcept { return impl_->dimensions(); }
const context& any_spgemm_plan::ctx() const noexcept { return impl_->ctx(); }

matrix_ref spgemm(const context& ctx, const matrix_ref& a, const matrix_ref& b, const spgemm_options& options) {
  matrix_ref c = any_spgemm_plan(ctx, a, b, options).multiply();
  ctx.synchronize();  // A and B may go after this
  return c;
}

matrix_ref spgemm_masked(const context& ctx, const matrix_ref& a, const matrix_ref& b, const matrix_ref& mask,
                         const spgemm_options& options) {
  matrix_ref c = any_spgemm_plan(ctx, a, b, options, {.mask = mask}).multiply();
  ctx.synchronize();
  return c;
}

}  // namespace tulle

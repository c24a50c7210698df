#include "ops/spgemm_plan_impl.hpp"

#include <fmt/format.h>

#include "kernels/backends.hpp"
#include "ops/owned_csr.hpp"
#include "ops/vector_checks.hpp"
#include "plan/find_kernel.hpp"

namespace tulle::detail {

spgemm_plan_impl::spgemm_plan_impl(const context& ctx, const spgemm_inputs& in, const spgemm_options& options)
    : ctx_(ctx),
      limit_(options.memory_limit),
      eliminates_zeros_(options.eliminate_zeros),
      factors_(ctx, in, options, spgemm_factors::begin_only{}),
      c_types_(in.a.types) {
  bool begun = false;
  try {
    begun = begin(options);
  } catch (const error&) {  // a broken operand comes first; else the same happens again below, or no more
  }
  if (factors_.wait() && begun) return;
  product_.reset();
  factors_.finish();
  choose(factors_.problem(), options);
  product_.emplace(ctx, *choice_.kernel, factors_.problem(), limit_);
}

void spgemm_plan_impl::choose(const spgemm_problem& problem, const spgemm_options& options) {
  const std::string wanted = requested_kernel(kernel_operation::spgemm, ctx_.backend(), options.kernel);
  choice_ = choose_spgemm(spgemm_kernels(ctx_.backend()), problem, ctx_.info(), wanted);
}

/// Sets the product going, where it can be before the operands are known to be sound, and says whether it was.
bool spgemm_plan_impl::begin(const spgemm_options& options) {
  const std::optional<spgemm_problem> problem = factors_.expected_problem();
  if (!problem || limit_ > 0) return false;
  choose(*problem, options);
  if (!choice_.kernel->begins_early) return false;
  product_.emplace(ctx_, *choice_.kernel, *problem, limit_);
  product_->begin(factors_.check());
  return true;
}

std::int64_t spgemm_plan_impl::symbolic() {
  if (!nnz_) {
    set_values(1, 0);
    count(1);
  }
  return *nnz_;
}

/// Counts C, from values that are set. With D the product is made on the way, times alpha.
void spgemm_plan_impl::count(double alpha) {
  if (nnz_) return;
  const std::int64_t nnz = product_->symbolic();
  c_types_.offset = offsets_for(nnz);
  nnz_ = factors_.has_d() ? add_pattern_of_d(nnz, alpha) : nnz;
}

/// Makes the product, whose pattern is C's but for the entries of D; returns nnz(C).
std::int64_t spgemm_plan_impl::add_pattern_of_d(std::int64_t nnz, double alpha) {
  operand& d = factors_.d();
  c_types_.offset = offsets_for(nnz + d.ref().nnz);
  d.fit_offsets(c_types_.offset);
  product_c_ = new_csr(ctx_, factors_.dimensions(), nnz, c_types_);
  product_->fill(alpha, sink_of(product_c_));
  made_for_ = alpha;
  if (limit_ > 0) product_->release();
  sum_ = std::make_shared<const entry_map>(matrices_of(ctx_.backend()).add_pattern(ctx_, product_c_, d.ref()));
  return static_cast<std::int64_t>(sum_->colind.size());
}

/// Once a call: it gathers the values of operands that are in another order. Neither allocates nor synchronises.
void spgemm_plan_impl::set_values(double alpha, double beta) {
  check_factor("alpha", alpha, c_types_.value);
  check_factor("beta", beta, c_types_.value);
  if (beta != 0 && !factors_.has_d()) {
    throw error(status::invalid_argument, fmt::format("beta = {} without a D", beta));
  }
  made_for_.reset();
  factors_.refresh();
  product_->set_values(factors_.a().ref().values, factors_.b().ref().values);
}

/// With D, C without values.
matrix_ref spgemm_plan_impl::pattern_of_c() const {
  matrix_ref c = product_c_;
  c.nnz = c.stored = *nnz_;
  c.rowptr = data_of(sum_->rowptr);
  c.colind = sum_->colind.data();
  c.owner = sum_;
  return c;
}

/// The values of C from those of the product.
void spgemm_plan_impl::add_d(double alpha, double beta, void* values) {
  if (made_for_ != alpha) product_->numeric(alpha, sink_of(product_c_));
  made_for_.reset();
  if (limit_ > 0) product_->release();
  matrices_of(ctx_.backend()).add_values(ctx_, 1, product_c_, beta, factors_.d().ref(), pattern_of_c(), values);
}

matrix_ref spgemm_plan_impl::multiply(double alpha, double beta) {
  set_values(alpha, beta);
  count(alpha);
  if (!sum_) {
    matrix_ref c = new_csr(ctx_, dimensions(), *nnz_, c_types_);
    product_->fill(alpha, sink_of(c));
    filled_ = true;
    return c;
  }
  struct shared_pattern {
    std::shared_ptr<const entry_map> pattern;
    buffer<std::byte> values;
  };
  const std::size_t bytes = static_cast<std::size_t>(*nnz_) * size_of(c_types_.value);
  auto owner = std::make_shared<shared_pattern>(shared_pattern{sum_, buffer<std::byte>(ctx_, bytes)});
  add_d(alpha, beta, owner->values.data());
  matrix_ref c = pattern_of_c();
  c.values = owner->values.data();
  c.owner = std::move(owner);
  filled_ = true;
  return c;
}

void spgemm_plan_impl::fill(double alpha, double beta, const csr_sink& c) {
  set_values(alpha, beta);
  count(alpha);
  if (!sum_) {
    product_->fill(alpha, c);
  } else {
    const matrix_ref pattern = pattern_of_c();
    copy_offsets(ctx_, pattern, c.offset, c.rowptr);
    copy_bytes(ctx_, c.colind, ctx_.space(), pattern.colind, ctx_.space(), sum_->colind.bytes());
    add_d(alpha, beta, c.values);
  }
  filled_ = true;
}

void spgemm_plan_impl::numeric(double alpha, double beta, const csr_sink& c) {
  set_values(alpha, beta);
  sum_ ? add_d(alpha, beta, c.values) : product_->numeric(alpha, c);
}

void spgemm_plan_impl::update_values(const const_vector_ref& a, const const_vector_ref& b,
                                     const std::optional<const_vector_ref>& d) {
  const auto check = [&](const char* name, const const_vector_ref& values, const operand& of) {
    if (values.size != of.value_count()) {
      throw error(status::invalid_dimensions, fmt::format("the values of {} have {} elements, {} are needed", name,
                                                          values.size, of.value_count()));
    }
    if (values.size == 0) return;
    if (values.data == nullptr) throw error(status::null_pointer, fmt::format("the values of {} are null", name));
    if (values.type != of.given().types.value || values.space != ctx_.space() || values.stride != 1) {
      throw error(status::invalid_argument, fmt::format("the values of {} must be {} in {} memory, side by side", name,
                                                        tulle::name(of.given().types.value), tulle::name(ctx_.space())));
    }
  };
  check("A", a, factors_.a());
  check("B", b, factors_.b());
  if (d && !factors_.has_d()) throw error(status::invalid_argument, "values of D for a plan without a D");
  if (d) check("D", *d, factors_.d());
  factors_.a().update_values(a.data, a.space);
  factors_.b().update_values(b.data, b.space);
  if (d) factors_.d().update_values(d->data, d->space);
}

std::int64_t spgemm_plan_impl::products() {
  if (!products_) products_ = count_products(ctx_, factors_.problem()).products;
  return *products_;
}

std::string spgemm_plan_impl::explain() const {
  std::string said = fmt::format("{}: {}", choice_.kernel->name, choice_.reason);
  if (product_->panels() > 1) {
    said += fmt::format(" [{} panels of rows under a limit of {} bytes]", product_->panels(), limit_);
  }
  return said;
}

std::size_t spgemm_plan_impl::workspace_bytes() const noexcept {
  std::size_t sum = factors_.bytes() + product_->workspace_bytes();
  if (sum_) {
    const auto offsets = static_cast<std::size_t>(dimensions().rows) + 1;
    sum += 2 * offsets * size_of(c_types_.offset) + sum_->colind.bytes() +
           static_cast<std::size_t>(product_c_.nnz) * (sizeof(index_t) + size_of(c_types_.value));
  }
  return sum;
}

}  // namespace tulle::detail

#include "ops/spgemm_plan_impl.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends.hpp"

namespace tulle::detail {

spgemm_plan_impl::spgemm_plan_impl(const context& ctx, const spgemm_inputs& in, const spgemm_options& options)
    : ctx_(ctx), limit_(options.memory_limit), factors_(ctx, in, options, spgemm_factors::begin_only{}) {
  bool begun = false;
  try {
    begun = begin(options);
  } catch (const error&) {  // a broken operand comes first; else the same happens again below, or no more
  }
  if (factors_.wait() && begun) return;
  product_.reset();
  factors_.finish();
  spgemm_problem problem = factors_.problem();
  choose(problem, options);
  if (factors_.has_d() && !problem.mask) {
    join();
    problem.a = left_->ref();
    problem.b = right_->ref();
  }
  product_.emplace(ctx, *choice_.kernel, problem, limit_);
}

void spgemm_plan_impl::choose(const spgemm_problem& problem, const spgemm_options& options) {
  const std::string wanted = requested_spgemm_kernel(ctx_.backend(), options.kernel);
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

/// [A | I] and [B ; D].
void spgemm_plan_impl::join() {
  const csr_ref &a = factors_.a().ref(), &b = factors_.b().ref();
  left_.emplace(ctx_, a);
  right_.emplace(ctx_, b.rows, b.nnz, factors_.d().ref());
  right_->copy_pattern(b);
  right_->place_d();
}

/// The masked product's pattern above D, and the product that adds the two.
void spgemm_plan_impl::add_d() {
  const std::int64_t nnz = product_->symbolic();
  const index_t rows = factors_.dimensions().rows;
  spgemm_operand& d = factors_.d();
  const offset_type offset = fitting_offsets(std::max(nnz + d.ref().nnz, 2 * std::int64_t{rows}));
  d.fit_offsets(offset);
  ones_.emplace(ctx_, rows, d.ref().types);
  right_.emplace(ctx_, rows, nnz, d.ref());
  masked_ = {offset, 0, right_->rowptr(), right_->colind(), right_->values()};
  product_->fill(alpha_, masked_);
  if (limit_ > 0) product_->release();  // one of the two at a time
  right_->place_d();
  right_->set_d(d.ref().values, beta_);
  spgemm_problem problem;
  problem.a = ones_->ref();
  problem.b = right_->ref();
  problem.tile_size = factors_.problem().tile_size;
  sum_.emplace(ctx_, *choice_.kernel, problem, limit_);
}

std::int64_t spgemm_plan_impl::symbolic() {
  if (nnz_) return *nnz_;
  if (!has_values_) set_values(1, 0);
  if (factors_.has_d() && !left_ && !sum_) add_d();
  nnz_ = sum_ ? sum_->symbolic() : product_->symbolic();
  return *nnz_;
}

void spgemm_plan_impl::set_values(double alpha, double beta) {
  if (beta != 0 && !factors_.has_d()) {
    throw error(status::invalid_argument, fmt::format("beta = {} without a D", beta));
  }
  alpha_ = alpha;
  beta_ = beta;
  has_values_ = true;
  factors_.refresh();
  const void *a = factors_.a().ref().values, *b = factors_.b().ref().values;
  if (left_) {
    left_->set_values(a, alpha);
    right_->copy_values(b);
    right_->set_d(factors_.d().ref().values, beta);
  } else {
    product_->set_values(a, b);
  }
  if (!sum_) return;
  if (limit_ > 0) sum_->release();
  product_->numeric(alpha, masked_);
  if (limit_ > 0) product_->release();
  right_->set_d(factors_.d().ref().values, beta);
}

void spgemm_plan_impl::fill(const csr_sink& c) {
  symbolic();
  if (sum_) {
    sum_->fill(1, c);
  } else {
    product_->fill(left_ ? 1 : alpha_, c);
  }
  filled_ = true;
}

void spgemm_plan_impl::numeric(double alpha, double beta, const csr_sink& c) {
  set_values(alpha, beta);
  if (sum_) {
    sum_->numeric(1, c);
  } else {
    product_->numeric(left_ ? 1 : alpha, c);
  }
}

void spgemm_plan_impl::update_values(const void* a, const void* b, const void* d) {
  const auto check = [](const char* name, const void* values, const csr_ref& of) {
    if (values == nullptr && of.nnz > 0)
      throw error(status::null_pointer, fmt::format("the values of {} are null", name));
  };
  check("A", a, factors_.a().source());
  check("B", b, factors_.b().source());
  if (d != nullptr && !factors_.has_d()) throw error(status::invalid_argument, "values of D for a plan without a D");
  factors_.a().set_values(a);
  factors_.b().set_values(b);
  if (d != nullptr) factors_.d().set_values(d);
}

std::int64_t spgemm_plan_impl::products() {
  if (!products_) products_ = count_products(ctx_, factors_.problem()).products;
  return *products_;
}

std::string spgemm_plan_impl::explain() const {
  const std::size_t panels = product_->panels() + (sum_ ? sum_->panels() : 0);
  const std::size_t products = sum_ ? 2 : 1;
  std::string said = fmt::format("{}: {}", choice_.kernel->name, choice_.reason);
  if (panels > products) said += fmt::format(" [{} panels of rows under a limit of {} bytes]", panels, limit_);
  return said;
}

std::size_t spgemm_plan_impl::workspace_bytes() const noexcept {
  std::size_t sum = factors_.bytes() + product_->workspace_bytes();
  if (left_) sum += left_->bytes();
  if (right_) sum += right_->bytes();
  if (ones_) sum += ones_->bytes();
  if (sum_) sum += sum_->workspace_bytes();
  return sum;
}

}  // namespace tulle::detail

#include "ops/spmv_plan_impl.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/backends.hpp"
#include "plan/autotune.hpp"
#include "plan/autotune_cache.hpp"
#include "plan/choose_spmv.hpp"
#include "plan/find_kernel.hpp"

namespace tulle::detail {
namespace {

std::string requested_kernel(const spmv_options& options) {
  if (!options.kernel.empty()) return options.kernel;
  const char* forced = std::getenv("TULLE_KERNEL");
  return forced != nullptr ? forced : "";
}

const spmv_options& checked(const spmv_options& options) {
  check_options(options);
  return options;
}

bool is_out_of_memory(const error& e) {
  return e.code() == status::out_of_memory || e.code() == status::device_out_of_memory;
}

using clock = std::chrono::steady_clock;

double microseconds_since(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

const spmv_kernel& scatter_kernel(const context& ctx) { return spmv_transposed_kernels(ctx.backend()).front(); }

/// Applications of the fastest kernel that effort max may spend on measuring.
constexpr double max_effort_applications = 500;

}  // namespace

spmv_plan_impl::spmv_plan_impl(const context& ctx, const csr_ref& a, const spmv_options& options)
    : ctx_(ctx), options_(checked(options)), operand_(ctx, a) {
  shape_ = options.transpose ? shape{a.cols, a.rows} : shape{a.rows, a.cols};
  const std::string wanted = requested_kernel(options);
  const bool quick = wanted.empty() && !options.transpose && options.effort == spmv_effort::standard &&
                     options.policy == spmv_policy::standard;  // the choice itself looks at the structure
  if (options.effort != spmv_effort::none && !quick) operand_.validate();
  if (options.transpose && !turn(wanted)) {
    // csr.transposed was taken
  } else if (!wanted.empty()) {
    take_named(wanted);
  } else if (options.effort == spmv_effort::none) {
    take_without_set_up();
  } else {
    choose(quick);
    if (options.effort == spmv_effort::max) tune(max_effort_applications);
  }
  plan_microseconds_ = microseconds_since(began_);
}

/// Makes the operand A^T, or takes the kernel that needs none and returns false.
bool spmv_plan_impl::turn(const std::string& wanted) {
  if (wanted == scatter_kernel(ctx_).name) return take_scatter("asked for by name"), false;
  if (wanted.empty() && options_.effort == spmv_effort::none)
    return take_scatter("effort none takes A where it is"), false;
  try {
    operand_.transpose();
  } catch (const error& e) {
    if (!is_out_of_memory(e) || !wanted.empty()) throw;
    return take_scatter("no memory for a CSR of A^T"), false;
  }
  return true;
}

void spmv_plan_impl::take_scatter(const std::string& reason) {
  scatters_ = true;
  count();
  build(scatter_kernel(ctx_), reason);
}

void spmv_plan_impl::take_named(const std::string& wanted) {
  const spmv_kernel& kernel = find_spmv_kernel(ctx_.backend(), wanted, operand_.ref().types);
  if (options_.effort == spmv_effort::none && !needs_statistics(kernel)) {
    count();
  } else {
    analyse();
  }
  if (const support s = kernel.supports(stats_, operand_.ref().types, ctx_.info()); !s.ok) {
    throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", wanted, s.reason));
  }
  named_ = true;
  build(kernel, "asked for by name");
}

void spmv_plan_impl::take_without_set_up() {
  count();
  build(kernel_without_set_up(ctx_.backend()), "effort none takes A where it is");
}

void spmv_plan_impl::choose(bool quick) {
  if (quick) {
    stats_ = operand_.inspect();
    operand_.fit_offsets(true);
  } else {
    analyse();
  }
  const type_key types = operand_.ref().types;
  const spmv_choice choice = choose_spmv(stats_, types, ctx_.info(), options_.policy);
  const spmv_kernel& chosen = find_spmv_kernel(ctx_.backend(), choice.kernel, types);
  if (const support s = chosen.supports(stats_, types, ctx_.info()); !s.ok) {
    return build(kernel_without_set_up(ctx_.backend()), s.reason);
  }
  try {
    build(chosen, choice.reason);
  } catch (const error& e) {
    if (!is_out_of_memory(e)) throw;
    build(kernel_without_set_up(ctx_.backend()), fmt::format("no memory for {}'s copy of the matrix", choice.kernel));
  }
}

void spmv_plan_impl::analyse() {
  stats_ = operand_.statistics();
  operand_.fit_offsets(true);
  analysed_ = true;
}

/// What is known of the matrix without a pass over it.
void spmv_plan_impl::count() {
  stats_ = {};
  stats_.rows = shape_.rows;
  stats_.cols = shape_.cols;
  stats_.nnz = operand_.ref().nnz;
  stats_.mean = shape_.rows > 0 ? static_cast<double>(stats_.nnz) / shape_.rows : 0;
  operand_.fit_offsets(false);
}

void spmv_plan_impl::build(const spmv_kernel& kernel, const std::string& reason) {
  operator_.reset();
  many_.reset();
  operator_ = kernel.make_plan(ctx_, operand_.ref(), stats_, options_);
  ctx_.synchronize();  // apply may come on another stream
  kernel_ = &kernel;
  reason_ = reason;
}

argument_rules spmv_plan_impl::rules() const {
  return {ctx_.backend(), operand_.ref().types.value, shape_, options_.transpose ? "A^T" : "A"};
}

void spmv_plan_impl::apply(double alpha, const vector_argument& x, double beta, const vector_argument& y,
                           stream_view stream) {
  const argument_rules held_to = rules();
  check_cols(x, held_to);
  check_rows(y, held_to);
  check_apart(y, {x}, held_to);
  operator_->apply(alpha, x.data, beta, y.data, stream);
}

void spmv_plan_impl::apply_many(double alpha, const multivector_argument& x, double beta, const multivector_argument& y,
                                stream_view stream) {
  check_multivectors(x, y, rules());
  if (x.count == 0) return;
  if (many_ == nullptr) {
    try {
      return operator_->apply_many(alpha, x.ref(), beta, y.ref(), stream);
    } catch (const error& e) {
      if (e.code() != status::unsupported || named_) throw;
    }
    const auto name =
        ctx_.backend() == backend_kind::cpu ? "csr.balanced" : "csr.warp";  // these have no set-up on the device
    many_ = find_spmv_kernel(ctx_.backend(), name, operand_.ref().types).make_plan(ctx_, operand_.ref(), stats_, {});
  }
  many_->apply_many(alpha, x.ref(), beta, y.ref(), stream);
}

void spmv_plan_impl::apply_dots(double alpha, const vector_argument& x, double beta, const vector_argument& y,
                                const vector_argument& w, const vector_argument& dots) {
  const argument_rules held_to = rules();
  check_cols(x, held_to);
  check_rows(y, held_to);
  check_rows(w, held_to);
  check_size(dots, 2, held_to);
  check_apart(y, {x, w, dots}, held_to);
  check_apart(dots, {x, w}, held_to);
  operator_->apply_dots(alpha, x.data, beta, y.data, w.data, dots.data, ctx_.stream());
}

void spmv_plan_impl::jacobi(double omega, const vector_argument& x, const vector_argument& b,
                            const vector_argument& inverse_diagonal, const vector_argument& y) {
  const argument_rules held_to = rules();
  if (shape_.rows != shape_.cols) {
    throw error(status::invalid_dimensions, fmt::format("{} is {} x {}: a Jacobi step needs a square matrix",
                                                        held_to.matrix, shape_.rows, shape_.cols));
  }
  for (const vector_argument& v : {x, b, inverse_diagonal, y}) check_rows(v, held_to);
  check_apart(y, {x, b, inverse_diagonal}, held_to);
  operator_->apply_jacobi(omega, x.data, b.data, inverse_diagonal.data, y.data, ctx_.stream());
}

void spmv_plan_impl::update_values(const void* values, std::size_t size, memory_space space) {
  const auto nnz = static_cast<std::size_t>(operand_.ref().nnz);
  if (size != nnz) {
    throw error(status::invalid_dimensions, fmt::format("values has {} elements, A has {} nonzeros", size, nnz));
  }
  if (size > 0 && values == nullptr) throw error(status::null_pointer, "values is null");
  if (space == memory_space::device && ctx_.backend() == backend_kind::cpu) {
    throw error(status::invalid_argument, "values is in device memory, the plan runs on cpu");
  }
  operand_.update_values(values, space);
  operator_->update_values(operand_.ref());
  if (many_ != nullptr) many_->update_values(operand_.ref());
}

void spmv_plan_impl::autotune() {
  const auto begin = clock::now();
  if (scatters_) operand_.transpose();
  if (!analysed_) {
    analyse();
    build(scatters_ ? kernel_without_set_up(ctx_.backend()) : *kernel_, reason_);
    scatters_ = false;
  }
  named_ = false;
  tune(std::numeric_limits<double>::infinity());
  plan_microseconds_ += microseconds_since(begin);
}

void spmv_plan_impl::tune(double budget) {
  const csr_ref& a = operand_.ref();
  const std::string key = fmt::format("{}/{}.{}/{}/{}", statistics_hash(stats_), name(a.types.value),
                                      name(a.types.offset), ctx_.info().name, ctx_.info().multiprocessors);
  if (const auto known = cached_winner(key)) {
    for (const spmv_kernel& k : spmv_kernels(ctx_.backend())) {
      if (k.name == *known && contains(k.types, a.types) && k.supports(stats_, a.types, ctx_.info()).ok) {
        return build(k, "the fastest when a matrix with these statistics was measured on this device before");
      }
    }
  }
  tuning result = fastest_kernel(ctx_, {a, stats_, options_}, {kernel_, operator_.get()}, budget);
  kernel_ = result.kernel;
  if (result.faster != nullptr) {
    operator_ = std::move(result.faster);
    many_.reset();
  }
  const std::string left_out =
      result.skipped == 0 ? "" : fmt::format(", {} left out to stay below {:.0f} applications", result.skipped, budget);
  reason_ =
      fmt::format("the fastest of {} kernels measured: {:.1f} us{}", result.measured, result.microseconds, left_out);
  remember_winner(key, std::string(kernel_->name));
}

std::string spmv_plan_impl::explain() const {
  const std::string parameters = operator_->parameters();
  return fmt::format("{}: {} [{}{}effort {}, planned in {:.0f} us]", kernel_->name, reason_, parameters,
                     parameters.empty() ? "" : ", ", name(options_.effort), plan_microseconds_);
}

std::size_t spmv_plan_impl::workspace_bytes() const noexcept { return operand_.bytes() + operator_->workspace_bytes(); }

}  // namespace tulle::detail

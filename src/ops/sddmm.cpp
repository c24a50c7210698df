// A plan of C = alpha P o (U V^T) + beta C. A CSC is the CSR of the transpose, whose U and V change places.
#include <fmt/format.h>

#include <algorithm>
#include <tulle/core/nearest_name.hpp>
#include <tulle/ops/sddmm.hpp>
#include <vector>

#include "kernels/backends.hpp"
#include "ops/operand.hpp"
#include "ops/strided.hpp"
#include "ops/vector_checks.hpp"
#include "plan/find_kernel.hpp"

namespace tulle {
namespace {

const matrix_ref& checked(const matrix_ref& a) {
  if (a.format != matrix_format::csr && a.format != matrix_format::csc) {
    throw error(status::unsupported,
                fmt::format("A is {}: a sampled product keeps the order of A's entries, and takes CSR and CSC",
                            name(a.format)));
  }
  if (!is_floating(a.types.value))
    throw error(status::invalid_argument, fmt::format("A holds {} values: f32 or f64 are needed", name(a.types.value)));
  return a;
}

const sddmm_kernel& find(const context& ctx, const matrix_ref& a, const sddmm_options& options, std::string& reason) {
  const std::span<const sddmm_kernel> table = sddmm_kernels(ctx.backend());
  const std::string wanted = requested_kernel(kernel_operation::sddmm, ctx.backend(), options.kernel);
  std::vector<std::string_view> names;
  for (const sddmm_kernel& k : table) {
    names.push_back(k.name);
    if (wanted.empty() ? k.role != kernel_role::production : k.name != wanted) continue;
    if (const support s = k.supports(a, options); !s.ok) {
      throw error(status::unsupported, fmt::format("{} cannot take this matrix: {}", k.name, s.reason));
    }
    reason = wanted.empty() ? std::string(k.summary) : "asked for by name";
    return k;
  }
  throw error(status::invalid_argument, fmt::format("no kernel '{}' of C = A o (U V^T) on backend {}{}", wanted,
                                                    name(ctx.backend()), alternatives(wanted, names)));
}

}  // namespace

struct any_sddmm_plan::impl {
  impl(const context& on, const matrix_ref& a, const sddmm_options& o)
      : ctx(on),
        options(o),
        source(on, "A", checked(a), o.times_values ? detail::operand::reads::values : detail::operand::reads::pattern) {
    source.validate();
    kernel = &find(ctx, source.ref(), options, reason);
    op = kernel->make(ctx, source.ref(), options);
    ctx.synchronize();  // apply may come on another stream
  }

  context ctx;
  sddmm_options options;
  detail::operand source;
  const sddmm_kernel* kernel = nullptr;
  std::string reason;
  std::unique_ptr<sddmm_operator> op;
};

any_sddmm_plan::any_sddmm_plan(const context& ctx, const matrix_ref& a, const sddmm_options& options)
    : impl_(std::make_unique<impl>(ctx, a, options)) {}
any_sddmm_plan::any_sddmm_plan(any_sddmm_plan&&) noexcept = default;
any_sddmm_plan& any_sddmm_plan::operator=(any_sddmm_plan&&) noexcept = default;
any_sddmm_plan::~any_sddmm_plan() = default;

void any_sddmm_plan::apply(double alpha, const const_multivector_ref& u, const const_multivector_ref& v, double beta,
                           const vector_ref& c, const apply_options& how) const {
  if (how.transposed) throw error(status::unsupported, "a sampled product has no transpose: exchange U and V");
  const bool on_device = impl_->ctx.space() == memory_space::device;
  const detail::vector_rules rules{impl_->ctx.space(), on_device ? impl_->ctx.device() : -1, type(), dimensions()};
  detail::check_factor("alpha", alpha, type());
  detail::check_factor("beta", beta, type());
  rules.check_factors(u, v);
  rules.check_size("c", c, nnz());
  detail::require_no_stride("sddmm", {{"c", c}});
  rules.check_apart("c", c, "U", u);
  rules.check_apart("c", c, "V", v);
  if (impl_->options.times_values) {
    const matrix_ref& a = impl_->source.ref();
    detail::check_apart("c", c, {{"A's values", const_vector_ref(type(), a.values, nnz(), a.space)}});
  }
  if (nnz() == 0) return;
  const bool swapped = impl_->source.is_transpose();
  impl_->op->apply(alpha, strided(swapped ? v : u), strided(swapped ? u : v), beta, c.data,
                   how.stream ? *how.stream : impl_->ctx.stream());
}

void any_sddmm_plan::read_values(const const_vector_ref& values) {
  if (!impl_->options.times_values) {
    throw error(status::invalid_argument,
                "update_values: this plan does not read A's values (sddmm_options::times_values)");
  }
  impl_->source.check_values(values);
  impl_->source.update_values(values.data, values.space);
  impl_->op->update_values(impl_->source.ref());
}

const context& any_sddmm_plan::ctx() const noexcept { return impl_->ctx; }
shape any_sddmm_plan::dimensions() const noexcept { return impl_->source.given().dimensions(); }
std::int64_t any_sddmm_plan::nnz() const noexcept { return impl_->source.ref().nnz; }
scalar_type any_sddmm_plan::type() const noexcept { return impl_->source.ref().types.value; }
std::string_view any_sddmm_plan::kernel() const noexcept { return impl_->kernel->name; }
std::size_t any_sddmm_plan::workspace_bytes() const noexcept {
  return impl_->source.bytes() + impl_->op->workspace_bytes();
}
std::string any_sddmm_plan::explain() const {
  const std::string parameters = impl_->op->parameters();
  return fmt::format("{}: {}{}", kernel(), impl_->reason, parameters.empty() ? "" : fmt::format(" [{}]", parameters));
}

void sddmm(const context& ctx, const matrix_ref& a, const const_multivector_ref& u, const const_multivector_ref& v,
           const vector_ref& c, double alpha, double beta) {
  any_sddmm_plan(ctx, a, {}).apply(alpha, u, v, beta, c);
  ctx.synchronize();  // the plan's workspace must outlive the kernel
}

}  // namespace tulle

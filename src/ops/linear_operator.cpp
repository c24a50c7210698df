#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tulle/ops/linear_operator.hpp>

#include "kernels/backends.hpp"
#include "ops/strided.hpp"
#include "ops/vector_checks.hpp"

namespace tulle {
namespace {

[[noreturn]] void refuse(const linear_operator& op, operation what, bool transposed) {
  const std::string_view lack = transposed                      ? "does not multiply by the transpose"
                                : what == operation::apply_many ? "takes one right-hand side at a time"
                                : what == operation::apply_dots ? "has no fused dot products"
                                                                : "has no fused Jacobi step";
  throw error(status::unsupported, fmt::format("{} {}", op.label(), lack));
}

/// Whether f32 holds it; NaN and infinity it does, but these are left to check_factor.
bool is_small(double factor) { return std::abs(factor) <= std::numeric_limits<float>::max(); }

/// Whether vectors of the type hold all that the two factors are, as far as that is seen at once.
bool are_plain(double alpha, double beta, scalar_type type) {
  return type == scalar_type::f64 || (type == scalar_type::f32 && is_small(alpha) && is_small(beta));
}

/// What the vectors of a call are held to; its factors are checked here.
detail::vector_rules rules_of(const linear_operator& op, const linear_operator::call_facts& facts, bool transposed,
                              double alpha = 1, double beta = 0) {
  if (!are_plain(alpha, beta, facts.type)) {
    detail::check_factor("alpha", alpha, facts.type);
    detail::check_factor("beta", beta, facts.type);
  }
  return {facts.space, facts.device, facts.type, transposed ? shape{facts.a.cols, facts.a.rows} : facts.a, &op, transposed};
}

/// Whether a product by A itself has nothing to refuse and x and y are side by side: asked first and in one go, as a
/// product with a hundred entries takes no longer than asking one by one.
bool is_plain(const linear_operator::call_facts& of, double alpha, const const_vector_ref& x, double beta,
              const vector_ref& y) {
  const detail::vector_rules rules{of.space, of.device, of.type};
  const auto is_one = [&](const const_vector_ref& v, index_t size) {
    return v.size > 0 && v.stride == 1 && rules.holds(v, size);
  };
  return are_plain(alpha, beta, of.type) && is_one(x, of.a.cols) && is_one(y, of.a.rows) &&
         !detail::overlap(x.data, detail::span_of(x), y.data, detail::span_of(y));
}

/// A vector with a stride is a multivector of one vector.
template <class Void>
basic_multivector_ref<Void> as_column(const basic_vector_ref<Void>& v) {
  return {v.type, static_cast<index_t>(v.size), 1, v.stride, vector_order::row_major, v.data, v.space, v.device};
}

}  // namespace

std::string_view name(operation what) noexcept {
  switch (what) {
    case operation::apply: return "apply";
    case operation::apply_many: return "apply_many";
    case operation::apply_dots: return "apply_dots";
    case operation::jacobi: return "jacobi";
    case operation::many_epilogue: return "many_epilogue";
  }
  return "unknown operation";
}

linear_operator::call_facts linear_operator::facts() const {
  if (const call_facts* kept = kept_facts()) return *kept;
  const memory_space space = ctx().space();
  return {space, space == memory_space::device ? ctx().device() : -1, ctx().stream(), dimensions(), vector_type()};
}

linear_operator::call linear_operator::checked(operation what, const apply_options& options,
                                               const call_facts& facts) const {
  const bool always = what == operation::apply && !options.transposed;
  if (!always && !can(what, options.transposed)) refuse(*this, what, options.transposed);
  return {options.stream ? *options.stream : facts.stream, options.transposed};
}

void linear_operator::apply(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                            const apply_options& options) const {
  if (const call_facts* kept = kept_facts(); kept != nullptr && !options.transposed && is_plain(*kept, alpha, x, beta, y)) {
    return do_apply(alpha, x, beta, y, {options.stream ? *options.stream : kept->stream, false});
  }
  const call_facts facts = this->facts();
  const call how = checked(operation::apply, options, facts);
  const detail::vector_rules rules = rules_of(*this, facts, options.transposed, alpha, beta);
  rules.check_columns("x", x);
  rules.check_rows("y", y);
  detail::check_apart("y", y, {{"x", x}});
  if (detail::is_strided(x) || detail::is_strided(y)) {
    if (!can(operation::apply_many, options.transposed)) detail::require_no_stride("apply", {{"x", x}, {"y", y}});
    return do_apply_many(alpha, as_column(x), beta, as_column(y), how);
  }
  do_apply(alpha, x, beta, y, how);
}

void linear_operator::apply_many(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                                 const apply_options& options) const {
  const call_facts facts = this->facts();
  const call how = checked(operation::apply_many, options, facts);
  const detail::vector_rules rules = rules_of(*this, facts, options.transposed, alpha, beta);
  rules.check_multivectors(x, y);
  if (x.count > 0) do_apply_many(alpha, x, beta, y, how);
}

void linear_operator::apply_many_with(double alpha, const const_multivector_ref& x, double beta, const multivector_ref& y,
                                      const many_epilogue& then, const apply_options& options) const {
  const call_facts facts = this->facts();
  const call how = checked(operation::apply_many, options, facts);
  const detail::vector_rules rules = rules_of(*this, facts, options.transposed, alpha, beta);
  rules.check_multivectors(x, y);
  if (!is_floating(rules.type)) {
    throw error(status::unsupported, fmt::format("apply_many_with takes vectors of f32 and f64, not of {}", name(rules.type)));
  }
  if (then.act > activation::relu) {
    throw error(status::invalid_argument, fmt::format("act = {}: must be none (0) or relu (1)", static_cast<int>(then.act)));
  }
  if (then.bias.size > 0) {
    rules.check_size("bias", then.bias, x.count);
    detail::require_no_stride("apply_many_with", {{"bias", then.bias}});
    detail::vector_rules::check_apart("bias", then.bias, "Y", y);
  }
  if (x.count == 0) return;
  if (then.bias.size == 0 && then.act == activation::none) return do_apply_many(alpha, x, beta, y, how);
  do_apply_many_with(alpha, x, beta, y, then, how);
}

void linear_operator::apply_dots(double alpha, const const_vector_ref& x, double beta, const vector_ref& y,
                                 const const_vector_ref& w, const vector_ref& dots,
                                 const apply_options& options) const {
  const call_facts facts = this->facts();
  const call how = checked(operation::apply_dots, options, facts);
  const detail::vector_rules rules = rules_of(*this, facts, options.transposed, alpha, beta);
  rules.check_columns("x", x);
  rules.check_rows("y", y);
  rules.check_rows("w", w);
  detail::vector_rules of_dots = rules;
  if (dots.type == scalar_type::f64 && rules.type == scalar_type::f32) of_dots.type = scalar_type::f64;
  of_dots.check_size("dots", dots, 2);
  detail::check_apart("y", y, {{"x", x}, {"w", w}, {"dots", dots}});
  detail::check_apart("dots", dots, {{"x", x}, {"w", w}});
  detail::require_no_stride("apply_dots", {{"x", x}, {"y", y}, {"w", w}, {"dots", dots}});
  do_apply_dots(alpha, x, beta, y, w, dots, how);
}

void linear_operator::jacobi(double omega, const const_vector_ref& x, const const_vector_ref& b,
                             const const_vector_ref& inverse_diagonal, const vector_ref& y,
                             const apply_options& options) const {
  const call_facts facts = this->facts();
  const call how = checked(operation::jacobi, options, facts);
  const detail::vector_rules rules = rules_of(*this, facts, options.transposed);
  detail::check_factor("omega", omega, rules.type);
  if (rules.a.rows != rules.a.cols) {
    throw error(status::invalid_dimensions, fmt::format("{} is {} x {}: a Jacobi step needs a square matrix",
                                                        rules.matrix_label(), rules.a.rows, rules.a.cols));
  }
  rules.check_rows("x", x);
  rules.check_rows("b", b);
  rules.check_rows("inverse_diagonal", inverse_diagonal);
  rules.check_rows("y", y);
  detail::check_apart("y", y, {{"x", x}, {"b", b}, {"inverse_diagonal", inverse_diagonal}});
  detail::require_no_stride("jacobi", {{"x", x}, {"b", b}, {"inverse_diagonal", inverse_diagonal}, {"y", y}});
  do_jacobi(omega, x, b, inverse_diagonal, y, how);
}

void linear_operator::do_apply_many(double, const const_multivector_ref&, double, const multivector_ref&,
                                    call how) const {
  refuse(*this, operation::apply_many, how.transposed);
}
void linear_operator::do_apply_many_with(double alpha, const const_multivector_ref& x, double beta,
                                         const multivector_ref& y, const many_epilogue& then, call how) const {
  do_apply_many(alpha, x, beta, y, how);
  if (y.rows > 0) finish_many(ctx(), how.stream, y.type, strided(y), y.rows, finish_of(then));
}
void linear_operator::do_apply_dots(double, const const_vector_ref&, double, const vector_ref&, const const_vector_ref&,
                                    const vector_ref&, call how) const {
  refuse(*this, operation::apply_dots, how.transposed);
}
void linear_operator::do_jacobi(double, const const_vector_ref&, const const_vector_ref&, const const_vector_ref&,
                                const vector_ref&, call how) const {
  refuse(*this, operation::jacobi, how.transposed);
}

}  // namespace tulle

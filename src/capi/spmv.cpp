// Plans of y = alpha A x + beta y in the C API.
#include <fmt/format.h>

#include <string>

#include "capi/vectors.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

/// A vector of the plan's type in the memory of its context, with as many elements as another one, which was checked.
template <class Void>
basic_vector_ref<Void> like(const tulle_spmv_plan& plan, Void* data, std::int64_t size, const char* name) {
  if (size > 0) require(data, name);
  return {plan.value.vector_type(), data, size, plan.value.ctx().space()};
}
/// The same, its size checked.
template <class Void>
basic_vector_ref<Void> vector(const tulle_spmv_plan& plan, Void* data, std::int64_t size, const char* name) {
  return like(plan, data, checked_size(size, fmt::format("{}_size", name).c_str()), name);
}

multivector_ref multivector(const tulle_spmv_plan& plan, const tulle_multivector& v, const char* name) {
  return multivector_in(plan.value.ctx(), plan.value.vector_type(), v, name);
}

spmv_options options_of(const tulle_spmv_options* from) {
  spmv_options options;
  if (from == nullptr) return options;
  if (from->kernel != nullptr) options.kernel = from->kernel;
  constexpr spmv_effort efforts[] = {spmv_effort::standard, spmv_effort::none, spmv_effort::max};  // as C numbers them
  options.effort = efforts[checked_choice(from->effort, "options->effort", TULLE_EFFORT_STANDARD, TULLE_EFFORT_MAX)];
  options.transpose = checked_flag(from->transpose, "options->transpose");
  set_order(options, from->reorder, from->order);
  if (from->vector_type != nullptr) options.vector_type = scalar_type_of(*from->vector_type, "options->vector_type");
  set_tolerance(options, from->tolerance, from->bound);
  options.columns = checked_index(from->columns, "options->columns");
  options.columns_order = vector_order_of(from->columns_order, "options->columns_order");
  options.conjugate = checked_flag(from->conjugate, "options->conjugate");
  return options;
}

}  // namespace

void set_order(spmv_options& options, tulle_spmv_reorder reorder, const tulle_permutation* order) {
  constexpr spmv_reorder orders[] = {spmv_reorder::never, spmv_reorder::automatic, spmv_reorder::always};
  options.reorder = orders[checked_choice(reorder, "options->reorder", TULLE_REORDER_NEVER, TULLE_REORDER_ALWAYS)];
  if (order == nullptr) return;
  if (options.reorder == spmv_reorder::never) {
    throw error(status::invalid_argument, "options->order: options->reorder is TULLE_REORDER_NEVER");
  }
  options.reorder_method = order->value.to_vector();
}

void set_tolerance(spmv_options& options, double tolerance, tulle_error_bound bound) {
  if (!(tolerance >= 0 && tolerance < 1)) {
    throw error(status::invalid_argument,
                fmt::format("options->tolerance = {}: must be at least 0 and below 1", tolerance));
  }
  options.values.tolerance = tolerance;
  options.values.bound = static_cast<error_bound>(
      checked_choice(bound, "options->bound", TULLE_BOUND_COMPONENTWISE, TULLE_BOUND_NORM));
}

}  // namespace tulle::capi

tulle_status tulle_spmv_plan_create(const tulle_context* context, const tulle_csr* matrix, const char* kernel,
                                    tulle_spmv_plan** plan) {
  tulle_spmv_options options{};
  options.kernel = kernel;
  return tulle_spmv_plan_create_with(context, matrix, &options, plan);
}

tulle_status tulle_spmv_plan_create_with(const tulle_context* context, const tulle_csr* matrix,
                                         const tulle_spmv_options* options, tulle_spmv_plan** plan) {
  return create(plan, "plan", {{context, "context"}, {matrix, "matrix"}}, [&] {
    return new tulle_spmv_plan{{context->value, matrix->ref, options_of(options)}, matrix->ref.types.value, {}};
  });
}

tulle_status tulle_spmv_plan_apply(tulle_spmv_plan* plan, double alpha, const void* x, int64_t x_size, double beta,
                                   void* y, int64_t y_size) {
  return guard({{plan, "plan"}},
               [&] { plan->value.apply(alpha, vector(*plan, x, x_size, "x"), beta, vector(*plan, y, y_size, "y")); });
}

tulle_status tulle_spmv_plan_apply_many(tulle_spmv_plan* plan, double alpha, const tulle_multivector* x, double beta,
                                        const tulle_multivector* y) {
  return guard({{plan, "plan"}, {x, "x"}, {y, "y"}},
               [&] { plan->value.apply_many(alpha, multivector(*plan, *x, "x"), beta, multivector(*plan, *y, "y")); });
}

tulle_status tulle_spmv_plan_apply_many_with(tulle_spmv_plan* plan, double alpha, const tulle_multivector* x, double beta,
                                             const tulle_multivector* y, const void* bias, tulle_activation act) {
  return guard({{plan, "plan"}, {x, "x"}, {y, "y"}}, [&] {
    tulle::many_epilogue then;
    if (bias != nullptr) then.bias = like(*plan, bias, y->count, "bias");
    then.act = static_cast<tulle::activation>(checked_choice(act, "act", TULLE_ACTIVATION_NONE, TULLE_ACTIVATION_RELU));
    plan->value.apply_many_with(alpha, multivector(*plan, *x, "x"), beta, multivector(*plan, *y, "y"), then);
  });
}

tulle_status tulle_spmv_plan_apply_dots(tulle_spmv_plan* plan, double alpha, const void* x, int64_t x_size, double beta,
                                        void* y, int64_t y_size, const void* w, void* dots) {
  return guard({{plan, "plan"}}, [&] {
    plan->value.apply_dots(alpha, vector(*plan, x, x_size, "x"), beta, vector(*plan, y, y_size, "y"),
                           like(*plan, w, y_size, "w"), like(*plan, dots, 2, "dots"));
  });
}

tulle_status tulle_spmv_plan_jacobi(tulle_spmv_plan* plan, double omega, const void* x, const void* b,
                                    const void* inverse_diagonal, void* y, int64_t size) {
  return guard({{plan, "plan"}}, [&] {
    plan->value.jacobi(omega, vector(*plan, x, size, "x"), like(*plan, b, size, "b"),
                       like(*plan, inverse_diagonal, size, "inverse_diagonal"), like(*plan, y, size, "y"));
  });
}

tulle_status tulle_spmv_plan_update_values(tulle_spmv_plan* plan, const void* values, int64_t count,
                                           tulle_memory_space space) {
  return guard({{plan, "plan"}}, [&] { plan->value.update_values(new_values(plan->type, values, count, space)); });
}

tulle_status tulle_spmv_plan_explain(tulle_spmv_plan* plan, const char** sentence) {
  return guard({{plan, "plan"}, {sentence, "sentence"}}, [&] {
    plan->explanation = plan->value.explain();
    *sentence = plan->explanation.c_str();
  });
}

tulle_status tulle_spmv_plan_kernel(const tulle_spmv_plan* plan, const char** name) {
  return guard({{plan, "plan"}, {name, "name"}}, [&] {
    *name = plan->value.kernel().data();  // a literal, so it ends in NUL
  });
}

tulle_status tulle_spmv_plan_workspace(const tulle_spmv_plan* plan, size_t* bytes) {
  return guard({{plan, "plan"}, {bytes, "bytes"}}, [&] { *bytes = plan->value.workspace_bytes(); });
}

void tulle_spmv_plan_destroy(tulle_spmv_plan* plan) { delete plan; }

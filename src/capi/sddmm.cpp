// Plans of C = alpha P o (U V^T) + beta C in the C API.
#include <tulle/ops/sddmm.hpp>

#include "capi/vectors.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

sddmm_options options_of(const tulle_sddmm_options* from) {
  sddmm_options options;
  if (from == nullptr) return options;
  if (from->kernel != nullptr) options.kernel = from->kernel;
  options.times_values = checked_flag(from->times_values, "options->times_values");
  options.column_major = checked_flag(from->column_major, "options->column_major");
  return options;
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_sddmm_plan_create(const tulle_context* context, const tulle_csr* a,
                                     const tulle_sddmm_options* options, tulle_sddmm_plan** plan) {
  return create(plan, "plan", {{context, "context"}, {a, "a"}}, [&] {
    return new tulle_sddmm_plan{{context->value, a->ref, options_of(options)}, {}};
  });
}

tulle_status tulle_sddmm_plan_apply(tulle_sddmm_plan* plan, double alpha, const tulle_multivector* u,
                                    const tulle_multivector* v, double beta, void* c, int64_t c_size) {
  return guard({{plan, "plan"}, {u, "u"}, {v, "v"}}, [&] {
    const auto& [p, text] = *plan;
    p.apply(alpha, multivector_in(p.ctx(), p.type(), *u, "u"), multivector_in(p.ctx(), p.type(), *v, "v"), beta,
            vector_in(p.ctx(), p.type(), c, c_size, "c"));
  });
}

tulle_status tulle_sddmm_plan_update_values(tulle_sddmm_plan* plan, const void* values, int64_t count,
                                            tulle_memory_space space) {
  return guard({{plan, "plan"}},
               [&] { plan->value.update_values(new_values(plan->value.type(), values, count, space)); });
}

tulle_status tulle_sddmm_plan_explain(tulle_sddmm_plan* plan, const char** sentence) {
  return guard({{plan, "plan"}, {sentence, "sentence"}}, [&] {
    plan->explanation = plan->value.explain();
    *sentence = plan->explanation.c_str();
  });
}

tulle_status tulle_sddmm_plan_kernel(const tulle_sddmm_plan* plan, const char** name) {
  return guard({{plan, "plan"}, {name, "name"}}, [&] {
    *name = plan->value.kernel().data();  // a literal, so it ends in NUL
  });
}

tulle_status tulle_sddmm_plan_workspace(const tulle_sddmm_plan* plan, size_t* bytes) {
  return guard({{plan, "plan"}, {bytes, "bytes"}}, [&] { *bytes = plan->value.workspace_bytes(); });
}

void tulle_sddmm_plan_destroy(tulle_sddmm_plan* plan) { delete plan; }

tulle_status tulle_sddmm(const tulle_context* context, const tulle_csr* a, const tulle_multivector* u,
                         const tulle_multivector* v, void* c, int64_t c_size) {
  return guard({{context, "context"}, {a, "a"}, {u, "u"}, {v, "v"}}, [&] {
    const tulle::context& ctx = context->value;
    const tulle::scalar_type type = a->ref.types.value;
    tulle::sddmm(ctx, a->ref, multivector_in(ctx, type, *u, "u"), multivector_in(ctx, type, *v, "v"),
                 vector_in(ctx, type, c, c_size, "c"));
  });
}

// C = M o (alpha A B) + beta D in the C API.
#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using tulle::capi::create;
using tulle::capi::guard;
using tulle::capi::require;

namespace tulle::capi {
namespace {

spgemm_options options_of(const tulle_spgemm_options& from) {
  spgemm_options options;
  if (from.kernel != nullptr) options.kernel = from.kernel;
  options.transpose_a = checked_flag(from.transpose_a, "options->transpose_a");
  options.transpose_b = checked_flag(from.transpose_b, "options->transpose_b");
  options.memory_limit = from.memory_limit;
  options.eliminate_zeros = checked_flag(from.eliminate_zeros, "options->eliminate_zeros");
  return options;
}

std::int64_t value_count(const tulle_csr* m) { return m == nullptr ? 0 : m->ref.nnz; }

tulle_spgemm_plan* make_plan(const context& ctx, const tulle_csr& a, const tulle_csr& b,
                             const tulle_spgemm_options& from) {
  static std::atomic<std::uint64_t> plans = 0;
  spgemm_terms terms;
  if (from.mask != nullptr) terms.mask = from.mask->ref;
  if (from.d != nullptr) terms.d = from.d->ref;
  any_spgemm_plan plan(ctx, a.ref, b.ref, options_of(from), terms);
  std::string kernel(plan.kernel());
  return new tulle_spgemm_plan{std::move(plan),      {value_count(&a), value_count(&b), value_count(from.d)},
                               a.ref.types.value,    ++plans,
                               std::move(kernel),    {}};
}

void no_terms(const tulle_spgemm_options& from) {
  if (from.mask != nullptr) throw error(status::invalid_argument, "options->mask must be NULL here");
  if (from.d != nullptr) throw error(status::invalid_argument, "options->d must be NULL here");
}

const_vector_ref values_of(const tulle_spgemm_plan& plan, int which, const void* values, const char* name) {
  if (plan.value_counts[which] > 0) require(values, name);
  return {plan.type, values, plan.value_counts[which], plan.value.ctx().space()};
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_spgemm_plan_create(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                      const tulle_spgemm_options* options, tulle_spgemm_plan** plan) {
  return create(plan, "plan", [&] {
    require(context, "context");
    require(a, "a");
    require(b, "b");
    return tulle::capi::make_plan(context->value, *a, *b, options == nullptr ? tulle_spgemm_options{} : *options);
  });
}

tulle_status tulle_spgemm_plan_symbolic(tulle_spgemm_plan* plan, int64_t* nnz) {
  return guard([&] {
    require(plan, "plan");
    require(nnz, "nnz");
    plan->value.symbolic();
    *nnz = plan->value.nnz();
  });
}

tulle_status tulle_spgemm_plan_multiply(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr** c) {
  return create(c, "c", [&] {
    require(plan, "plan");
    return new tulle_csr{plan->value.multiply(alpha, beta), plan->number};
  });
}

tulle_status tulle_spgemm_plan_multiply_into(tulle_spgemm_plan* plan, double alpha, double beta,
                                             tulle_offset_type offset_type, void* rowptr, int32_t* colind,
                                             void* values) {
  return guard([&] {
    require(plan, "plan");
    plan->value.multiply_into({tulle::capi::offset_type_of(offset_type, "offset_type"), rowptr, colind, values}, alpha,
                              beta);
  });
}

tulle_status tulle_spgemm_plan_numeric(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr* c) {
  return guard([&] {
    require(plan, "plan");
    require(c, "c");
    if (c->maker != plan->number) {
      throw tulle::error(tulle::status::invalid_argument,
                         "c is not a matrix that tulle_spgemm_plan_multiply made from this plan");
    }
    plan->value.numeric(c->ref, alpha, beta);
  });
}

tulle_status tulle_spgemm_plan_update_values(tulle_spgemm_plan* plan, const void* a, const void* b, const void* d) {
  return guard([&] {
    using tulle::capi::values_of;
    require(plan, "plan");
    if (d == nullptr && plan->value_counts[2] == 0) {
      plan->value.update_values(values_of(*plan, 0, a, "a"), values_of(*plan, 1, b, "b"));
    } else {
      plan->value.update_values(values_of(*plan, 0, a, "a"), values_of(*plan, 1, b, "b"), values_of(*plan, 2, d, "d"));
    }
  });
}

tulle_status tulle_spgemm_plan_explain(tulle_spgemm_plan* plan, const char** sentence) {
  return guard([&] {
    require(plan, "plan");
    require(sentence, "sentence");
    plan->explanation = plan->value.explain();
    *sentence = plan->explanation.c_str();
  });
}

tulle_status tulle_spgemm_plan_kernel(const tulle_spgemm_plan* plan, const char** name) {
  return guard([&] {
    require(plan, "plan");
    require(name, "name");
    *name = plan->kernel.c_str();
  });
}

tulle_status tulle_spgemm_plan_products(tulle_spgemm_plan* plan, int64_t* products) {
  return guard([&] {
    require(plan, "plan");
    require(products, "products");
    *products = plan->value.products();
  });
}

tulle_status tulle_spgemm_plan_workspace(const tulle_spgemm_plan* plan, size_t* bytes) {
  return guard([&] {
    require(plan, "plan");
    require(bytes, "bytes");
    *bytes = plan->value.workspace_bytes();
  });
}

void tulle_spgemm_plan_destroy(tulle_spgemm_plan* plan) { delete plan; }

tulle_status tulle_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b, tulle_csr** c) {
  return create(c, "c", [&] {
    require(context, "context");
    require(a, "a");
    require(b, "b");
    return new tulle_csr{spgemm(context->value, a->ref, b->ref), 0};
  });
}

tulle_status tulle_triple_product(const tulle_context* context, const tulle_csr* r, const tulle_csr* a,
                                  const tulle_csr* p, const tulle_spgemm_options* options, tulle_csr** c) {
  return create(c, "c", [&] {
    require(context, "context");
    require(r, "r");
    require(a, "a");
    require(p, "p");
    const tulle_spgemm_options given = options == nullptr ? tulle_spgemm_options{} : *options;
    tulle::capi::no_terms(given);
    return new tulle_csr{triple_product(context->value, r->ref, a->ref, p->ref, tulle::capi::options_of(given)), 0};
  });
}

tulle_status tulle_estimate_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                   const tulle_spgemm_options* options, tulle_spgemm_estimate* estimate) {
  return guard([&] {
    require(context, "context");
    require(a, "a");
    require(b, "b");
    require(estimate, "estimate");
    const tulle_spgemm_options given = options == nullptr ? tulle_spgemm_options{} : *options;
    tulle::capi::no_terms(given);
    const auto e = estimate_spgemm(context->value, a->ref, b->ref, tulle::capi::options_of(given));
    *estimate = {e.products, e.nnz_bound, e.nnz, e.c_bytes_bound};
  });
}

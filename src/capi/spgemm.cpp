// C = M o (alpha A B) + beta D in the C API.
#include <fmt/format.h>

#include <atomic>

#include "capi/guard.hpp"
#include "capi/handles.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

spgemm_options options_of(const tulle_spgemm_options* from) {
  spgemm_options options;
  if (from == nullptr) return options;
  if (from->kernel != nullptr) options.kernel = from->kernel;
  options.transpose_a = checked_flag(from->transpose_a, "options->transpose_a");
  options.transpose_b = checked_flag(from->transpose_b, "options->transpose_b");
  options.memory_limit = from->memory_limit;
  options.eliminate_zeros = checked_flag(from->eliminate_zeros, "options->eliminate_zeros");
  return options;
}

tulle_spgemm_plan* make_plan(const context& ctx, const tulle_csr& a, const tulle_csr& b,
                             const tulle_spgemm_options* from) {
  static std::atomic<std::uint64_t> plans = 0;
  const tulle_csr* d = from == nullptr ? nullptr : from->d;
  spgemm_terms terms;
  if (from != nullptr && from->mask != nullptr) terms.mask = from->mask->ref;
  if (d != nullptr) terms.d = d->ref;
  return new tulle_spgemm_plan{{ctx, a.ref, b.ref, options_of(from), terms},
                               {a.ref.nnz, b.ref.nnz, d == nullptr ? 0 : d->ref.nnz},
                               a.ref.types.value,
                               ++plans,
                               {}};
}

spgemm_options options_without_terms(const tulle_spgemm_options* from) {
  const auto refuse = [](const tulle_csr* term, const char* name) {
    if (term != nullptr) throw error(status::invalid_argument, fmt::format("options->{} must be NULL here", name));
  };
  if (from != nullptr) {
    refuse(from->mask, "mask");
    refuse(from->d, "d");
  }
  return options_of(from);
}

const_vector_ref values_of(const tulle_spgemm_plan& plan, int which, const void* values, const char* name) {
  if (plan.value_counts[which] > 0) require(values, name);
  return {plan.type, values, plan.value_counts[which], plan.value.ctx().space()};
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_spgemm_plan_create(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                      const tulle_spgemm_options* options, tulle_spgemm_plan** plan) {
  return create(plan, "plan", {{context, "context"}, {a, "a"}, {b, "b"}},
                [&] { return make_plan(context->value, *a, *b, options); });
}

tulle_status tulle_spgemm_plan_symbolic(tulle_spgemm_plan* plan, int64_t* nnz) {
  return guard({{plan, "plan"}, {nnz, "nnz"}}, [&] {
    plan->value.symbolic();
    *nnz = plan->value.nnz();
  });
}

tulle_status tulle_spgemm_plan_multiply(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr** c) {
  return create(c, "c", {{plan, "plan"}}, [&] {
    return new tulle_csr{plan->value.multiply(alpha, beta), plan->number};
  });
}

tulle_status tulle_spgemm_plan_multiply_into(tulle_spgemm_plan* plan, double alpha, double beta,
                                             tulle_offset_type offset_type, void* rowptr, int32_t* colind,
                                             void* values) {
  return guard({{plan, "plan"}}, [&] {
    plan->value.multiply_into({offset_type_of(offset_type, "offset_type"), rowptr, colind, values}, alpha, beta);
  });
}

tulle_status tulle_spgemm_plan_numeric(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr* c) {
  return guard({{plan, "plan"}, {c, "c"}}, [&] {
    if (c->maker != plan->number) {
      throw tulle::error(tulle::status::invalid_argument,
                         "c is not a matrix that tulle_spgemm_plan_multiply made from this plan");
    }
    plan->value.numeric(c->ref, alpha, beta);
  });
}

tulle_status tulle_spgemm_plan_update_values(tulle_spgemm_plan* plan, const void* a, const void* b, const void* d) {
  return guard({{plan, "plan"}}, [&] {
    if (d == nullptr && plan->value_counts[2] == 0) {
      plan->value.update_values(values_of(*plan, 0, a, "a"), values_of(*plan, 1, b, "b"));
    } else {
      plan->value.update_values(values_of(*plan, 0, a, "a"), values_of(*plan, 1, b, "b"), values_of(*plan, 2, d, "d"));
    }
  });
}

tulle_status tulle_spgemm_plan_explain(tulle_spgemm_plan* plan, const char** sentence) {
  return guard({{plan, "plan"}, {sentence, "sentence"}}, [&] {
    plan->explanation = plan->value.explain();
    *sentence = plan->explanation.c_str();
  });
}

tulle_status tulle_spgemm_plan_kernel(const tulle_spgemm_plan* plan, const char** name) {
  return guard({{plan, "plan"}, {name, "name"}}, [&] {
    *name = plan->value.kernel().data();  // a literal, so it ends in NUL
  });
}

tulle_status tulle_spgemm_plan_products(tulle_spgemm_plan* plan, int64_t* products) {
  return guard({{plan, "plan"}, {products, "products"}}, [&] { *products = plan->value.products(); });
}

tulle_status tulle_spgemm_plan_workspace(const tulle_spgemm_plan* plan, size_t* bytes) {
  return guard({{plan, "plan"}, {bytes, "bytes"}}, [&] { *bytes = plan->value.workspace_bytes(); });
}

void tulle_spgemm_plan_destroy(tulle_spgemm_plan* plan) { delete plan; }

tulle_status tulle_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b, tulle_csr** c) {
  return create(c, "c", {{context, "context"}, {a, "a"}, {b, "b"}}, [&] {
    return new tulle_csr{spgemm(context->value, a->ref, b->ref), 0};
  });
}

tulle_status tulle_triple_product(const tulle_context* context, const tulle_csr* r, const tulle_csr* a,
                                  const tulle_csr* p, const tulle_spgemm_options* options, tulle_csr** c) {
  return create(c, "c", {{context, "context"}, {r, "r"}, {a, "a"}, {p, "p"}}, [&] {
    const auto given = options_without_terms(options);
    return new tulle_csr{triple_product(context->value, r->ref, a->ref, p->ref, given), 0};
  });
}

tulle_status tulle_estimate_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                   const tulle_spgemm_options* options, tulle_spgemm_estimate* estimate) {
  return guard({{context, "context"}, {a, "a"}, {b, "b"}, {estimate, "estimate"}}, [&] {
    const auto e = estimate_spgemm(context->value, a->ref, b->ref, options_without_terms(options));
    *estimate = {e.products, e.nnz_bound, e.nnz, e.c_bytes_bound};
  });
}

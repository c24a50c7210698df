// C = M o (alpha A B) + beta D in the C API.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "capi/coefficient.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "core/backends.hpp"

using tulle::capi::create;
using tulle::capi::guard;
using tulle::capi::require;

namespace tulle::capi {
namespace {

bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) {
    throw error(status::invalid_argument, fmt::format("options->{} = {}: must be 0 or 1", name, value));
  }
  return value == 1;
}

spgemm_options options_of(const tulle_spgemm_options& from) {
  spgemm_options options;
  if (from.kernel != nullptr) options.kernel = from.kernel;
  options.transpose_a = flag(from.transpose_a, "transpose_a");
  options.transpose_b = flag(from.transpose_b, "transpose_b");
  options.memory_limit = from.memory_limit;
  return options;
}

using owner_list = std::vector<std::shared_ptr<const void>>;

/// The matrices of a product, and what keeps their arrays.
struct operands {
  csr_ref a, b;
  std::optional<csr_ref> mask, d;
  owner_list owners;
};

struct named_matrix {
  csr_ref* ref;
  const char* name;
};

/// The same matrix with 64-bit offsets, which `owners` keeps.
csr_ref widened(const context& ctx, csr_ref ref, owner_list& owners) {
  const context home = ref.space == memory_space::host ? context::cpu() : ctx;
  dispatch<type_set::all>(ref.types, [&]<class T, class O>() {
    auto wide = std::make_shared<buffer<std::int64_t>>(
        formats_of<T, O>(home.backend())
            .widen_offsets(home, static_cast<const O*>(ref.rowptr), static_cast<std::size_t>(ref.rows) + 1));
    ref.rowptr = wide->data();
    owners.push_back(std::move(wide));
  });
  ref.types.offset = offset_type::i64;
  return ref;
}

/// Value types must be the same; offsets are made so.
void make_alike(const context& ctx, const std::vector<named_matrix>& all, owner_list& owners) {
  const named_matrix& first = all.front();
  bool wide = false;
  for (const auto& [ref, name] : all) {
    if (ref->types.value != first.ref->types.value) {
      throw error(status::invalid_argument,
                  fmt::format("{} holds {} values, {} holds {}", name, tulle::name(ref->types.value), first.name,
                              tulle::name(first.ref->types.value)));
    }
    wide = wide || ref->types.offset == offset_type::i64;
  }
  for (const auto& [ref, name] : all) {
    if (wide && ref->types.offset == offset_type::i32) *ref = widened(ctx, *ref, owners);
  }
}

operands operands_of(const context& ctx, const tulle_csr& a, const tulle_csr& b, const tulle_spgemm_options& options) {
  operands x{a.ref, b.ref, {}, {}, {a.owner, b.owner}};
  std::vector<named_matrix> all{{&x.a, "a"}, {&x.b, "b"}};
  if (options.mask != nullptr) {
    x.mask = options.mask->ref;
    x.owners.push_back(options.mask->owner);
    all.push_back({&*x.mask, "options->mask"});
  }
  if (options.d != nullptr) {
    x.d = options.d->ref;
    x.owners.push_back(options.d->owner);
    all.push_back({&*x.d, "options->d"});
  }
  make_alike(ctx, all, x.owners);
  return x;
}

template <class T, class O>
std::optional<csr_view<T, O>> view_of(const std::optional<csr_ref>& ref) {
  return ref ? std::optional(ref->as<T, O>()) : std::nullopt;
}

tulle_spgemm_plan* make_plan(const context& ctx, const tulle_csr& a, const tulle_csr& b,
                             const tulle_spgemm_options& from) {
  static std::atomic<std::uint64_t> plans = 0;
  const spgemm_options options = options_of(from);
  operands x = operands_of(ctx, a, b, from);
  const std::array has_values{x.a.nnz > 0, x.b.nnz > 0, x.d && x.d->nnz > 0};
  auto plan = dispatch<type_set::all>(x.a.types, [&]<class T, class O>() {
    spgemm_plan<T> made(ctx, x.a.as<T, O>(), x.b.as<T, O>(), options, {view_of<T, O>(x.mask), view_of<T, O>(x.d)});
    return std::make_unique<tulle_spgemm_plan>(
        tulle_spgemm_plan{std::move(x.owners), std::move(made), has_values, ++plans, {}, {}});
  });
  plan->kernel = std::visit([](const auto& p) { return std::string(p.kernel()); }, plan->value);
  return plan.release();
}

template <class T>
std::unique_ptr<tulle_csr> handle_of(any_csr<T>&& c, std::uint64_t maker) {
  auto owned = std::make_shared<any_csr<T>>(std::move(c));
  const csr_ref ref = std::visit([](const auto& m) { return matrix_ref(m.view()); }, *owned);
  void* const product = owned.get();
  return std::make_unique<tulle_csr>(tulle_csr{ref, std::move(owned), product, maker});
}

tulle_csr* multiply(tulle_spgemm_plan& plan, double alpha, double beta) {
  return std::visit(
             [&]<class T>(spgemm_plan<T>& p) {
               return handle_of<T>(p.multiply(coefficient<T>(alpha, "alpha"), coefficient<T>(beta, "beta")),
                                   plan.number);
             },
             plan.value)
      .release();
}

void no_terms(const tulle_spgemm_options& from) {
  if (from.mask != nullptr) throw error(status::invalid_argument, "options->mask must be NULL here");
  if (from.d != nullptr) throw error(status::invalid_argument, "options->d must be NULL here");
}

tulle_csr* triple(const context& ctx, const tulle_csr& r, const tulle_csr& a, const tulle_csr& p,
                  const tulle_spgemm_options& from) {
  const spgemm_options options = options_of(from);
  no_terms(from);
  csr_ref x = r.ref, y = a.ref, z = p.ref;
  owner_list owners;  // of offsets that were widened, until the product is there
  make_alike(ctx, {{&x, "r"}, {&y, "a"}, {&z, "p"}}, owners);
  return dispatch<type_set::all>(x.types,
                                 [&]<class T, class O>() {
                                   return handle_of<T>(
                                       triple_product(ctx, x.as<T, O>(), y.as<T, O>(), z.as<T, O>(), options), 0);
                                 })
      .release();
}

tulle_spgemm_estimate estimate(const context& ctx, const tulle_csr& a, const tulle_csr& b,
                               const tulle_spgemm_options& from) {
  const spgemm_options options = options_of(from);
  no_terms(from);
  const operands x = operands_of(ctx, a, b, {});
  return dispatch<type_set::all>(x.a.types, [&]<class T, class O>() -> tulle_spgemm_estimate {
    const spgemm_estimate e = estimate_spgemm(ctx, x.a.as<T, O>(), x.b.as<T, O>(), options);
    return {e.products, e.nnz_bound, e.nnz, e.c_bytes_bound};
  });
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
    *nnz = std::visit(
        [](auto& p) {
          p.symbolic();
          return p.nnz();
        },
        plan->value);
  });
}

tulle_status tulle_spgemm_plan_multiply(tulle_spgemm_plan* plan, double alpha, double beta, tulle_csr** c) {
  return create(c, "c", [&] {
    require(plan, "plan");
    return tulle::capi::multiply(*plan, alpha, beta);
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
    std::visit(
        [&]<class T>(tulle::spgemm_plan<T>& p) {
          p.numeric(*static_cast<tulle::any_csr<T>*>(c->product), tulle::capi::coefficient<T>(alpha, "alpha"),
                    tulle::capi::coefficient<T>(beta, "beta"));
        },
        plan->value);
  });
}

tulle_status tulle_spgemm_plan_update_values(tulle_spgemm_plan* plan, const void* a, const void* b, const void* d) {
  return guard([&] {
    require(plan, "plan");
    if (plan->has_values[0]) require(a, "a");
    if (plan->has_values[1]) require(b, "b");
    if (plan->has_values[2]) require(d, "d");
    std::visit(
        [&]<class T>(tulle::spgemm_plan<T>& p) {
          p.update_values(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const T*>(d));
        },
        plan->value);
  });
}

tulle_status tulle_spgemm_plan_explain(tulle_spgemm_plan* plan, const char** sentence) {
  return guard([&] {
    require(plan, "plan");
    require(sentence, "sentence");
    plan->explanation = std::visit([](const auto& p) { return p.explain(); }, plan->value);
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
    *products = std::visit([](auto& p) { return p.products(); }, plan->value);
  });
}

tulle_status tulle_spgemm_plan_workspace(const tulle_spgemm_plan* plan, size_t* bytes) {
  return guard([&] {
    require(plan, "plan");
    require(bytes, "bytes");
    *bytes = std::visit([](const auto& p) { return p.workspace_bytes(); }, plan->value);
  });
}

void tulle_spgemm_plan_destroy(tulle_spgemm_plan* plan) { delete plan; }

tulle_status tulle_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b, tulle_csr** c) {
  return create(c, "c", [&] {
    require(context, "context");
    require(a, "a");
    require(b, "b");
    const std::unique_ptr<tulle_spgemm_plan> plan(tulle::capi::make_plan(context->value, *a, *b, {}));
    return tulle::capi::multiply(*plan, 1, 0);
  });
}

tulle_status tulle_triple_product(const tulle_context* context, const tulle_csr* r, const tulle_csr* a,
                                  const tulle_csr* p, const tulle_spgemm_options* options, tulle_csr** c) {
  return create(c, "c", [&] {
    require(context, "context");
    require(r, "r");
    require(a, "a");
    require(p, "p");
    return tulle::capi::triple(context->value, *r, *a, *p, options == nullptr ? tulle_spgemm_options{} : *options);
  });
}

tulle_status tulle_estimate_spgemm(const tulle_context* context, const tulle_csr* a, const tulle_csr* b,
                                   const tulle_spgemm_options* options, tulle_spgemm_estimate* estimate) {
  return guard([&] {
    require(context, "context");
    require(a, "a");
    require(b, "b");
    require(estimate, "estimate");
    *estimate = tulle::capi::estimate(context->value, *a, *b, options == nullptr ? tulle_spgemm_options{} : *options);
  });
}

// Plans of y = alpha A x + beta y in the C API.
#include <fmt/format.h>

#include <limits>
#include <string>

#include "capi/coefficient.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"

using tulle::capi::create;
using tulle::capi::guard;
using tulle::capi::require;

namespace tulle::capi {
namespace {

std::size_t checked_size(std::int64_t size, const char* name) {
  if (size < 0) throw error(status::invalid_dimensions, fmt::format("{} = {} is negative", name, size));
  return static_cast<std::size_t>(size);
}

template <class T, template <class> class Span>
void apply(spmv_plan<T>& plan, double alpha, const void* x, std::size_t x_size, double beta, void* y,
           std::size_t y_size) {
  plan.apply(coefficient<T>(alpha, "alpha"), Span<const T>(static_cast<const T*>(x), x_size),
             coefficient<T>(beta, "beta"), Span<T>(static_cast<T*>(y), y_size));
}

index_t checked_index(std::int64_t value, const std::string& name) {
  if (value < 0 || value > std::numeric_limits<index_t>::max()) {
    throw error(status::invalid_dimensions,
                fmt::format("{} = {}: must be 0 to {}", name, value, std::numeric_limits<index_t>::max()));
  }
  return static_cast<index_t>(value);
}

template <class T>
multivector_view<T> view_of(const tulle_multivector& v, const std::string& name, memory_space space) {
  return {checked_index(v.rows, name + "->rows"),
          checked_index(v.count, name + "->count"),
          v.ld,
          vector_order_of(v.order, (name + "->order").c_str()),
          static_cast<T*>(v.data),
          space};
}

spmv_options options_of(const tulle_spmv_options& from) {
  spmv_options options;
  if (from.kernel != nullptr) options.kernel = from.kernel;
  options.effort = effort_of(from.effort, "options->effort");
  if (from.transpose != 0 && from.transpose != 1) {
    throw error(status::invalid_argument, fmt::format("options->transpose = {}: must be 0 or 1", from.transpose));
  }
  options.transpose = from.transpose == 1;
  return options;
}

tulle_spmv_plan* make_plan(const context& ctx, const tulle_csr& matrix, const spmv_options& options) {
  auto plan = dispatch<type_set::all>(matrix.ref.types, [&]<class T, class O>() {
    return std::make_unique<tulle_spmv_plan>(
        tulle_spmv_plan{matrix.owner, ctx.space(), spmv_plan<T>(ctx, matrix.ref.as<T, O>(), options), {}, {}});
  });
  plan->kernel = std::visit([](const auto& p) { return std::string(p.kernel()); }, plan->value);
  return plan.release();
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_spmv_plan_create(const tulle_context* context, const tulle_csr* matrix, const char* kernel,
                                    tulle_spmv_plan** plan) {
  return create(plan, "plan", [&] {
    require(context, "context");
    require(matrix, "matrix");
    tulle::spmv_options options;
    if (kernel != nullptr) options.kernel = kernel;
    return tulle::capi::make_plan(context->value, *matrix, options);
  });
}

tulle_status tulle_spmv_plan_create_with(const tulle_context* context, const tulle_csr* matrix,
                                         const tulle_spmv_options* options, tulle_spmv_plan** plan) {
  return create(plan, "plan", [&] {
    require(context, "context");
    require(matrix, "matrix");
    return tulle::capi::make_plan(context->value, *matrix,
                                  options == nullptr ? tulle::spmv_options{} : tulle::capi::options_of(*options));
  });
}

tulle_status tulle_spmv_plan_apply(tulle_spmv_plan* plan, double alpha, const void* x, int64_t x_size, double beta,
                                   void* y, int64_t y_size) {
  return guard([&] {
    require(plan, "plan");
    const std::size_t columns = tulle::capi::checked_size(x_size, "x_size");
    const std::size_t rows = tulle::capi::checked_size(y_size, "y_size");
    if (columns > 0) require(x, "x");
    if (rows > 0) require(y, "y");
    std::visit(
        [&]<class T>(tulle::spmv_plan<T>& p) {
          if (plan->space == tulle::memory_space::host) {
            tulle::capi::apply<T, tulle::host_span>(p, alpha, x, columns, beta, y, rows);
          } else {
            tulle::capi::apply<T, tulle::device_span>(p, alpha, x, columns, beta, y, rows);
          }
        },
        plan->value);
  });
}

tulle_status tulle_spmv_plan_apply_many(tulle_spmv_plan* plan, double alpha, const tulle_multivector* x, double beta,
                                        const tulle_multivector* y) {
  return guard([&] {
    require(plan, "plan");
    require(x, "x");
    require(y, "y");
    std::visit(
        [&]<class T>(tulle::spmv_plan<T>& p) {
          using namespace tulle::capi;
          p.apply(coefficient<T>(alpha, "alpha"), view_of<const T>(*x, "x", plan->space), coefficient<T>(beta, "beta"),
                  view_of<T>(*y, "y", plan->space));
        },
        plan->value);
  });
}

tulle_status tulle_spmv_plan_update_values(tulle_spmv_plan* plan, const void* values, int64_t count,
                                           tulle_memory_space space) {
  return guard([&] {
    require(plan, "plan");
    const std::size_t size = tulle::capi::checked_size(count, "count");
    if (size > 0) require(values, "values");
    const bool host = tulle::capi::space_of(space, "space") == tulle::memory_space::host;
    std::visit(
        [&]<class T>(tulle::spmv_plan<T>& p) {
          const auto* typed = static_cast<const T*>(values);
          if (host) {
            p.update_values(tulle::host_span<const T>(typed, size));
          } else {
            p.update_values(tulle::device_span<const T>(typed, size));
          }
        },
        plan->value);
  });
}

tulle_status tulle_spmv_plan_explain(tulle_spmv_plan* plan, const char** sentence) {
  return guard([&] {
    require(plan, "plan");
    require(sentence, "sentence");
    plan->explanation = std::visit([](const auto& p) { return p.explain(); }, plan->value);
    *sentence = plan->explanation.c_str();
  });
}

tulle_status tulle_spmv_plan_kernel(const tulle_spmv_plan* plan, const char** name) {
  return guard([&] {
    require(plan, "plan");
    require(name, "name");
    *name = plan->kernel.c_str();
  });
}

tulle_status tulle_spmv_plan_workspace(const tulle_spmv_plan* plan, size_t* bytes) {
  return guard([&] {
    require(plan, "plan");
    require(bytes, "bytes");
    *bytes = std::visit([](const auto& p) { return p.workspace_bytes(); }, plan->value);
  });
}

void tulle_spmv_plan_destroy(tulle_spmv_plan* plan) { delete plan; }

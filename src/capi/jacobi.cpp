// Jacobi's method in the C API.
#include "capi/vectors.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

jacobi_options jacobi_options_of(const tulle_jacobi_options* from) {
  jacobi_options options;
  if (from == nullptr) return options;
  const bool given = checked_flag(from->rtol_given, "options->rtol_given");
  if (given || from->rtol != 0 || from->atol != 0) options.rtol = from->rtol;
  options.atol = from->atol;
  if (from->max_iterations != 0) options.max_iterations = from->max_iterations == -1 ? 0 : from->max_iterations;
  if (from->check_interval != 0) options.check_interval = from->check_interval;
  if (from->omega != 0) options.omega = from->omega;
  constexpr jacobi_form forms[] = {jacobi_form::plain, jacobi_form::rows, jacobi_form::symmetric};
  options.form = forms[checked_choice(from->form, "options->form", TULLE_JACOBI_PLAIN, TULLE_JACOBI_SYMMETRIC)];
  if (from->order != nullptr) options.order = from->order->value.to_vector();
  options.match = checked_flag(from->match, "options->match");
  if (from->kernel != nullptr) options.spmv.kernel = from->kernel;
  if (from->vector_type != nullptr)
    options.spmv.vector_type = scalar_type_of(*from->vector_type, "options->vector_type");
  options.precision = precision_of(from->precision);
  set_tolerance(options.spmv, from->tolerance, from->bound);
  return options;
}

template <class Void>
basic_vector_ref<Void> vector(const tulle_jacobi_solver& solver, Void* data, std::int64_t size, const char* name) {
  return vector_in(solver.value.ctx(), solver.vector_type, data, size, name);
}

}  // namespace
}  // namespace tulle::capi

tulle_status tulle_jacobi_solver_create(const tulle_context* context, const tulle_csr* matrix,
                                        const tulle_jacobi_options* options, tulle_jacobi_solver** solver) {
  return create(solver, "solver", {{context, "context"}, {matrix, "matrix"}}, [&] {
    const tulle::jacobi_options o = jacobi_options_of(options);
    const tulle::scalar_type type = matrix->ref.types.value;
    return new tulle_jacobi_solver{{context->value, matrix->ref, o}, type, o.spmv.vector_type.value_or(type), {}};
  });
}

tulle_status tulle_jacobi_solver_solve(tulle_jacobi_solver* solver, const void* b, void* x, int64_t size,
                                       tulle_cg_record* record) {
  return guard({{solver, "solver"}, {record, "record"}}, [&] {
    *record = record_of(solver->value.solve(vector(*solver, b, size, "b"), vector(*solver, x, size, "x")));
  });
}

tulle_status tulle_jacobi_solver_update_values(tulle_jacobi_solver* solver, const void* values, int64_t count,
                                               tulle_memory_space space) {
  return guard({{solver, "solver"}},
               [&] { solver->value.update_values(new_values(solver->type, values, count, space)); });
}

tulle_status tulle_jacobi_solver_explain(tulle_jacobi_solver* solver, const char** sentence) {
  return guard({{solver, "solver"}, {sentence, "sentence"}}, [&] {
    solver->explanation = solver->value.explain();
    *sentence = solver->explanation.c_str();
  });
}

tulle_status tulle_jacobi_solver_workspace(const tulle_jacobi_solver* solver, size_t* bytes) {
  return guard({{solver, "solver"}, {bytes, "bytes"}}, [&] { *bytes = solver->value.workspace_bytes(); });
}

void tulle_jacobi_solver_destroy(tulle_jacobi_solver* solver) { delete solver; }

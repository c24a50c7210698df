// Conjugate gradients in the C API.
#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "capi/vectors.hpp"

using namespace tulle::capi;

namespace tulle::capi {
namespace {

// A record is left on a device as it is.
static_assert(sizeof(tulle_cg_record) == sizeof(cg_record) && std::is_standard_layout_v<cg_record>);
static_assert(offsetof(tulle_cg_record, residual) == offsetof(cg_record, residual));
static_assert(offsetof(tulle_cg_record, rhs) == offsetof(cg_record, rhs));
static_assert(offsetof(tulle_cg_record, row) == offsetof(cg_record, row));

template <class Void>
basic_vector_ref<Void> vector(const tulle_cg_solver& solver, Void* data, std::int64_t size, const char* name) {
  return vector_in(solver.value.ctx(), solver.vector_type, data, size, name);
}

multivector_ref multivector(const tulle_cg_solver& solver, const tulle_multivector& v, const std::string& name) {
  return {solver.vector_type,
          checked_index(v.rows, name + "->rows"),
          checked_index(v.count, name + "->count"),
          v.ld,
          vector_order_of(v.order, (name + "->order").c_str()),
          v.data,
          solver.value.ctx().space(),
          solver.value.ctx().device()};
}

}  // namespace

cg_options cg_options_of(const tulle_cg_options* from) {
  cg_options options;
  if (from == nullptr) return options;
  const bool given = checked_flag(from->rtol_given, "options->rtol_given");
  if (given || from->rtol != 0 || from->atol != 0) options.rtol = from->rtol;
  options.atol = from->atol;
  if (from->max_iterations != 0) options.max_iterations = from->max_iterations == -1 ? 0 : from->max_iterations;
  options.check_interval = from->check_interval;
  options.replace_interval = from->replace_interval;
  options.zero_guess = checked_flag(from->zero_guess, "options->zero_guess");
  options.keep_history = checked_flag(from->keep_history, "options->keep_history");
  constexpr preconditioner_kind kinds[] = {preconditioner_kind::jacobi, preconditioner_kind::none,
                                           preconditioner_kind::block_jacobi, preconditioner_kind::chebyshev};
  options.preconditioner = kinds[checked_choice(from->preconditioner, "options->preconditioner",
                                                TULLE_PRECONDITIONER_JACOBI, TULLE_PRECONDITIONER_CHEBYSHEV)];
  options.block = from->block;
  options.narrow_blocks = !checked_flag(from->whole_blocks, "options->whole_blocks");
  if (from->degree != 0) options.degree = from->degree;
  if (from->kernel != nullptr) options.kernel = from->kernel;
  if (from->rhs != 0) options.rhs = from->rhs;
  if (from->vector_type != nullptr)
    options.spmv.vector_type = scalar_type_of(*from->vector_type, "options->vector_type");
  set_order(options.spmv, from->reorder, from->order);
  options.precision = precision_of(from->precision);
  set_tolerance(options.spmv, from->tolerance, from->bound);
  return options;
}

}  // namespace tulle::capi

tulle_status tulle_cg_solver_create(const tulle_context* context, const tulle_csr* matrix,
                                    const tulle_cg_options* options, tulle_cg_solver** solver) {
  return create(solver, "solver", {{context, "context"}, {matrix, "matrix"}}, [&] {
    const tulle::cg_options o = cg_options_of(options);
    const tulle::scalar_type type = matrix->ref.types.value;
    return new tulle_cg_solver{{context->value, matrix->ref, o}, type, o.spmv.vector_type.value_or(type), {}, {}};
  });
}

tulle_status tulle_cg_solver_solve(tulle_cg_solver* solver, const void* b, void* x, int64_t size,
                                   tulle_cg_record* record) {
  return guard({{solver, "solver"}, {record, "record"}}, [&] {
    solver->history.clear();
    tulle::cg_result result = solver->value.solve(vector(*solver, b, size, "b"), vector(*solver, x, size, "x"));
    *record = record_of(result);
    solver->history = std::move(result.history);
  });
}

tulle_status tulle_cg_solver_history(const tulle_cg_solver* solver, const double** residuals, int64_t* count) {
  return guard({{solver, "solver"}, {residuals, "residuals"}, {count, "count"}}, [&] {
    *residuals = solver->history.data();
    *count = static_cast<std::int64_t>(solver->history.size());
  });
}

tulle_status tulle_cg_solver_solve_many(tulle_cg_solver* solver, const tulle_multivector* b, const tulle_multivector* x,
                                        tulle_cg_record* records) {
  return guard({{solver, "solver"}, {b, "b"}, {x, "x"}, {records, "records"}}, [&] {
    const auto results = solver->value.solve_many(multivector(*solver, *b, "b"), multivector(*solver, *x, "x"));
    std::transform(results.begin(), results.end(), records, record_of);
  });
}

tulle_status tulle_cg_solver_enqueue(tulle_cg_solver* solver, const void* b, void* x, int64_t size,
                                     tulle_cg_record* record) {
  return guard({{solver, "solver"}, {record, "record"}}, [&] {
    solver->value.enqueue(vector(*solver, b, size, "b"), vector(*solver, x, size, "x"),
                          reinterpret_cast<tulle::cg_record*>(record));
  });
}

tulle_status tulle_cg_solver_update_values(tulle_cg_solver* solver, const void* values, int64_t count,
                                           tulle_memory_space space) {
  return guard({{solver, "solver"}},
               [&] { solver->value.update_values(new_values(solver->type, values, count, space)); });
}

tulle_status tulle_cg_solver_explain(tulle_cg_solver* solver, const char** sentence) {
  return guard({{solver, "solver"}, {sentence, "sentence"}}, [&] {
    solver->explanation = solver->value.explain();
    *sentence = solver->explanation.c_str();
  });
}

tulle_status tulle_cg_solver_workspace(const tulle_cg_solver* solver, size_t* bytes) {
  return guard({{solver, "solver"}, {bytes, "bytes"}}, [&] { *bytes = solver->value.workspace_bytes(); });
}

void tulle_cg_solver_destroy(tulle_cg_solver* solver) { delete solver; }

// What the opaque handles of the C API hold.
#pragma once

#include <tulle/tulle.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/ops/sddmm.hpp>
#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/solvers/cg.hpp>
#include <tulle/solvers/cg_batch.hpp>
#include <tulle/solvers/jacobi.hpp>
#include <vector>

struct tulle_context {
  tulle::context value;
};

struct tulle_buffer {
  tulle::context context;
  tulle::buffer<std::byte> value;
};

struct tulle_csr {
  tulle::matrix_ref ref;    // 0-based; owns what the caller does not
  std::uint64_t maker = 0;  // the number of the plan that made the matrix
};

struct tulle_permutation {
  tulle::permutation value;
};

struct tulle_spmv_plan {
  tulle::any_spmv_plan value;
  tulle::scalar_type type;  // of A's values
  std::string explanation;
};

struct tulle_cg_solver {
  tulle::cg_solver value;
  tulle::scalar_type type;         // of A's values
  tulle::scalar_type vector_type;  // of b and x
  std::string explanation;
  std::vector<double> history;  // of the last solve
};

struct tulle_jacobi_solver {
  tulle::jacobi_solver value;
  tulle::scalar_type type;         // of A's values
  tulle::scalar_type vector_type;  // of b and x
  std::string explanation;
};

struct tulle_cg_batch {
  tulle::cg_batch value;
  tulle::context context;
  tulle::scalar_type type;
  std::string explanation;
};

struct tulle_spgemm_plan {
  tulle::any_spgemm_plan value;
  std::int64_t value_counts[3];  // A, B, D
  tulle::scalar_type type;
  std::uint64_t number;  // no two plans have the same
  std::string explanation;
};

struct tulle_sddmm_plan {
  tulle::any_sddmm_plan value;
  std::string explanation;
};

namespace tulle::capi {

/// Throws INVALID_ARGUMENT naming the argument where the number is not one of first .. last.
std::int32_t checked_choice(std::int32_t value, const char* name, std::int32_t first, std::int32_t last);
inline bool checked_flag(std::int32_t value, const char* name) { return checked_choice(value, name, 0, 1) == 1; }
inline memory_space space_of(tulle_memory_space space, const char* name) {
  return static_cast<memory_space>(checked_choice(space, name, TULLE_HOST, TULLE_DEVICE));
}
inline scalar_type scalar_type_of(tulle_scalar_type type, const char* name) {
  return static_cast<scalar_type>(checked_choice(type, name, TULLE_F32, TULLE_BOOL));
}
inline offset_type offset_type_of(tulle_offset_type type, const char* name) {
  return static_cast<offset_type>(checked_choice(type, name, TULLE_OFFSET_I32, TULLE_OFFSET_I64));
}
inline vector_order vector_order_of(tulle_vector_order order, const char* name) {
  return static_cast<vector_order>(checked_choice(order, name, TULLE_ROW_MAJOR, TULLE_COLUMN_MAJOR));
}
/// Throws INVALID_DIMENSIONS where the number is negative or above `most`.
std::int64_t checked_count(std::int64_t value, std::string_view name, std::int64_t most);
index_t checked_index(std::int64_t value, std::string_view name);
/// Throws INVALID_DIMENSIONS where the number is negative.
std::int64_t checked_size(std::int64_t size, const char* name);

/// `reorder` and `order` of a caller's options. Throws INVALID_ARGUMENT.
void set_order(spmv_options& options, tulle_spmv_reorder reorder, const tulle_permutation* order);

/// `tolerance` and `bound` of a caller's options. Throws INVALID_ARGUMENT.
void set_tolerance(spmv_options& options, double tolerance, tulle_error_bound bound);
inline solver_precision precision_of(tulle_solver_precision precision) {
  return static_cast<solver_precision>(checked_choice(precision, "options->precision", TULLE_SOLVER_PRECISION_UNIFORM,
                                                      TULLE_SOLVER_PRECISION_MIXED));
}

/// Throws what is wrong with one of them.
cg_options cg_options_of(const tulle_cg_options* from);
/// How a solve ended, for the caller.
inline tulle_cg_record record_of(const cg_result& r) { return {r.code, r.iterations, r.residual, r.rhs, r.row}; }

/// Types, memory and shape of a caller's arrays, all else left out.
template <class Arrays>
matrix_ref described(const Arrays& a) {
  matrix_ref ref;
  ref.types = {scalar_type_of(a.scalar_type, "arrays->scalar_type"),
               offset_type_of(a.offset_type, "arrays->offset_type")};
  ref.space = space_of(a.space, "arrays->space");
  ref.rows = checked_index(a.rows, "arrays->rows");
  ref.cols = checked_index(a.cols, "arrays->cols");
  return ref;
}

}  // namespace tulle::capi

// Facts about matrices and kernels as several commands print them.
#pragma once

#include "common.hpp"
#include "kernels/spmv.hpp"

namespace tulle::cli {

json to_json(const csr_stats& stats);

/// What every record of a matrix begins with: its name, shape and number of nonzeros.
template <scalar T>
json describe(const named_matrix<T>& a) {
  return {{"matrix", a.name}, {"rows", a.matrix.rows}, {"cols", a.matrix.cols}, {"nnz", a.matrix.nnz()}};
}

/// The combination that a plan works on: offsets as narrow as nnz allows.
template <scalar T>
type_key plan_types(std::int64_t nnz) {
  return {scalar_type_of<T>, nnz > INT32_MAX ? offset_type::i64 : offset_type::i32};
}

/// Whether a kernel takes this matrix and these types, and why not.
support kernel_support(const spmv_kernel& kernel, const csr_stats& stats, type_key types, const device_info& device);

std::string_view name(mm_field field);
std::string_view name(mm_symmetry symmetry);

}  // namespace tulle::cli

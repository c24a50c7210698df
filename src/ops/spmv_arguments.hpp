// What a caller hands to a plan, and the checks of it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "kernels/spmv.hpp"

namespace tulle::detail {

/// A vector with its type erased; `name` is what messages call it. What is only read is not written to.
struct vector_argument {
  std::string_view name;
  void* data;
  std::size_t size;
  memory_space space;
};

/// multivector_view with its type erased.
struct multivector_argument {
  std::string_view name;
  index_t rows;
  index_t count;
  std::int64_t ld;
  vector_order order;
  void* data;
  memory_space space;

  template <class T>
  static multivector_argument of(std::string_view name, multivector_view<T> v) {
    return {name, v.rows, v.count, v.ld, v.order, const_cast<std::remove_const_t<T>*>(v.data), v.space};
  }
  [[nodiscard]] strided_vectors ref() const {
    const bool by_rows = order == vector_order::row_major;
    return {data, count, by_rows ? ld : 1, by_rows ? 1 : ld};
  }
};

/// What the arguments are held to.
struct argument_rules {
  backend_kind backend;
  scalar_type type;
  shape a;                  // of what multiplies
  std::string_view matrix;  // "A" or "A^T"
};

/// Throws INVALID_ARGUMENT naming the option that is out of range.
void check_options(const spmv_options& options);

/// Throws INVALID_ARGUMENT (memory space), INVALID_DIMENSIONS or NULL_POINTER naming the vector. It must have as many
/// elements as the matrix has columns, or else rows.
void check_cols(const vector_argument& v, const argument_rules& rules);
void check_rows(const vector_argument& v, const argument_rules& rules);
/// The same for any number of elements: "dots has 3 elements, 2 are needed".
void check_size(const vector_argument& v, std::size_t size, const argument_rules& rules);
/// Throws INVALID_ARGUMENT when `written` overlaps one of the others.
void check_apart(const vector_argument& written, std::initializer_list<vector_argument> others,
                 const argument_rules& rules);

/// X and Y of Y = alpha A X + beta Y: space, numbers of rows and of vectors, ld, null pointers, overlap.
void check_multivectors(const multivector_argument& x, const multivector_argument& y, const argument_rules& rules);

}  // namespace tulle::detail

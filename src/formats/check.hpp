// Checks of the arguments that conversions, statistics and validation share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Throws INVALID_DIMENSIONS when one of a matrix's counts is negative.
inline void check_dimensions(std::string_view function, std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  if (rows < 0 || cols < 0 || nnz < 0) {
    throw error(status::invalid_dimensions,
                fmt::format("{}: rows {}, cols {} and nnz {} must not be negative", function, rows, cols, nnz));
  }
}

/// Throws INVALID_ARGUMENT when the arrays are not in the context's memory.
inline void check_space(std::string_view function, const context& ctx, memory_space space) {
  if (space != ctx.space()) {
    throw error(status::invalid_argument, fmt::format("{}: the matrix is in {} memory, the context works on {} memory",
                                                      function, name(space), name(ctx.space())));
  }
}

/// Throws NULL_POINTER when an array of `size` elements is missing.
inline void check_array(std::string_view function, std::string_view array, const void* pointer, std::int64_t size) {
  if (pointer == nullptr && size > 0) {
    throw error(status::null_pointer, fmt::format("{}: {} is null and should hold {} elements", function, array, size));
  }
}

/// Throws OVERFLOW when `nnz` entries cannot be counted in offsets of type O.
template <offset O>
void check_offsets_hold(std::string_view function, std::int64_t nnz) {
  if (nnz > std::numeric_limits<O>::max()) {
    throw error(status::overflow,
                fmt::format("{}: {} entries do not fit {} offsets", function, nnz, name(offset_type_of<O>)));
  }
}

/// Column indices and values, `size` of each.
inline void check_entries(std::string_view function, const void* colind, const void* values, std::int64_t size) {
  check_array(function, "colind", colind, size);
  check_array(function, "values", values, size);
}

/// Dimensions and arrays of a CSR.
template <scalar T, offset O>
void check_csr(std::string_view function, const csr_view<T, O>& a) {
  check_dimensions(function, a.rows, a.cols, a.nnz);
  check_array(function, "rowptr", a.rowptr, static_cast<std::int64_t>(a.rows) + 1);
  check_entries(function, a.colind, a.values, a.nnz);
}

/// The same, and that it is in the context's memory.
template <scalar T, offset O>
void check_csr(std::string_view function, const context& ctx, const csr_view<T, O>& a) {
  check_csr(function, a);
  check_space(function, ctx, a.space);
}

}  // namespace tulle

// The values of a CSR apart by type, in two arrays that share no entry: the forms of the mixed precision study of the
// origin, in 8 to 12 bytes an entry with its column.
#pragma once

#include <cstdint>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/formats/views.hpp>
#include <tulle/ops/spmv_options.hpp>
#include <tulle/ops/stored_values.hpp>

namespace tulle {

enum class split_form : std::uint8_t {
  entries,    // two matrices of all rows
  rows,       // two matrices: the f32 rows, and the f64 rows followed by those without entries
  dual,       // rows in place, each of one type
  composite,  // rows sorted as in `rows`, with one array of columns
};

/// Arrays of a CSR, those of them that a form has.
template <class T, offset O>
struct csr_piece {
  index_t rows = 0;
  buffer<O> rowptr;
  buffer<index_t> colind;
  buffer<T> values;

  [[nodiscard]] std::size_t bytes() const noexcept { return rowptr.bytes() + colind.bytes() + values.bytes(); }
};

/// entries, rows: each piece is a CSR. composite: offsets and columns of all rows are those of `narrow`, and f64 values
/// begin behind its. dual: offsets and columns are A's; narrow.rowptr counts the f32 values before each row.
template <offset O>
struct split_values {
  csr_piece<float, O> narrow;
  csr_piece<double, O> wide;
  buffer<index_t> order;  // rows, composite: the rows of A, f32 ones first, empty ones last
  stored_values stored;

  [[nodiscard]] std::size_t bytes() const noexcept { return narrow.bytes() + wide.bytes() + order.bytes(); }
};

/// By the promise or the rule of the options; where there is neither, what is a float is stored so. On the host.
template <offset O>
split_values<O> split(const context& host, csr_view<double, O> a, const spmv_options& options, split_form form);

}  // namespace tulle

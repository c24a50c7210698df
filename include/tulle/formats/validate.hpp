/// @file
/// Is this matrix what it claims to be?
#pragma once

#include <cstdint>
#include <string>

#include <tulle/core/context.hpp>
#include <tulle/core/status.hpp>
#include <tulle/formats/views.hpp>

namespace tulle {

/// Which findings count. Offsets and index ranges are always checked.
struct validate_options {
  bool sorted = false;      ///< columns ascending within each row
  bool duplicates = false;  ///< no column twice in a row (adjacent ones only, unless the rows are sorted)
  bool finite = false;      ///< no NaN, no infinity
};

/// The first finding in row order (and then in entry order), the gravest first when an entry has several.
struct validation {
  data_status what = data_status::success;  ///< what was found; success: nothing
  std::int64_t row = -1;                    ///< where, or -1
  std::int64_t entry = -1;                  ///< position in colind, or -1
  /// Whether nothing was found.
  [[nodiscard]] bool ok() const noexcept { return what == data_status::success; }
  /// "row 17, entry 203: column index out of range".
  [[nodiscard]] std::string message() const;
};

/// Reads every array once, on the backend of `ctx`; never reads out of bounds of arrays that have the sizes the view
/// implies (rowptr: rows + 1; colind and values: nnz).
template <scalar T, offset O>
validation validate(const context& ctx, csr_view<T, O> a, validate_options options = {});

/// The same for bins of blocks: offsets as bin_bsr_view says, columns in range, unused slots at the ends of rows, and
/// every row with the blocks of its block row. `entry` is a position in colptr.
template <scalar T>
validation validate(const context& ctx, bin_bsr_view<T> a);

}  // namespace tulle

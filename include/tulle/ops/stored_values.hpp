/// @file
/// In how many bytes a plan stores the values of a matrix.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tulle {

/// Values that are stored alike. A row counts where it has such values, or where its storage is this and it has none.
struct stored_share {
  std::string_view storage;  ///< "f64", "f32", "f16", "bf16", "listed" (a byte each), "repeated" (by rows that share
                             ///< them), "i32", "words" (f64 in two)
  std::int64_t rows = 0;     ///< rows that count here
  std::int64_t entries = 0;  ///< values that are stored so
  std::int64_t bytes = 0;    ///< that they take
};

/// How a plan stores the values of its matrix; see any_spmv_plan::stored.
struct stored_values {
  std::vector<stored_share> shares;  ///< those that there are, the widest first
  double lost = 0;                   ///< the largest |a - a'| / |a| of an entry, a' being what is stored
};

}  // namespace tulle

// The contract between operations on matrices and the backends: new patterns with the positions of their entries in the
// old one, and the values that follow.
//
// Matrices are CSR with sound structure, their arrays and all others in the backend's memory. Offsets that are returned
// are of the type of the first matrix. Everything is stable and the same on every run and every backend.
#pragma once

#include <cstdint>
#include <span>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <variant>

#include "kernels/spmv.hpp"

namespace tulle {

using offsets_buffer = std::variant<buffer<std::int32_t>, buffer<std::int64_t>>;

inline const void* data_of(const offsets_buffer& b) {
  return std::visit([](const auto& held) -> const void* { return held.data(); }, b);
}

inline offset_type type_of(const offsets_buffer& b) { return b.index() == 0 ? offset_type::i32 : offset_type::i64; }

/// A pattern whose entry i is entry positions[i] of another one.
struct entry_map {
  offsets_buffer rowptr;
  buffer<index_t> colind;
  buffer<std::int64_t> positions;
};

/// What one look at a pattern counts. Sound: offsets ascend from 0 to nnz, columns are in range.
struct pattern_counts {
  unsigned long long defects = 0;   // 0 where the pattern is sound
  unsigned long long descents = 0;  // and then 0 where every row's columns increase strictly
  // Entries whose column / 32 is not that of the entry before, in whatever row: the rows are no fewer words
  // (column / 32, mask) than that. 0 where they are not counted.
  unsigned long long word_changes = 0;

  [[nodiscard]] bool sound() const noexcept { return defects == 0; }
  [[nodiscard]] bool increasing() const noexcept { return defects == 0 && descents == 0; }
};

/// Which entries stay: those of rows [first_row, last_row) and columns [first_col, last_col), renumbered from 0.
struct entry_selection {
  index_t first_row, last_row;
  index_t first_col, last_col;
  bool nonzero = false;   // only those whose value is not 0 (NaN stays)
  bool distinct = false;  // only the first of each run of equal columns
};

/// to[i] = the sum of from[at(j)] over the j of segment i, in their order.
struct value_map {
  scalar_type type = scalar_type::f64;
  std::int64_t count = 0;
  const std::int64_t* segments = nullptr;   // segment i is segments[i] .. segments[i + 1] - 1; null: {i}
  const std::int64_t* positions = nullptr;  // null: at(j) = j
  const void* from = nullptr;
  void* to = nullptr;
};

/// Factor of row or column i: factors[i * stride], of the matrix's value type.
struct value_scaling {
  bool by_column = false;
  const void* factors = nullptr;
  std::int64_t stride = 1;
};

/// `gather`, `add_values`, `diagonal`, `scale` and `identity` neither allocate nor wait.
struct matrix_kernels {
  /// Counts in the backend's memory, one for each pattern, there once the context's stream comes to them. Never reads
  /// out of bounds of arrays that have the sizes the refs imply.
  buffer<pattern_counts> (*inspect)(const context&, std::span<const matrix_ref>);
  /// One position more than entries, the last being A's nnz: with `distinct` over all of A the positions are the
  /// segments of a value_map that adds up duplicates. Values are read for `nonzero` alone.
  entry_map (*select)(const context&, const matrix_ref& a, const entry_selection&);
  void (*gather)(const context&, const value_map&);
  /// The union of the patterns of A and B, whose columns increase strictly and whose offset types are the same and hold
  /// the entries of both. No positions.
  entry_map (*add_pattern)(const context&, const matrix_ref& a, const matrix_ref& b);
  /// Values of C = alpha A + beta B, each product rounded first, in a pattern that contains those of A and B. All three
  /// have columns that increase strictly and the same types. A factor of 0 means that its matrix counts as 0, unread.
  void (*add_values)(const context&, double alpha, const matrix_ref& a, double beta, const matrix_ref& b,
                     const matrix_ref& c, void* values);
  /// out[i * stride] = the sum of the entries (i, i), min(rows, cols) of them.
  void (*diagonal)(const context&, const matrix_ref& a, void* out, std::int64_t stride);
  void (*scale)(const context&, const matrix_ref& a, const value_scaling&, void* values);
  /// rowptr 0 .. n, colind 0 .. n - 1, values 1.
  void (*identity)(const context&, index_t n, type_key types, void* rowptr, index_t* colind, void* values);
};

}  // namespace tulle

// The contract between the operations and the backends for preparing the operands of C = A B: rows of B and of the mask
// strictly increasing, values in the order of a pattern that was transposed or sorted, D joined to A and B.
#pragma once

#include <cstdint>
#include <span>
#include <tulle/core/buffer.hpp>

#include "kernels/spmv.hpp"

namespace tulle {

/// What one look at a pattern counts. Sound: offsets ascend from 0 to nnz, columns are in range.
struct pattern_counts {
  unsigned long long defects = 0;   // 0 where the pattern is sound
  unsigned long long descents = 0;  // and then 0 where every row's columns increase strictly

  [[nodiscard]] bool sound() const noexcept { return defects == 0; }
  [[nodiscard]] bool increasing() const noexcept { return defects == 0 && descents == 0; }
};

/// A pattern without its duplicates: entry i stands for entries segments[i] .. segments[i + 1] - 1 of the old one.
struct folded_pattern {
  buffer<std::byte> rowptr;  // of the old one's offset type
  buffer<index_t> colind;
  buffer<std::int64_t> segments;
};

/// to[i] = scale * (from[at(j)] summed over j in segment i), in the order of j; exactly 0 where scale is 0.
struct value_gather {
  scalar_type type = scalar_type::f64;
  std::int64_t count = 0;
  const std::int64_t* segments = nullptr;        // null: segment i is {i}
  const void* positions = nullptr;               // null: at(j) = j
  scalar_type position_type = scalar_type::i32;  // f64 where 2^31 entries or more are numbered
  const void* from = nullptr;
  double scale = 1;
  void* to = nullptr;
};

/// Arguments are in the backend's memory. Nothing but `fold` waits; nothing but `inspect` and `fold` allocates.
struct operand_kernels {
  /// Counts in the backend's memory, one per pattern, there once the context's stream comes to them. Never reads
  /// out of bounds of arrays that have the sizes the refs imply.
  buffer<pattern_counts> (*inspect)(const context&, std::span<const csr_ref>);
  /// 0, 1 .. n - 1 as i32 or f64.
  void (*number)(const context&, scalar_type, std::int64_t n, void* to);
  /// Rows are ascending, equal columns side by side.
  folded_pattern (*fold)(const context&, const csr_ref&);
  void (*gather)(const context&, const value_gather&);
  /// Offsets and columns of [A | I], of A's offset type.
  void (*append_identity)(const context&, const csr_ref& a, void* rowptr, index_t* colind);
  /// Values of [alpha A | I].
  void (*fill_beside_identity)(const context&, const csr_ref& a, double alpha, void* values);
  /// to[i] = first + below.rowptr[i], rows + 1 of them, of the offset type of `below`.
  void (*append_offsets)(const context&, const csr_ref& below, std::int64_t first, void* to);
};

}  // namespace tulle

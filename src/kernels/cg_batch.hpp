// The contract between batches of small systems and the backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/solvers/cg.hpp>

namespace tulle {

/// Where a system begins in the arrays of all. Offsets and columns are of blocks; of a CSR they are of 1 x 1.
struct batch_system {
  std::int64_t offsets;  // rows + 1 of them, from 0
  std::int64_t columns;
  std::int64_t values;
  std::int64_t unknowns;  // in b and x
  index_t rows;           // of blocks
  index_t blocks;         // that are stored
  index_t number;         // of its record
};

/// All arrays are in the context's memory; `systems` is on the host as well, largest first.
struct batch_problem {
  std::span<const batch_system> systems;
  const std::int32_t* offsets = nullptr;
  const index_t* columns = nullptr;
  index_t block = 1;  // of the matrices
  scalar_type type = scalar_type::f64;
  cg_options options;  // filled in
};

/// What a solve is given: b, x and values of the problem's type.
struct batch_call {
  const void* values;
  const void* b;
  void* x;
  cg_record* records;
};

class batch_operator {
 public:
  batch_operator() = default;
  batch_operator(const batch_operator&) = delete;
  batch_operator& operator=(const batch_operator&) = delete;
  virtual ~batch_operator() = default;
  /// Queues everything. No allocation, no waiting.
  virtual void enqueue(const batch_call& call, stream_view stream) = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::string parameters() const = 0;
};

}  // namespace tulle

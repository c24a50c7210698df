/// @file
/// A_i x_i = b_i for many small symmetric positive definite A_i at once, by preconditioned conjugate gradients: what
/// cg_solver is for one system. On a CPU a thread takes a system, on a GPU a block of threads, and keeps it to itself.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tulle/core/context.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/solvers/cg.hpp>
#include <vector>

namespace tulle {

/// Made once for the patterns, solved with many times; one solve at a time. Vectors and values lie system after system.
/// Each system ends by itself, with a record of its own; one that cannot be solved does not stop the others. The same
/// bits on every run, and on a CPU for any number of threads.
class cg_batch {
 public:
  /// `count` systems with the pattern of `first`, whose values go on: those of system i, as many as `first` has, begin
  /// at i times their number. A CSR or a BSR of whole blocks, f32 or f64, in any order and with duplicates if need be.
  /// Values in the context's memory are read at every solve, where they are, and must outlive the batch or the next
  /// update_values. Of the options rtol, atol, max_iterations, replace_interval, zero_guess, preconditioner (but not
  /// chebyshev) and block count; kernel, keep_history, rhs, spmv.vector_type and spmv.reorder must not be set. Throws
  /// INVALID_DIMENSIONS (not square), INVALID_ARGUMENT, INVALID_STRUCTURE (with the system), UNSUPPORTED (a format, a
  /// preconditioner; on a GPU a system whose vectors do not fit the shared memory of a block: about 5000 unknowns in
  /// f64), OUT_OF_MEMORY.
  cg_batch(const context& ctx, const matrix_ref& first, index_t count, const cg_options& options = {});
  /// Systems of any sizes, with a pattern each; all of one format, block and type. Their arrays are copied.
  cg_batch(const context& ctx, std::span<const matrix_ref> matrices, const cg_options& options = {});
  /// Takes the batch over; `other` may only be destroyed or assigned to.
  cg_batch(cg_batch&&) noexcept;
  /// Takes the batch over.
  cg_batch& operator=(cg_batch&&) noexcept;
  ~cg_batch();

  /// x holds the guesses (but see zero_guess) and, afterwards, the solutions: unknowns() elements in the context's
  /// memory, as b. Waits. A diagonal entry or block that is not positive definite is told by the system's code,
  /// INDEFINITE with 0 iterations, and leaves its guess as it is.
  std::vector<cg_result> solve(const const_vector_ref& b, const vector_ref& x) const;
  /// Queues the same and returns: `records`, one for each system, is in the context's memory. Neither allocates nor
  /// waits, and can be captured in a CUDA graph.
  void enqueue(const const_vector_ref& b, const vector_ref& x, cg_record* records,
               std::optional<stream_view> stream = {}) const;

  /// New numbers in the same patterns, system after system. Where they are in the context's memory and the patterns are
  /// one they are borrowed, as those that it was made with, else copied.
  void update_values(const const_vector_ref& values);

  /// Systems.
  [[nodiscard]] index_t count() const noexcept;
  /// Of all systems together: elements of b and x.
  [[nodiscard]] std::int64_t unknowns() const noexcept;
  /// Elements that update_values takes.
  [[nodiscard]] std::int64_t value_count() const noexcept;
  /// One sentence: how systems are divided among threads, and the preconditioner.
  [[nodiscard]] std::string explain() const;
  /// Bytes that the batch owns.
  [[nodiscard]] std::size_t workspace_bytes() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace tulle

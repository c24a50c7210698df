// The contract between conjugate gradients and the backends: what a solver kernel is given, what it does, and how it is
// listed. Solvers have a table of their own, since one of them is a loop of operations and another a single launch.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tulle/core/context.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/ops/kernels.hpp>
#include <tulle/solvers/cg.hpp>

#include "kernels/spmv.hpp"
#include "kernels/types.hpp"

namespace tulle {

/// A matrix to solve with, made ready: square, validated, in the context's memory. `csr` is sorted, with 32-bit offsets
/// where they suffice; `blocks` is the BSR that was given, or empty (block = 0). All options are filled in: no 0 stands
/// for "chosen".
struct cg_problem {
  matrix_ref csr;
  matrix_ref blocks;
  csr_stats stats;
  cg_options options;
  std::string kernel_reason;  // why options.spmv.kernel, where the solver chose that; empty: it did not
  /// The matrix's values may be narrower.
  [[nodiscard]] operation_types types() const { return {csr.types, *options.spmv.vector_type}; }
};

/// Right-hand sides and solutions: vector j of B is at b[j * ld_b ..], a record for each; a history of the first alone.
struct cg_systems {
  const void* b = nullptr;
  void* x = nullptr;
  cg_record* record = nullptr;
  double* history = nullptr;
  index_t count = 1;
  std::int64_t ld_b = 0;
  std::int64_t ld_x = 0;
};

/// Made once for a matrix, run many times.
class cg_operator {
 public:
  cg_operator() = default;
  cg_operator(const cg_operator&) = delete;
  cg_operator& operator=(const cg_operator&) = delete;
  virtual ~cg_operator() = default;

  /// Queues all of a solve; the work ends early by itself. No allocation, no waiting. Pointers are of the values' type,
  /// in the backend's memory; history: room for max_iterations + 1, or null. SUCCESS means that the true residual at
  /// the end is no greater than max(rtol ||b||, atol). Iterations count updates of x; where one finds a failure
  /// instead, it counts, and x stays as it was. b = 0 gives x = 0.
  virtual void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream) = 0;
  /// The same, but the host looks every options.check_interval iterations and queues no more than it must; waits for
  /// the record. What does that anyway may leave it.
  virtual void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream) {
    enqueue(b, x, record, history, stream);
  }
  /// `solve` after so many iterations of another operator, which count too. Where the kernel's entry says `mixed`.
  virtual void go_on(const void*, void*, cg_record*, double*, stream_view, int /*iterations*/) {
    throw error(status::unsupported, "this solver cannot go on from another");
  }
  /// Of options.precision = mixed: what was added to x in the last solve, so many times.
  [[nodiscard]] virtual int corrections() const { return 0; }
  [[nodiscard]] virtual int wide_iterations() const { return 0; }
  /// Several systems, options.rhs at most, together where the kernel's entry says `many`, else one after the other.
  virtual void solve_many(const cg_systems& systems, std::size_t value_bytes, stream_view stream) {
    const auto size = static_cast<std::int64_t>(value_bytes);
    for (index_t j = 0; j < systems.count; ++j) {
      solve(static_cast<const std::byte*>(systems.b) + systems.ld_b * j * size,
            static_cast<std::byte*>(systems.x) + systems.ld_x * j * size, systems.record + j, nullptr, stream);
    }
  }
  /// Other values in the same pattern. Throws INDEFINITE for a diagonal block that is not positive definite, or leaves
  /// it to the solves, which record the row.
  virtual void update_values(const cg_problem& problem) = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::string parameters() const { return {}; }
};

/// One line of the table of solvers.
struct cg_kernel {
  std::string_view name;
  std::string_view summary;
  backend_kind backend = backend_kind::cpu;
  type_set types = type_set::floating;
  kernel_role role = kernel_role::production;
  bool many = false;    // several right-hand sides go through the matrix together
  bool mixed = false;   // takes options.precision = mixed, and then may end with any code where f32 comes no further
  bool blocks = false;  // of a BSR that was given it reads the blocks alone, not the values of the CSR
  /// Matrices of more nonzeros take longer to set up than one solve saves.
  std::int64_t most_nonzeros_once = std::numeric_limits<std::int64_t>::max();
  /// What suits it, too: of the kernels that take a problem the first is chosen, and `reason` may say why.
  support (*supports)(const cg_problem&, const device_info&) = nullptr;
  std::unique_ptr<cg_operator> (*make)(const context&, const cg_problem&) = nullptr;
};

/// In the order in which they are tried: those of the backend, then `cg.operations`, which takes everything. Empty when
/// the backend is not built.
std::span<const cg_kernel> cg_kernels(backend_kind backend);

}  // namespace tulle

// Conjugate gradients as a loop of operations, on any backend and for any operators, of one right-hand side or of
// several that go through the matrix together.
#pragma once

#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/vector.hpp>
#include <vector>

#include "kernels/cg.hpp"
#include "kernels/cg_step.hpp"

namespace tulle::detail {

class cg_loop {
 public:
  /// `m` is M^-1, or null. Both must outlive the loop; the options are filled in.
  cg_loop(const linear_operator& a, const linear_operator* m, const cg_options& options);

  void enqueue(const cg_systems& systems, stream_view stream);
  /// The stream is the context's.
  void solve(const cg_systems& systems, stream_view stream);
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return vectors_.bytes() + scalars_.bytes(); }

 private:
  /// What one solve is about.
  struct call {
    const cg_systems& systems;
    stream_view stream;
  };
  enum part : std::int64_t { r, p, q, z };
  [[nodiscard]] vector_ref at(void* data) const;
  [[nodiscard]] vector_ref vector(part which, index_t j) const;
  [[nodiscard]] const_vector_ref b(const call& c, index_t j) const;
  [[nodiscard]] vector_ref x(const call& c, index_t j) const;
  [[nodiscard]] vector_ref sums(double* to, std::int64_t count) const;
  [[nodiscard]] bool replaces(int iteration) const;
  void decide(const call& c, index_t j, cg_moment when);
  void multiply(const call& c);
  void true_residual(const call& c, part to);
  void precondition(const call& c, index_t j);
  void begin(const call& c);
  void iterate(const call& c, int iteration);
  void end(const call& c);
  bool read_scalars(const call& c);
  bool resume(const call& c);

  const linear_operator& a_;
  const linear_operator* m_;
  cg_options options_;
  context ctx_;
  std::int64_t n_;
  scalar_type type_;
  index_t columns_;
  vector_ops ops_;
  mutable buffer<std::byte> vectors_;  // all r, all p, all q and, with a preconditioner, all z
  buffer<cg_scalars> scalars_;         // one for each right-hand side
  std::vector<cg_scalars> now_;        // what the host saw last
  std::vector<double> before_;         // the true residuals when the recursive ones had arrived last
  std::vector<bool> arrived_;
};

}  // namespace tulle::detail

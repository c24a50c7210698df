// Conjugate gradients as a loop of operations, on any backend and for any operators.
#pragma once

#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/vector.hpp>

#include "kernels/cg.hpp"
#include "kernels/cg_step.hpp"

namespace tulle::detail {

class cg_loop {
 public:
  /// `m` is M^-1, or null. Both must outlive the loop; the options are filled in.
  cg_loop(const linear_operator& a, const linear_operator* m, const cg_options& options);

  void enqueue(const void* b, void* x, cg_record* record, double* history, stream_view stream);
  /// The stream is the context's.
  void solve(const void* b, void* x, cg_record* record, double* history, stream_view stream);
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return vectors_.bytes() + scalars_.bytes(); }

 private:
  /// What one solve is about.
  struct call {
    const_vector_ref b;
    vector_ref x;
    cg_judge judge;
    stream_view stream;
  };
  [[nodiscard]] call make_call(const void* b, void* x, cg_record* record, double* history, stream_view stream) const;
  [[nodiscard]] vector_ref vector(std::int64_t i) const;
  [[nodiscard]] vector_ref sums(double* to, std::int64_t count) const;
  [[nodiscard]] bool replaces(int iteration) const;
  void decide(const call& c, cg_moment when);
  void true_residual(const call& c, const vector_ref& r);
  void precondition(const call& c);
  void begin(const call& c);
  void iterate(const call& c, int iteration);
  void end(const call& c);
  [[nodiscard]] cg_scalars scalars() const;

  const linear_operator& a_;
  const linear_operator* m_;
  cg_options options_;
  context ctx_;
  std::int64_t n_;
  vector_ops ops_;
  mutable buffer<std::byte> vectors_;  // r, p, q and, with a preconditioner, z
  mutable buffer<cg_scalars> scalars_;
  vector_ref r_, p_, q_, z_;
  cg_scalars* s_;
};

}  // namespace tulle::detail

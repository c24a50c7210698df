// Sweeps of Jacobi's method, x' = x + omega D^-1 (b - A x), in one type of values and vectors: the plan of A, what a
// sweep reads and writes, and, on a GPU, the graph that sweeps are launched by.
#pragma once

#include <optional>
#include <tulle/core/buffer.hpp>
#include <tulle/core/stream.hpp>
#include <tulle/ops/permutation.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/vector.hpp>
#include <vector>

namespace tulle::detail {

class jacobi_sweeps {
 public:
  /// `a`: its rows in the order of `stored`, where that is not null; both must outlive the sweeps. `together`: sweeps
  /// of a graph, at most.
  jacobi_sweeps(const context& ctx, const matrix_ref& a, const spmv_options& options, double omega,
                const permutation* stored, int together);

  /// 1 / a_ii of every row. Waits.
  void set_inverse(const std::vector<double>& inverses);
  /// After new values, or where they were not at the address of before. Waits.
  void update_values(const matrix_ref& a);
  /// Captures the sweeps of a graph: once all else is set.
  void capture();

  /// From the iterate of this number; returns that of the last one.
  int advance(int from, int count);
  /// residual = b - A x of an iterate.
  void subtract_product(int iterate);

  [[nodiscard]] vector_ref b() { return vector(b_); }
  [[nodiscard]] vector_ref residual() { return vector(residual_); }
  [[nodiscard]] vector_ref iterate(int i) { return vector(iterate_[i]); }
  [[nodiscard]] const any_spmv_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return plan_.workspace_bytes() + inverse_.bytes() + b_.bytes() + residual_.bytes() + 2 * iterate_[0].bytes();
  }

 private:
  [[nodiscard]] vector_ref vector(buffer<std::byte>& v) const {
    return {type_, v.data(), n_, ctx_.space(), ctx_.device()};
  }
  void sweep(int from);

  context ctx_;
  vector_ops ops_;
  any_spmv_plan plan_;
  scalar_type type_;
  index_t n_;
  double omega_;
  int together_;
  buffer<std::byte> inverse_, b_, residual_, iterate_[2];
  std::optional<graph> sweeps_;
  int in_graph_ = 0;
};

}  // namespace tulle::detail

// The loop in time: u <- A u, then the membrane, each cell for itself (Godunov's splitting).
#pragma once

#include <memory>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "ionic.hpp"

namespace cardiac {

struct loop_options {
  double dt = 0;  // ms, of the membrane
  bool membrane = true;
  bool times = true;  // of activation
};

class loop {
 public:
  virtual ~loop() = default;
  loop() = default;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// All cells at rest, but for their potential u.
  virtual void start(const std::vector<double>& u) = 0;
  /// `now`: before the step.
  virtual void step(double now) = 0;
  [[nodiscard]] virtual std::vector<double> potential() const = 0;
  /// In ms; NaN where not yet.
  [[nodiscard]] virtual std::vector<double> activation() const = 0;
  /// How the matrix is stored.
  [[nodiscard]] virtual std::string stored_as() const = 0;
  /// That a step reads.
  [[nodiscard]] virtual std::size_t matrix_bytes() const = 0;
};

/// u <- A u on a CPU, then the membrane. Rows of A that are floats are stored as such. A must outlive a loop.
std::unique_ptr<loop> make_loop(const tulle::context& ctx, const tulle::csr<double>& a, const loop_options& options);
/// (I - s div D grad) x = u by conjugate gradients, `a` being that matrix; then the membrane.
std::unique_ptr<loop> make_implicit_loop(const tulle::context& ctx, const tulle::csr<double>& a,
                                         const loop_options& options);

/// Activation times at the beginning: 0 where u is past the threshold already, else NaN.
std::vector<double> first_times(const std::vector<double>& u);

}  // namespace cardiac

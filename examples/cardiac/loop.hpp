// The loop in time: u <- A u, then the membrane, each cell for itself (Godunov's splitting).
#pragma once

#include <memory>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

#include "ionic.hpp"

namespace cardiac {

/// How the product A x of one step becomes the x of the next on a GPU. The first four, of the original study, multiply
/// rows of floats in f32, by x in f32; `fused` multiplies all rows in f64.
enum class hand_over {
  copy,   // a second kernel reads y and writes x in f64 and in f32
  cast,   // x in f64 alone, cast as it is read; x and y change places
  both,   // the product writes y in f64 and in f32; both change places with x
  swap,   // x and y in f64 change places; a second kernel writes x in f32
  fused,  // one kernel for product and membrane, and no f32 copy; x and y change places
};
inline constexpr hand_over all_hand_overs[] = {hand_over::copy, hand_over::cast, hand_over::both, hand_over::swap,
                                               hand_over::fused};
std::string name_of(hand_over vectors);

struct loop_options {
  double dt = 0;  // ms, of the membrane
  bool membrane = true;
  bool times = true;                     // of activation
  hand_over vectors = hand_over::fused;  // of an explicit loop on a GPU
};

class loop {
 public:
  virtual ~loop() = default;
  loop() = default;
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// All cells at rest, but for their potential u.
  virtual void start(const std::vector<double>& u, const loop_options& options) = 0;
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

/// u <- A u, then the membrane. Rows of A that are floats are stored as such. A, on the host, must outlive a loop on a
/// CPU.
std::unique_ptr<loop> make_loop(const tulle::context& ctx, const tulle::csr<double>& a);
/// (I - s div D grad) x = u by conjugate gradients, `a` being that matrix, which must outlive the loop; then the
/// membrane.
std::unique_ptr<loop> make_implicit_loop(const tulle::context& ctx, const tulle::csr<double>& a);

/// Activation times at the beginning: 0 where u is past the threshold already, else NaN.
std::vector<double> first_times(const std::vector<double>& u);

}  // namespace cardiac

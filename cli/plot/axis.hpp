// Scales of axes, and ticks at round numbers.
#pragma once

#include <string>
#include <vector>

namespace tulle::cli::plot {

struct tick {
  double at = 0;
  std::string label;
};

/// From low to high, whichever is larger; logarithmic: both above 0.
struct axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::string label;
  std::vector<tick> ticks;

  /// 0 at low, 1 at high.
  [[nodiscard]] double share(double value) const;
};

/// From low to high, with about `most` ticks, or fewer, at multiples of 1, 2 or 5 times a power of ten, least_step
/// apart at least. Labels of large numbers are 20k or 1.5M.
axis linear_axis(std::string label, double low, double high, int most, double least_step = 0);

/// From low or a bit below to high or a bit above, both above 0: 1, 2 or 5 times a power of ten. Ticks are there, or at
/// powers of ten alone where that many are enough.
axis logarithmic_axis(std::string label, double low, double high, int most);

}  // namespace tulle::cli::plot

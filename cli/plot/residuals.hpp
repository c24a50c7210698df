// The residual of a solve over its iterations.
#pragma once

#include <string>
#include <vector>

#include "frame.hpp"

namespace tulle::cli::plot {

struct residual_history {
  heading text;
  std::vector<double> residuals;  // norms; what has no logarithm is left out
  int stride = 1;                 // iterations from one to the next
  int iterations = 0;  // of the whole solve: the last residual may come sooner than a stride after the one before
  double target = 0;   // what was asked for
  double at_end = 0;   // ||b - A x||, computed when the solve had ended
};

/// On a logarithmic scale. Throws as write_picture does.
void draw_residuals(const std::string& file, const residual_history& history);

}  // namespace tulle::cli::plot

// Statistics of repeated measurements.
#pragma once

#include <span>

namespace tulle::cli::bench {

struct sample_summary {
  int count = 0;
  double mean = 0;
  double stddev = 0;  // of the sample: divided by count - 1; 0 for fewer than two
  double median = 0;  // of an even count: the mean of the two in the middle
  double min = 0;
};

/// Zeros for no samples.
sample_summary summarise(std::span<const double> samples);

/// exp(mean(log v)); 1 for no values. Values must be positive.
double geometric_mean(std::span<const double> values);

}  // namespace tulle::cli::bench

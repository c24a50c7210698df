// Statistics of repeated measurements.
#pragma once

#include <optional>
#include <span>

namespace tulle::cli::bench {

struct sample_summary {
  int count = 0;
  double mean = 0;
  double stddev = 0;  // of the sample: divided by count - 1; 0 for fewer than two
  double median = 0;  // of an even count: the mean of the two in the middle
  double min = 0;
  double lower = 0, upper = 0;  // quartiles, between samples on a straight line

  std::optional<double> others = {};  // cores that other processes kept busy meanwhile, where that is known

  /// Of the samples divided by a number.
  [[nodiscard]] sample_summary over(double divisor) const {
    return {count,         mean / divisor,  stddev / divisor, median / divisor,
            min / divisor, lower / divisor, upper / divisor,  others};
  }
  /// Between the quartiles lies this share of the median; nothing for fewer than two samples.
  [[nodiscard]] std::optional<double> spread() const {
    return count > 1 && median > 0 ? std::optional((upper - lower) / median) : std::nullopt;
  }
};

/// Zeros for no samples.
sample_summary summarise(std::span<const double> samples);

/// exp(mean(log v)); 1 for no values. Values must be positive.
double geometric_mean(std::span<const double> values);

}  // namespace tulle::cli::bench

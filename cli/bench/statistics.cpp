#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tulle::cli::bench {

namespace {

/// Of ascending samples the value below which lies the share q, as most software has it (Hyndman and Fan: Sample
/// quantiles in statistical packages, 1996, definition 7).
double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

sample_summary summarise(std::span<const double> samples) {
  if (samples.empty()) return {};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  sample_summary s;
  s.count = static_cast<int>(n);
  s.min = sorted.front();
  s.lower = quantile(sorted, 0.25);
  s.upper = quantile(sorted, 0.75);
  s.median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  s.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  if (n > 1) {
    double squares = 0;
    for (const double t : sorted) squares += (t - s.mean) * (t - s.mean);
    s.stddev = std::sqrt(squares / static_cast<double>(n - 1));
  }
  return s;
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 1;
  double logs = 0;
  for (const double v : values) logs += std::log(v);
  return std::exp(logs / static_cast<double>(values.size()));
}

}  // namespace tulle::cli::bench

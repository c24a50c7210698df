#include "core/quantity.hpp"

#include <cmath>

namespace tulle::detail {

std::string in_words(as_time t) {
  constexpr std::string_view names[] = {"ns", "us", "ms", "s"};
  double value = t.microseconds * 1e3;
  if (!std::isfinite(value) || value <= 0) return fmt::format("{:.0f} us", t.microseconds);
  std::size_t at = 0;
  for (; value >= 999.5 && at < 3; ++at) value /= 1000;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, names[at]);
}

std::string in_words(as_groups n) {
  std::string digits = fmt::format("{}", n.count);
  const std::size_t first = n.count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string in_words(as_counted n) {
  return fmt::format("{} {}{}", in_words(as_groups{n.count}), n.one, n.count == 1 ? "" : "s");
}

}  // namespace tulle::detail

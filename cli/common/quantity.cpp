#include "quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace tulle::cli {
namespace {

struct unit {
  std::string_view name;
  double microseconds;
};
constexpr std::array units{unit{"ns", 1e-3}, unit{"us", 1}, unit{"ms", 1e3}, unit{"s", 1e6}};

/// The first in which three digits do not round up to 1000.
const unit& unit_of(double microseconds) {
  for (const unit& u : units) {
    if (microseconds / u.microseconds < 999.5) return u;
  }
  return units.back();
}

}  // namespace

std::string three_digits(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const double size = std::abs(value);
  if (size >= 999.5) return size < 1e15 ? grouped(std::llround(value)) : fmt::format("{:.2e}", value);
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  return size >= 0.9995 || size == 0 ? fmt::format("{:.2f}", value) : fmt::format("{:.3f}", value);
}

std::string human_time(double microseconds) {
  constexpr double minute = 60e6, hour = 60 * minute;
  if (microseconds >= 2 * hour) return fmt::format("{:.1f} h", microseconds / hour);
  if (microseconds >= 2 * minute) {
    const auto [minutes, seconds] = std::lldiv(std::llround(microseconds / 1e6), 60);
    return fmt::format("{} min {} s", minutes, seconds);
  }
  if (microseconds <= 0) return "0 us";
  const unit& u = unit_of(microseconds);
  return fmt::format("{} {}", three_digits(microseconds / u.microseconds), u.name);
}

std::string human_times(double from, double to) {
  const unit& u = unit_of(to);
  return fmt::format("{} - {} {}", three_digits(from / u.microseconds), three_digits(to / u.microseconds), u.name);
}

std::string grouped(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return fmt::format("{} {}{}", grouped(count), many.empty() ? one : many, many.empty() ? "s" : "");
}

std::string human_rate(double bytes_a_second) { return fmt::format("{}/s", human_bytes(bytes_a_second)); }

std::string human_bytes(double bytes) {
  constexpr std::array names{"B", "kB", "MB", "GB", "TB"};
  std::size_t at = 0;
  for (; bytes >= 999.5 && at + 1 < names.size(); ++at) bytes /= 1000;
  return at == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{} {}", three_digits(bytes), names[at]);
}

}  // namespace tulle::cli

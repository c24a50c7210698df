// Numbers in what plans and solvers say of themselves: units that fit, digits in groups, plurals. They are put into
// words only where the sentence is.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tulle::detail {

/// "950 ns", "31.2 us", "2.51 s".
struct as_time {
  double microseconds;
};
/// "16,777,216".
struct as_groups {
  std::int64_t count;
};
/// "1 nonzero", "7,840 nonzeros".
struct as_counted {
  std::int64_t count;
  std::string_view one;
};

std::string in_words(as_time t);
std::string in_words(as_groups n);
std::string in_words(as_counted n);

template <class Quantity>
struct quantity_formatter : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const Quantity& q, Context& to) const {
    return fmt::formatter<std::string_view>::format(in_words(q), to);
  }
};

}  // namespace tulle::detail

template <>
struct fmt::formatter<tulle::detail::as_time> : tulle::detail::quantity_formatter<tulle::detail::as_time> {};
template <>
struct fmt::formatter<tulle::detail::as_groups> : tulle::detail::quantity_formatter<tulle::detail::as_groups> {};
template <>
struct fmt::formatter<tulle::detail::as_counted> : tulle::detail::quantity_formatter<tulle::detail::as_counted> {};

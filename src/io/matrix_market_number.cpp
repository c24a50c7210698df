// Numbers that the fast path of matrix_market_number.hpp leaves.
#include "io/matrix_market_number.hpp"

#include <algorithm>
#include <string>
#include <system_error>

namespace tulle::matrix_market {
namespace {

/// True for literals of at least 1. Tells overflow from underflow, which std::from_chars reports alike.
bool is_large(std::string_view word) {
  const std::size_t mark = std::min(word.find_first_of("eE"), word.size());
  const std::string_view digits = word.substr(0, mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t leading = digits.find_first_of("123456789");
  std::int64_t exponent = 0;
  if (mark < word.size()) {
    const char* first = word.data() + mark + 1;
    if (*first == '+') ++first;
    const auto [end, status] = std::from_chars(first, word.data() + word.size(), exponent);
    if (status == std::errc::result_out_of_range) return *first != '-';
  }
  const auto position = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading);
  return exponent > 0 ? exponent > -position : exponent + position > 0;
}

}  // namespace

conversion convert_integer(std::string_view word, std::int64_t& value) {
  if (word.starts_with("+-")) return conversion::malformed;
  const char* stop = word.data() + word.size();
  const auto [end, code] = std::from_chars(word.data() + (word.starts_with('+') ? 1 : 0), stop, value);
  if (end != stop || code == std::errc::invalid_argument) return conversion::malformed;
  return code == std::errc::result_out_of_range ? conversion::too_large : conversion::done;
}

template <std::floating_point T>
conversion convert_real(const char* p, const char* stop, T& value) {
  std::string copy;  // with an exponent that the library knows
  if (p != stop && *p == '+') {
    ++p;
    if (p != stop && *p == '-') return conversion::malformed;
  }
  if (const char* mark = std::find_if(p, stop, [](char c) { return c == 'd' || c == 'D'; }); mark != stop) {
    copy.assign(p, stop);
    copy[static_cast<std::size_t>(mark - p)] = 'e';
    p = copy.data();
    stop = p + copy.size();
  }
  const auto [end, status] = std::from_chars(p, stop, value);
  if (end != stop || status == std::errc::invalid_argument) return conversion::malformed;
  const bool negative = *p == '-';
  if (negative) ++p;
  const bool literal = is_digit(*p) || *p == '.';
  if (status == std::errc::result_out_of_range) {
    if (is_large({p, stop})) return conversion::too_large;
    value = negative ? -T{0} : T{0};
  }
  return literal && std::isinf(value) ? conversion::too_large : conversion::done;
}

template conversion convert_real<float>(const char*, const char*, float&);
template conversion convert_real<double>(const char*, const char*, double&);

}  // namespace tulle::matrix_market

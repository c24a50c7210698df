// What is wrong with a line: the slow, wordy twin of the parser.
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "core/instantiate.hpp"
#include "io/matrix_market_lines.hpp"
#include "io/matrix_market_number.hpp"

namespace tulle::matrix_market {
namespace {

struct finding {
  status code = status::success;
  std::string message;
};

finding malformed(std::string message) { return {status::invalid_format, std::move(message)}; }
finding too_large(std::string message) { return {status::overflow, std::move(message)}; }

finding check_index(std::string_view word, std::string_view what, index_t limit) {
  const char* last = word.data() + word.size();
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(word.data() + (word.starts_with('+') ? 1 : 0), last, number);
  if (end != last || code == std::errc::invalid_argument) {
    return malformed(fmt::format("{} index '{}' is not an integer", what, quoted(word)));
  }
  if (code == std::errc::result_out_of_range) {
    return too_large(fmt::format("{} index {} does not fit 64 bits", what, quoted(word)));
  }
  if (number < 1 || number > limit) {
    return malformed(fmt::format("{} index {} is outside 1 to {}", what, quoted(word), limit));
  }
  return {};
}

template <scalar T>
finding check_integer(std::string_view word) {
  const char* last = word.data() + word.size();
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(word.data() + (word.starts_with('+') ? 1 : 0), last, number);
  if (end != last || code == std::errc::invalid_argument) {
    return malformed(fmt::format("value '{}' is not an integer, as the banner says", quoted(word)));
  }
  const bool wide = std::floating_point<T> || (number >= std::numeric_limits<std::int32_t>::min() &&
                                               number <= std::numeric_limits<std::int32_t>::max());
  if (code == std::errc::result_out_of_range || !wide) {
    return too_large(fmt::format("value {} does not fit {} bits", quoted(word), std::floating_point<T> ? 64 : 32));
  }
  return {};
}

template <scalar T>
finding check_real(std::string_view word) {
  std::conditional_t<std::floating_point<T>, T, double> number = 0;
  const conversion result = convert_real(word.data(), word.data() + word.size(), number);
  if (result == conversion::malformed) return malformed(fmt::format("value '{}' is not a number", quoted(word)));
  if (result == conversion::too_large) {
    return too_large(fmt::format("value {} does not fit {}", quoted(word), name(scalar_type_of<T>)));
  }
  if constexpr (std::integral<T>) {
    if (number != std::trunc(number) || std::isinf(number)) {
      return malformed(fmt::format("value {} is not a whole number, as i32 needs", quoted(word)));
    }
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) {
      return too_large(fmt::format("value {} does not fit i32", quoted(word)));
    }
  }
  return {};
}

struct words {
  std::array<std::string_view, 4> word;
  std::size_t count = 0;
};

words split(std::string_view line) {
  words w;
  for (std::size_t p = line.find_first_not_of(" \t\v\f"); p < line.size(); p = line.find_first_not_of(" \t\v\f", p)) {
    const std::size_t end = std::min(line.find_first_of(" \t\v\f", p), line.size());
    if (w.count < w.word.size()) w.word[w.count] = line.substr(p, end - p);
    ++w.count;
    p = end;
  }
  return w;
}

std::string expectation(const header& h, std::size_t found) {
  if (h.array) return fmt::format("an array has one value a line; this one has {}", found);
  return fmt::format("an entry is row{}{}; this line has {} word{}", h.vector ? "" : ", column",
                     h.field == mm_field::pattern ? "" : ", value", found, found == 1 ? "" : "s");
}

/// The first finding of a line; success when there is none.
template <scalar T>
finding examine(std::string_view line, const entry_rules& rules) {
  const header& h = rules.head;
  const words w = split(line);
  std::size_t used = 0;
  if (!h.array) {
    if (finding f = check_index(w.word[used++], "row", h.rows); f.code != status::success) return f;
    if (!h.vector) {
      if (w.count < 2) return malformed(expectation(h, w.count));
      if (finding f = check_index(w.word[used++], "column", h.cols); f.code != status::success) return f;
    }
    if (rules.no_diagonal && w.word[0] == w.word[1]) {
      return malformed("a diagonal entry of a skew-symmetric matrix, which strict reading refuses");
    }
  }
  if (h.field != mm_field::pattern) {
    if (w.count <= used) return malformed(expectation(h, w.count));
    const std::string_view value = w.word[used++];
    if (finding f = h.field == mm_field::integer ? check_integer<T>(value) : check_real<T>(value);
        f.code != status::success) {
      return f;
    }
    if (std::integral<T> && h.symmetry == mm_symmetry::skew_symmetric && value.starts_with('-') && w.count == used) {
      return too_large(fmt::format("the negative of value {} does not fit i32", quoted(value)));
    }
  }
  if (w.count > used) return malformed(expectation(h, w.count));
  return malformed("not an entry");
}

}  // namespace

template <scalar T>
void diagnose(const source& file, const entry_rules& rules, std::size_t position) {
  const std::size_t end = std::min(file.text.find_first_of("\r\n", position), file.text.size());
  const finding f = examine<T>(file.text.substr(position, end - position), rules);
  fail(f.code, file, line_of(file.text, position), f.message);
}

#define TULLE_INSTANTIATE(T) template void diagnose<T>(const source&, const entry_rules&, std::size_t);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::matrix_market

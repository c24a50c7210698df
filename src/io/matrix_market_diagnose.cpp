// What is wrong with a line: the slow, wordy twin of the parser.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "core/instantiate.hpp"
#include "io/matrix_market_lines.hpp"
#include "io/matrix_market_number.hpp"

namespace tulle::matrix_market {
namespace {

/// The line that is wrong.
struct bad_line {
  const source& file;
  std::size_t position;

  [[noreturn]] void malformed(const std::string& message) const {
    fail(status::invalid_format, file, line_of(file.text, position), message);
  }
  [[noreturn]] void too_large(const std::string& message) const {
    fail(status::overflow, file, line_of(file.text, position), message);
  }
};

void check_index(const bad_line& line, std::string_view word, std::string_view what, index_t limit) {
  std::int64_t number = 0;
  const conversion result = convert_integer(word, number);
  if (result == conversion::malformed) {
    line.malformed(fmt::format("{} index '{}' is not an integer", what, quoted(word)));
  }
  if (result == conversion::too_large) {
    line.too_large(fmt::format("{} index {} does not fit 64 bits", what, quoted(word)));
  }
  if (number < 1 || number > limit) {
    line.malformed(fmt::format("{} index {} is outside 1 to {}", what, quoted(word), limit));
  }
}

template <scalar T>
void check_integer(const bad_line& line, std::string_view word) {
  std::int64_t number = 0;
  const conversion result = convert_integer(word, number);
  if (result == conversion::malformed) {
    line.malformed(fmt::format("value '{}' is not an integer, as the banner says", quoted(word)));
  }
  const bool fits = !std::integral<T> || std::in_range<std::conditional_t<std::integral<T>, T, std::int64_t>>(number);
  if (result == conversion::too_large || !fits) {
    line.too_large(fmt::format("value {} does not fit {} bits", quoted(word), std::same_as<T, std::int32_t> ? 32 : 64));
  }
}

template <scalar T>
void check_real(const bad_line& line, std::string_view word) {
  std::conditional_t<std::floating_point<T>, T, double> number = 0;
  const conversion result = convert_real(word.data(), word.data() + word.size(), number);
  if (result == conversion::malformed) line.malformed(fmt::format("value '{}' is not a number", quoted(word)));
  bool fits = result == conversion::done;
  if constexpr (std::integral<T>) {
    if (fits && (number != std::trunc(number) || std::isinf(number))) {
      line.malformed(fmt::format("value {} is not a whole number, as {} needs", quoted(word), name(scalar_type_of<T>)));
    }
    constexpr double end_of_range = static_cast<double>(T{1} << (8 * sizeof(T) - 2)) * 2;
    fits = fits && number >= -end_of_range && number < end_of_range;
  }
  if (!fits) line.too_large(fmt::format("value {} does not fit {}", quoted(word), name(scalar_type_of<T>)));
}

std::string expectation(const header& h, std::size_t found) {
  const bool complex = h.field == mm_field::complex;
  if (h.array && complex) return fmt::format("a complex array has two numbers per line; this one has {}", found);
  if (h.array) return fmt::format("an array has one value per line; this one has {}", found);
  return fmt::format("an entry is row{}{}; this line has {} word{}", h.vector ? "" : ", column",
                     h.field == mm_field::pattern ? "" : complex ? ", real part, imaginary part" : ", value", found, found == 1 ? "" : "s");
}

}  // namespace

template <scalar T>
void diagnose(const source& file, const header& h, std::size_t position) {
  const bad_line line{file, position};
  std::string_view rest = file.text.substr(position);
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  std::array<std::string_view, 5> words;
  std::size_t count = 0;
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
    if (count < words.size()) words[count] = word;
    ++count;
  }
  std::size_t used = 0;
  if (!h.array) {
    check_index(line, words[used++], "row", h.rows);
    if (!h.vector) {
      if (count < 2) line.malformed(expectation(h, count));
      check_index(line, words[used++], "column", h.cols);
    }
    if (h.no_diagonal && words[0] == words[1]) {
      line.malformed("a diagonal entry of a skew-symmetric matrix, which strict reading refuses");
    }
  }
  if (h.field != mm_field::pattern) {
    if (count <= used) line.malformed(expectation(h, count));
    const std::string_view value = words[used++];
    h.field == mm_field::integer ? check_integer<T>(line, value) : check_real<T>(line, value);
    if (h.field == mm_field::complex) {
      if (count <= used) line.malformed(expectation(h, count));
      check_real<T>(line, words[used++]);
    }
    if (std::integral<T> && h.symmetry == mm_symmetry::skew_symmetric && value.starts_with('-') && count == used) {
      line.too_large(fmt::format("the negative of value {} does not fit {}", quoted(value), name(scalar_type_of<T>)));
    }
  }
  line.malformed(count > used ? expectation(h, count) : "not an entry");
}

#define TULLE_INSTANTIATE(T) template void diagnose<T>(const source&, const header&, std::size_t);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market

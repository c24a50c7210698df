// Cutting the text into segments, and the parser of their lines.
#include "io/matrix_market_lines.hpp"

#include <algorithm>
#include <limits>

#include "core/instantiate.hpp"
#include "io/matrix_market_number.hpp"

namespace tulle::matrix_market {
namespace {

/// Characters of the shortest entry, its line end included.
std::size_t shortest_entry(const header& h) {
  const std::size_t numbers = h.array ? 1 : (h.vector ? 1U : 2U) + (h.field == mm_field::pattern ? 0U : 1U);
  return 2 * numbers;
}

/// One entry, up to its line end; null when it is none.
template <scalar T, mm_field Field, bool Array>
const char* read_entry(const char* p, const entry_rules& rules, destination<T> to) {
  if constexpr (!Array) {
    p = read_index(p, rules.head.rows, *to.row);
    if (p == nullptr) return nullptr;
    *to.col = 0;
    if (!rules.head.vector) {
      if (!is_blank(*p)) return nullptr;
      p = read_index(skip_blanks(p), rules.head.cols, *to.col);
      if (p == nullptr) return nullptr;
    }
    if (rules.no_diagonal && *to.row == *to.col) return nullptr;
  }
  if constexpr (Field != mm_field::pattern) {
    if constexpr (!Array) {
      if (!is_blank(*p)) return nullptr;
      p = skip_blanks(p);
    }
    p = Field == mm_field::integer ? read_integer_as<T>(p, *to.value) : read_real_as<T>(p, *to.value);
    if (p == nullptr) return nullptr;
    if constexpr (std::integral<T>) {  // whose negative is wanted too
      if (rules.head.symmetry == mm_symmetry::skew_symmetric && *to.value == std::numeric_limits<T>::min()) return nullptr;
    }
  }
  p = skip_blanks(p);
  return is_line_end(*p) ? p : nullptr;
}

/// `lines` ends in a line end. Sets count, and failed and error where a line is no entry.
template <scalar T, mm_field Field, bool Array>
void parse_lines(std::string_view lines, const entry_rules& rules, destination<T> to, segment& s) {
  const char* p = lines.data();
  const char* end = p + lines.size();
  while (p != end) {
    const char* line = p;
    p = skip_blanks(p);
    if (is_line_end(*p)) {
      ++p;
      continue;
    }
    if (*p == '%') {
      p = skip_to_line_end(p) + 1;
      continue;
    }
    p = read_entry<T, Field, Array>(p, rules, to);
    if (p == nullptr) {
      s.failed = true;
      s.error = s.begin + static_cast<std::size_t>(line - lines.data());
      return;
    }
    ++p;
    ++s.count;
    if constexpr (!Array) {
      ++to.row;
      ++to.col;
    }
    if constexpr (Field != mm_field::pattern) ++to.value;
  }
}

}  // namespace

std::vector<segment> cut_at_line_ends(const source& file, std::size_t data, int threads) {
  constexpr std::size_t smallest = std::size_t{1} << 15;
  constexpr std::size_t largest = std::size_t{1} << 19;
  const std::size_t size = file.text.size();
  const std::size_t step = std::clamp((size - data) / (8 * static_cast<std::size_t>(threads)), smallest, largest);
  std::vector<segment> segments;
  for (std::size_t begin = data; begin < size;) {
    std::size_t end = size;
    if (size - begin > step) end = std::min(file.text.find_first_of("\n\r", begin + step), size - 1) + 1;
    segments.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return segments;
}

std::int64_t bound_entries(std::string_view lines, const header& h) {
  std::size_t ends = 1;
  for (std::size_t i = 0; i < lines.size();) {
    std::uint8_t few = 0;  // a sum of bytes: the compiler adds them 16 or 32 at a time
    const std::size_t stop = std::min(i + 255, lines.size());
    for (; i < stop; ++i) few = static_cast<std::uint8_t>(few + (is_line_end(lines[i]) ? 1 : 0));
    ends += few;
  }
  return static_cast<std::int64_t>(std::min(ends, lines.size() / shortest_entry(h) + 1));
}

template <scalar T>
line_parser<T> parser_for(const header& h) {
  const bool integer = h.field == mm_field::integer;
  if (h.array) return integer ? parse_lines<T, mm_field::integer, true> : parse_lines<T, mm_field::real, true>;
  if (h.field == mm_field::pattern) return parse_lines<T, mm_field::pattern, false>;
  return integer ? parse_lines<T, mm_field::integer, false> : parse_lines<T, mm_field::real, false>;
}

std::int64_t line_of_entry(const source& file, const segment& s, std::int64_t k) {
  for (std::size_t p = s.begin; p < s.end;) {
    const std::size_t first = std::min(file.text.find_first_not_of(" \t\v\f", p), s.end);
    const std::size_t end = std::min(file.text.find_first_of("\n\r", first), s.end);
    if (first < end && file.text[first] != '%' && k-- == 0) return line_of(file.text, p);
    p = end + 1;
  }
  return line_of(file.text, s.end);
}

#define TULLE_INSTANTIATE(T) template line_parser<T> parser_for<T>(const header&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::matrix_market

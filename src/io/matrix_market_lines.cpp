// Cutting the text into segments, and the parser of their lines.
#include "io/matrix_market_lines.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>

#include "core/instantiate.hpp"
#include "io/matrix_market_number.hpp"
#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

/// Characters of the shortest entry, its line end included.
std::size_t shortest_entry(const header& h) {
  const std::size_t value = h.field == mm_field::pattern ? 0 : h.field == mm_field::complex ? 2 : 1;
  const std::size_t numbers = h.array ? value : (h.vector ? 1U : 2U) + value;
  return 2 * numbers;
}

template <class E>
const char* read_position(const char* p, const header& h, E& to) {
  p = read_index(p, h.rows, to.row);
  if (p == nullptr) return nullptr;
  to.col = 0;
  if (!h.vector) {
    if (!is_blank(*p)) return nullptr;
    p = read_index(skip_blanks(p), h.cols, to.col);
    if (p == nullptr) return nullptr;
  }
  return h.no_diagonal && to.row == to.col ? nullptr : p;
}

/// The two parts of a complex number; one of a real file is its real part.
template <mm_field Field>
const char* read_complex(const char* p, const char* end, std::complex<double>& value) {
  double re = 0, im = 0;
  p = read_real(p, end, re);
  if (Field == mm_field::complex && p != nullptr) p = is_blank(*p) ? read_real(skip_blanks(p), end, im) : nullptr;
  value = {re, im};
  return p;
}

template <mm_field Field, scalar T>
const char* read_value(const char* p, const char* end, const header& h, T& value) {
  if constexpr (complex_scalar<T>)
    return read_complex<Field>(p, end, value);
  else
    p = Field == mm_field::integer ? read_integer_as<T>(p, end, value) : read_real_as<T>(p, end, value);
  if constexpr (std::integral<T>) {  // whose negative is wanted too
    const bool skew = h.symmetry == mm_symmetry::skew_symmetric;
    if (skew && p != nullptr && value == std::numeric_limits<T>::min()) return nullptr;
  }
  return p;
}

/// One entry, up to its line end; null when it is none.
template <mm_field Field, class E>
const char* read_entry(const char* p, const char* end, const header& h, E& to) {
  if constexpr (requires { to.row; }) {
    p = read_position(p, h, to);
    if (p == nullptr) return nullptr;
  }
  if constexpr (requires { to.value; }) {
    if constexpr (requires { to.row; }) {
      if (!is_blank(*p)) return nullptr;
      p = skip_blanks(p);
    }
    p = read_value<Field>(p, end, h, to.value);
    if (p == nullptr) return nullptr;
  }
  p = skip_blanks(p);
  return is_line_end(*p) ? p : nullptr;
}

template <class E>
void put(E* to, std::int64_t k, const E& entry) {
  to[k] = entry;
}
template <class E, scalar T>
void put(const entry_arrays<T>& to, std::int64_t k, const E& entry) {
  to.row[k] = entry.row;
  to.col[k] = entry.col;
  if constexpr (requires { entry.value; }) to.value[k] = entry.value;
}

template <mm_field Field, class E, class To>
void parse_lines(std::string_view lines, const header& h, To to, segment& s) {
  const char* p = lines.data();
  const char* end = p + lines.size();
  std::int64_t count = 0;
  E entry;
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
    p = count < s.room ? read_entry<Field>(p, end, h, entry) : nullptr;
    if (p == nullptr) {
      s.failed = true;
      s.error = s.begin + static_cast<std::size_t>(line - lines.data());
      break;
    }
    ++p;
    put(to, count++, entry);
  }
  s.count = count;
}

/// How many i of first .. last - 1 `is_one` holds for.
template <class F>
std::int64_t count_positions(std::size_t first, std::size_t last, F is_one) {
  std::int64_t count = 0;
  while (first < last) {
    std::uint8_t few = 0;  // a sum of bytes: the compiler adds them 16 or 32 at a time
    const std::size_t stop = std::min(first + 255, last);
    for (; first < stop; ++first) few = static_cast<std::uint8_t>(few + (is_one(first) ? 1 : 0));
    count += few;
  }
  return count;
}

/// Position of the first line end from `position` on; past the end of the text when there is none.
std::size_t find_line_end(const source& file, std::size_t position) {
  if (file.fd < 0) return file.text.find_first_of("\n\r", position);
  std::array<char, 1024> piece;
  while (position < file.bytes) {
    const std::size_t size = std::min(piece.size(), file.bytes - position);
    if (!read_at(file.fd, piece.data(), size, file.start + static_cast<std::int64_t>(position))) throw text_needed();
    const std::size_t at = std::string_view(piece.data(), size).find_first_of("\n\r");
    if (at != std::string_view::npos) return position + at;
    position += size;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<segment> cut_at_line_ends(const source& file, std::size_t data, int threads, std::size_t smallest,
                                      std::size_t largest) {
  const std::size_t size = file.size();
  const std::size_t step = std::clamp((size - data) / (8 * static_cast<std::size_t>(threads)), smallest, largest);
  std::vector<segment> segments;
  for (std::size_t begin = data; begin < size;) {
    std::size_t end = size;
    if (size - begin > step) end = std::min(find_line_end(file, begin + step), size - 1) + 1;
    segments.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return segments;
}

std::int64_t most_entries(std::size_t characters, const header& h) {
  return static_cast<std::int64_t>(characters / shortest_entry(h) + 1);
}

std::int64_t bound_entries(std::string_view lines, const header& h) {
  const std::int64_t ends = 1 + count_positions(0, lines.size(), [&](std::size_t i) { return is_line_end(lines[i]); });
  return std::min(ends, most_entries(lines.size(), h));
}

std::int64_t count_entry_starts(std::string_view text) {
  const char* p = text.data();
  return count_positions(1, text.size(), [p](std::size_t i) {
    const bool begins_entry = (p[i] > '%') | (p[i] == ' ') | (p[i] == '\t');
    return is_line_end(p[i - 1]) & begins_entry;
  });
}

template <class E, class To>
line_parser<E, To> parser_for(const header& h) {
  if constexpr (std::same_as<E, pattern_entry>) {
    return parse_lines<mm_field::pattern, E, To>;
  } else if constexpr (complex_scalar<typename E::type>) {
    return h.field == mm_field::complex ? parse_lines<mm_field::complex, E, To> : parse_lines<mm_field::real, E, To>;
  } else {
    return h.field == mm_field::integer ? parse_lines<mm_field::integer, E, To> : parse_lines<mm_field::real, E, To>;
  }
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

#define TULLE_INSTANTIATE(T)                                                                                          \
  template line_parser<array_entry<T>> parser_for<array_entry<T>>(const header&);                                     \
  template line_parser<valued_entry<T>> parser_for<valued_entry<T>>(const header&);                                   \
  template line_parser<valued_entry<T>, entry_arrays<T>> parser_for<valued_entry<T>, entry_arrays<T>>(const header&); \
  template line_parser<pattern_entry, entry_arrays<T>> parser_for<pattern_entry, entry_arrays<T>>(const header&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)
template line_parser<pattern_entry> parser_for<pattern_entry>(const header&);

}  // namespace tulle::matrix_market

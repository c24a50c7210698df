// Parallel parse. The text is cut at line ends into segments; each is counted, given room, and parsed straight into the
// arrays. Errors are looked at in the order of the file afterwards, so that threads do not show.
#include "io/matrix_market_entries.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/instantiate.hpp"
#include "io/matrix_market_number.hpp"

namespace tulle::matrix_market {
namespace {

/// Characters of the shortest entry, its line end included.
std::size_t shortest_entry(const header& h) {
  const std::size_t numbers = h.array ? 1 : (h.vector ? 1U : 2U) + (h.field == mm_field::pattern ? 0U : 1U);
  return 2 * numbers;
}

std::vector<segment> cut_at_line_ends(const source& file, std::size_t data, int threads) {
  constexpr std::size_t smallest = std::size_t{1} << 16;
  constexpr std::size_t largest = std::size_t{1} << 21;
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

/// Entries that a segment can hold at most.
std::int64_t bound_entries(std::string_view lines, std::size_t shortest) {
  std::size_t ends = 1;
  for (std::size_t i = 0; i < lines.size();) {
    std::uint8_t few = 0;  // a sum of bytes: the compiler adds them 16 or 32 at a time
    const std::size_t stop = std::min(i + 255, lines.size());
    for (; i < stop; ++i) few = static_cast<std::uint8_t>(few + (is_line_end(lines[i]) ? 1 : 0));
    ends += few;
  }
  return static_cast<std::int64_t>(std::min(ends, lines.size() / shortest + 1));
}

template <scalar T>
struct destination {
  index_t* row;
  index_t* col;
  T* value;
};

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

template <scalar T>
using line_parser = void (*)(std::string_view, const entry_rules&, destination<T>, segment&);

template <scalar T>
line_parser<T> parser_for(const header& h) {
  const bool integer = h.field == mm_field::integer;
  if (h.array) return integer ? parse_lines<T, mm_field::integer, true> : parse_lines<T, mm_field::real, true>;
  if (h.field == mm_field::pattern) return parse_lines<T, mm_field::pattern, false>;
  return integer ? parse_lines<T, mm_field::integer, false> : parse_lines<T, mm_field::real, false>;
}

template <scalar T>
destination<T> room_of(entry_list<T>& list, const segment& s) {
  const auto at = [&](auto& array) { return array.empty() ? nullptr : array.data() + s.first; };
  return {at(list.row), at(list.col), at(list.value)};
}

/// Gives every segment room in the arrays for what it can hold.
template <scalar T>
void make_room(const context& ctx, const source& file, const header& h, entry_list<T>& list) {
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
  const std::size_t shortest = shortest_entry(h);
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx.threads()) if (segments > 1)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    segment& s = list.segments[static_cast<std::size_t>(i)];
    s.first = bound_entries(file.text.substr(s.begin, s.end - s.begin), shortest);
  }
  std::int64_t total = 0;
  for (segment& s : list.segments) total += std::exchange(s.first, total);
  const auto size = static_cast<std::size_t>(total);
  if (!h.array) list.row = buffer<index_t>(ctx, size);
  if (!h.array) list.col = buffer<index_t>(ctx, size);
  if (h.field != mm_field::pattern) list.value = buffer<T>(ctx, size);
}

template <scalar T>
void check(const source& file, const entry_rules& rules, const std::vector<segment>& segments) {
  const header& h = rules.head;
  const std::string_view what = h.array ? "value" : "entry";
  std::int64_t seen = 0;
  for (const segment& s : segments) {
    if (s.count > h.entries - seen) {
      fail(status::invalid_format, file, line_of_entry(file, s, h.entries - seen),
           fmt::format("{} number {}; the size line (line {}) allows {}", what, h.entries + 1, h.size_line, h.entries));
    }
    if (s.failed) diagnose<T>(file, rules, s.error);
    seen += s.count;
  }
  if (seen < h.entries) {
    fail(status::invalid_format, file, line_of(file.text, file.text.size() - 1),
         fmt::format("the file ends after {} number {}; the size line (line {}) wants {}", what, seen, h.size_line, h.entries));
  }
}

}  // namespace

template <scalar T>
entry_list<T> parse_entries(const context& ctx, const source& file, const entry_rules& rules) {
  entry_list<T> list;
  list.segments = cut_at_line_ends(file, rules.head.data, ctx.threads());
  make_room(ctx, file, rules.head, list);
  std::string tail;  // the last segment, where the file does not end in a line end
  if (!list.segments.empty() && !is_line_end(file.text.back())) {
    const segment& last = list.segments.back();
    tail = std::string(file.text.substr(last.begin, last.end - last.begin)) + '\n';
  }
  const line_parser<T> parse = parser_for<T>(rules.head);
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx.threads()) if (segments > 1)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    segment& s = list.segments[static_cast<std::size_t>(i)];
    const bool in_tail = i + 1 == segments && !tail.empty();
    parse(in_tail ? std::string_view(tail) : file.text.substr(s.begin, s.end - s.begin), rules, room_of(list, s), s);
  }
  check<T>(file, rules, list.segments);
  return list;
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

#define TULLE_INSTANTIATE(T) template entry_list<T> parse_entries<T>(const context&, const source&, const entry_rules&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::matrix_market

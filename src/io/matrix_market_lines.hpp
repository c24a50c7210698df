// Segments: runs of whole lines that are parsed side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tulle/core/types.hpp>
#include <vector>

#include "io/matrix_market_header.hpp"

namespace tulle::matrix_market {

struct segment {
  std::size_t begin = 0;  // in the text
  std::size_t end = 0;
  std::int64_t first = 0;  // where its entries are in the arrays of the entry_list
  std::int64_t count = 0;  // entries
  std::int64_t upper = 0;  // of them above the diagonal, where the file has symmetry
  std::int64_t room = 0;   // most entries that its lines can hold
  bool failed = false;     // the line at `error` is not an entry, or the file could not be read
  std::size_t error = 0;
};

/// What a line holds, 0-based; `type` is the scalar that messages speak of.
struct pattern_entry {
  using type = double;
  index_t row;
  index_t col;
};
template <scalar T>
struct valued_entry {
  using type = T;
  index_t row;
  index_t col;
  T value;
};
template <scalar T>
struct array_entry {
  using type = T;
  T value;
};

/// Entries in arrays of their own; those of a pattern have no value.
template <scalar T>
struct entry_arrays {
  index_t* row;
  index_t* col;
  T* value;

  [[nodiscard]] entry_arrays from(std::int64_t k) const { return {row + k, col + k, value + k}; }
};

/// Parses lines, the last of which must have its line end, into at most `room` entries of type E one after the other;
/// sets count, and failed and error at the first line that is no entry, comment or blank, or has no room.
/// To: E*, or entry_arrays.
template <class E, class To = E*>
using line_parser = void (*)(std::string_view lines, const header&, To, segment&);
template <class E, class To = E*>
line_parser<E, To> parser_for(const header& h);

/// Segments of whole lines, of about `smallest` to `largest` characters; the last one may lack its line end.
std::vector<segment> cut_at_line_ends(const source& file, std::size_t data, int threads,
                                      std::size_t smallest = std::size_t{1} << 15,
                                      std::size_t largest = std::size_t{1} << 19);
/// Entries that so many characters can hold at most.
std::int64_t most_entries(std::size_t characters, const header& h);
/// Entries that these lines can hold at most.
std::int64_t bound_entries(std::string_view lines, const header& h);
/// Lines of `text` after its first that do not begin as a comment or end at once: at least as many as entries.
std::int64_t count_entry_starts(std::string_view text);
/// Line number of the k-th entry (from 0) of a segment.
std::int64_t line_of_entry(const source& file, const segment& s, std::int64_t k);

/// Says what is wrong with the line at `position`, which the parser could not read as an entry of a T matrix.
template <scalar T>
[[noreturn]] void diagnose(const source& file, const header& h, std::size_t position);

}  // namespace tulle::matrix_market

// Segments: runs of whole lines that are parsed side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tulle/core/types.hpp>

#include "io/matrix_market_header.hpp"

namespace tulle::matrix_market {

struct segment {
  std::size_t begin = 0;  // in the text
  std::size_t end = 0;
  std::int64_t first = 0;  // where its entries are in the arrays of the entry_list
  std::int64_t count = 0;  // entries
  bool failed = false;     // the line at `error` is not an entry
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

/// Parses lines, the last of which must have its line end, into entries of type E one after the other; sets count, and
/// failed and error at the first line that is no entry, comment or blank.
template <class E>
using line_parser = void (*)(std::string_view lines, const header&, E*, segment&);
template <class E>
line_parser<E> parser_for(const header& h);

/// Segments of whole lines; the last one may lack its line end.
std::vector<segment> cut_at_line_ends(const source& file, std::size_t data, int threads);
/// Entries that these lines can hold at most.
std::int64_t bound_entries(std::string_view lines, const header& h);
/// Line number of the k-th entry (from 0) of a segment.
std::int64_t line_of_entry(const source& file, const segment& s, std::int64_t k);

/// Says what is wrong with the line at `position`, which the parser could not read as an entry of a T matrix.
template <scalar T>
[[noreturn]] void diagnose(const source& file, const header& h, std::size_t position);

}  // namespace tulle::matrix_market

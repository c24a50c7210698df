// The data of a Matrix Market file, parsed in parallel, in the order of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/types.hpp>

#include "io/matrix_market_header.hpp"

namespace tulle::matrix_market {

/// A run of whole lines, and its entries: `first` .. `first + count - 1` of the arrays.
struct segment {
  std::size_t begin = 0;  // in the text
  std::size_t end = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool failed = false;    // the line at `error` is not an entry
  std::size_t error = 0;
};

/// Entries as the file lists them, 0-based, without their mirror images. There may be gaps between segments.
template <scalar T>
struct entry_list {
  std::vector<segment> segments;  // in the order of the file
  buffer<index_t> row;            // empty for arrays
  buffer<index_t> col;            // empty for arrays
  buffer<T> value;                // empty for patterns
};

/// What an entry must keep to.
struct entry_rules {
  header head;
  bool no_diagonal = false;  // strict skew-symmetric files
};

/// Reads exactly as many entries as the size line says. Allocates no more than the lines that are there can hold.
/// Throws INVALID_FORMAT or OVERFLOW naming the first wrong line, whatever the number of threads.
template <scalar T>
entry_list<T> parse_entries(const context& ctx, const source& file, const entry_rules& rules);

/// Line number of the k-th entry (from 0) of a segment.
std::int64_t line_of_entry(const source& file, const segment& s, std::int64_t k);

/// Says what is wrong with the line at `position`, which parse_entries could not read as an entry of a T matrix.
template <scalar T>
[[noreturn]] void diagnose(const source& file, const entry_rules& rules, std::size_t position);

}  // namespace tulle::matrix_market

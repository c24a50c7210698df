// The data of a Matrix Market file, parsed in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <utility>
#include <vector>

#include "io/matrix_market_lines.hpp"

namespace tulle::matrix_market {

/// The lines of a segment as the line parser wants them, the last one with its end: where they are, or in `held`, which
/// must have the room. Nothing where the file could not be read.
std::optional<std::string_view> lines_of(const source& file, const segment& s, std::vector<char>& held);
/// Room for the longest segment and a line end, where `lines_of` may need it.
std::vector<char> room_for_lines(const source& file, const std::vector<segment>& segments);

/// Throws INVALID_FORMAT or OVERFLOW naming the first line that is wrong, or where there are fewer or more entries than
/// the size line claims.
template <scalar T>
void check(const source& file, const header& h, const std::vector<segment>& segments);

/// Entries of a coordinate file with their mirror images, 0-based. Within a segment they are in buckets of
/// 2^shift rows, and within a bucket in the order of the file, each mirror image right after its entry.
template <class E>
struct entry_list {
  std::vector<segment> segments;  // in the order of the file, which that of their entries need not be
  int shift = 0;
  std::size_t buckets = 1;
  std::vector<std::uint32_t> starts;  // (buckets + 1) a segment: where its buckets start, from segment::first on
  buffer<E> entries;

  /// Positions [first, second) of a bucket of a segment.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range(std::size_t segment_number, std::size_t bucket) const {
    const std::uint32_t* start = starts.data() + segment_number * (buckets + 1) + bucket;
    return {segments[segment_number].first + start[0], segments[segment_number].first + start[1]};
  }
};

/// Reads exactly as many entries as the size line says. Allocates no more than the lines that are there can hold.
/// Throws INVALID_FORMAT or OVERFLOW naming the first wrong line, whatever the number of threads.
/// E: a pattern_entry or a valued_entry.
template <class E>
entry_list<E> parse_entries(const context& ctx, const source& file, const header& h);

/// The same for the values of an array, in the order of the file. There may be gaps between segments.
template <scalar T>
struct value_list {
  std::vector<segment> segments;
  buffer<array_entry<T>> entries;
};
template <scalar T>
value_list<T> parse_values(const context& ctx, const source& file, const header& h);

}  // namespace tulle::matrix_market

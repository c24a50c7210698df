// Parallel parse. The text is cut at line ends into segments; each is read and parsed into scratch memory that stays in
// the cache and dealt out from there by row (the first digit of a radix sort), so that the sort that follows works in
// the cache too. Errors are looked at afterwards, in the order of the file.
#include "io/matrix_market_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <span>
#include <utility>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "io/matrix_market_number.hpp"
#include "io/matrix_market_text.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t most_buckets = 512;

/// Calls f(part, segment, its lines) for all of them side by side; one that cannot be read has failed. Those of one
/// part, of which there are as many as threads at most, come one after the other.
template <class F>
void for_each_segment(const context& ctx, const source& file, std::vector<segment>& segments, F f) {
  const auto count = static_cast<std::ptrdiff_t>(segments.size());
  const int threads = static_cast<int>(std::clamp<std::ptrdiff_t>(count, 1, ctx.threads()));
  std::vector<std::vector<char>> held(static_cast<std::size_t>(threads));
  for (std::vector<char>& mine : held) mine = room_for_lines(file, segments);
  parallel_chunks(threads, count, 1, [&](int part, auto next) {
    next([&](std::ptrdiff_t i) {
      segment& s = segments[static_cast<std::size_t>(i)];
      const auto lines = lines_of(file, s, held[static_cast<std::size_t>(part)]);
      if (lines) f(part, s, *lines);
      s.failed = s.failed || !lines;
    });
  });
}

/// Gives every segment room for the values that its lines can hold. Returns their sum.
std::size_t make_room(const context& ctx, const source& file, const header& h, std::vector<segment>& segments) {
  for_each_segment(ctx, file, segments,
                   [&](int, segment& s, std::string_view lines) { s.room = bound_entries(lines, h); });
  std::int64_t total = 0;
  for (segment& s : segments) s.first = std::exchange(total, total + s.room);
  return static_cast<std::size_t>(total);
}

/// About 2^16 entries per bucket, so that what is sorted at a time fits the L2.
template <class E>
void choose_buckets(const header& h, std::size_t entries, entry_list<E>& list) {
  const std::size_t wanted = std::min(std::bit_ceil(entries >> 16), most_buckets);
  const auto rows = static_cast<std::size_t>(h.rows);
  while ((rows >> list.shift) >= std::max<std::size_t>(wanted, 1)) ++list.shift;
  list.buckets = (rows >> list.shift) + 1;
  list.starts.resize(list.segments.size() * (list.buckets + 1));
}

template <mm_symmetry Symmetry, class E>
E mirror_image(const E& entry) {
  E image = entry;
  std::swap(image.row, image.col);
  if constexpr (Symmetry == mm_symmetry::skew_symmetric && requires { image.value; }) image.value = -image.value;
  if constexpr (Symmetry == mm_symmetry::hermitian) image.value = std::conj(image.value);
  return image;
}

/// Copies the entries of a segment, and their mirror images, to their buckets. `start`: buckets + 1 of them.
template <mm_symmetry Symmetry, class E>
void deal_out(std::span<const E> from, int shift, std::span<std::uint32_t> start, E* to) {
  constexpr bool mirrored = Symmetry != mm_symmetry::general;
  std::array<std::uint32_t, most_buckets + 1> next{};
  for (const E& e : from) {
    ++next[static_cast<std::size_t>(e.row >> shift)];
    if (mirrored && e.row != e.col) ++next[static_cast<std::size_t>(e.col >> shift)];
  }
  std::uint32_t sum = 0;
  for (std::size_t b = 0; b < start.size(); ++b) {
    start[b] = sum;
    sum += std::exchange(next[b], sum);
  }
  for (const E& e : from) {
    to[next[static_cast<std::size_t>(e.row >> shift)]++] = e;
    if (mirrored && e.row != e.col) to[next[static_cast<std::size_t>(e.col >> shift)]++] = mirror_image<Symmetry>(e);
  }
}

template <class E>
auto dealer_for(mm_symmetry symmetry) {
  if constexpr (complex_scalar<typename E::type>) {
    if (symmetry == mm_symmetry::hermitian) return deal_out<mm_symmetry::hermitian, E>;
  }
  return symmetry == mm_symmetry::general     ? deal_out<mm_symmetry::general, E>
         : symmetry == mm_symmetry::symmetric ? deal_out<mm_symmetry::symmetric, E>
                                              : deal_out<mm_symmetry::skew_symmetric, E>;
}

}  // namespace

template <scalar T>
void check(const source& file, const header& h, const std::vector<segment>& segments) {
  const std::string_view what = h.array ? "value" : "entry";
  std::int64_t seen = 0;
  for (const segment& s : segments) {
    if (s.failed || s.count > h.entries - seen) file.require_text();
    if (s.count > h.entries - seen) {
      fail(status::invalid_format, file, line_of_entry(file, s, h.entries - seen),
           fmt::format("{} number {}; the size line (line {}) allows {}", what, h.entries + 1, h.size_line, h.entries));
    }
    if (s.failed) diagnose<T>(file, h, s.error);
    seen += s.count;
  }
  if (seen < h.entries) {
    file.require_text();
    fail(status::invalid_format, file, line_of(file.text, file.text.size() - 1),
         fmt::format("the file ends after {} number {}; the size line (line {}) wants {}", what, seen, h.size_line,
                     h.entries));
  }
}

std::optional<std::string_view> lines_of(const source& file, const segment& s, std::vector<char>& held) {
  const std::size_t size = s.end - s.begin;
  if (file.fd < 0) {
    const std::string_view lines = file.text.substr(s.begin, size);
    if (is_line_end(lines.back())) return lines;
    held.assign(lines.begin(), lines.end());
  } else {
    held.resize(size);
    if (!read_at(file.fd, held.data(), size, file.start + static_cast<std::int64_t>(s.begin))) return {};
  }
  if (!is_line_end(held.back())) held.push_back('\n');
  return std::string_view(held.data(), held.size());
}

std::vector<char> room_for_lines(const source& file, const std::vector<segment>& segments) {
  std::size_t longest = 0;
  if (file.fd >= 0) {
    for (const segment& s : segments) longest = std::max(longest, s.end - s.begin);
  } else if (!segments.empty() && !is_line_end(file.text.back())) {
    longest = segments.back().end - segments.back().begin;
  }
  std::vector<char> held;
  held.reserve(longest + 1);
  return held;
}

template <class E>
entry_list<E> parse_entries(const context& ctx, const source& file, const header& h) {
  entry_list<E> list;
  list.segments = cut_at_line_ends(file, h.data, ctx.threads());
  const auto threads = std::clamp<std::size_t>(list.segments.size(), 1, static_cast<std::size_t>(ctx.threads()));
  const std::size_t copies = h.symmetry == mm_symmetry::general ? 1 : 2;
  const std::size_t capacity = static_cast<std::size_t>(std::min(h.entries, most_entries(file.size(), h))) * copies;
  choose_buckets(h, capacity, list);
  list.entries = buffer<E>(ctx, capacity);
  std::size_t longest = 0;
  for (const segment& s : list.segments) longest = std::max(longest, s.end - s.begin);
  const auto room = static_cast<std::size_t>(std::min(most_entries(longest, h), h.entries) + 1);
  buffer<E> scratch(ctx, room * threads);
  const auto parse = parser_for<E>(h);
  const auto deal = dealer_for<E>(h.symmetry);
  std::atomic<std::size_t> used = 0;
  for_each_segment(ctx, file, list.segments, [&](int part, segment& s, std::string_view lines) {
    const auto number = static_cast<std::size_t>(&s - list.segments.data());
    E* mine = scratch.data() + static_cast<std::size_t>(part) * room;
    s.room = static_cast<std::int64_t>(room);
    parse(lines, h, mine, s);
    const auto count = static_cast<std::size_t>(s.count);
    const std::size_t first = used.fetch_add(count * copies);
    if (first + count * copies > capacity) return;  // more than the size line claims, as `check` will find
    s.first = static_cast<std::int64_t>(first);
    if (copies == 2) s.upper = std::count_if(mine, mine + count, [](const E& e) { return e.col > e.row; });
    const std::span<std::uint32_t> starts =
        std::span(list.starts).subspan(number * (list.buckets + 1), list.buckets + 1);
    deal({mine, count}, list.shift, starts, list.entries.data() + first);
  });
  check<typename E::type>(file, h, list.segments);
  return list;
}

template <scalar T>
value_list<T> parse_values(const context& ctx, const source& file, const header& h) {
  value_list<T> list;
  list.segments = cut_at_line_ends(file, h.data, ctx.threads());
  const std::size_t total = make_room(ctx, file, h, list.segments);
  list.entries = buffer<array_entry<T>>(ctx, total);
  const auto parse = parser_for<array_entry<T>>(h);
  for_each_segment(ctx, file, list.segments,
                   [&](int, segment& s, std::string_view lines) { parse(lines, h, list.entries.data() + s.first, s); });
  check<T>(file, h, list.segments);
  return list;
}

template entry_list<pattern_entry> parse_entries<pattern_entry>(const context&, const source&, const header&);
#define TULLE_INSTANTIATE(T)                                                                                         \
  template void check<T>(const source&, const header&, const std::vector<segment>&);                                 \
  template entry_list<valued_entry<T>> parse_entries<valued_entry<T>>(const context&, const source&, const header&); \
  template value_list<T> parse_values<T>(const context&, const source&, const header&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market

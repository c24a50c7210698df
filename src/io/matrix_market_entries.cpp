// Parallel parse. The text is cut at line ends into segments; each is counted and given room in the arrays, then parsed
// into scratch memory that stays in the cache and dealt out from there by row (the first digit of a radix sort), so
// that the sort that follows works in the cache too. Errors are looked at afterwards, in the order of the file.
#include "io/matrix_market_entries.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "core/instantiate.hpp"

namespace tulle::matrix_market {
namespace {

constexpr std::size_t most_buckets = 512;

/// Gives every segment room for what it can hold, times `copies`. Returns the sum and the largest room.
std::pair<std::size_t, std::size_t> make_room(const context& ctx, const source& file, const header& h, int copies,
                                              std::vector<segment>& segments) {
  const auto count = static_cast<std::ptrdiff_t>(segments.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx.threads()) if (count > 1)
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    segment& s = segments[static_cast<std::size_t>(i)];
    s.first = bound_entries(file.text.substr(s.begin, s.end - s.begin), h);
  }
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (segment& s : segments) {
    largest = std::max(largest, s.first);
    total += copies * std::exchange(s.first, total);
  }
  return {static_cast<std::size_t>(total), static_cast<std::size_t>(largest)};
}

template <scalar T>
void check(const source& file, const header& h, const std::vector<segment>& segments) {
  const std::string_view what = h.array ? "value" : "entry";
  std::int64_t seen = 0;
  for (const segment& s : segments) {
    if (s.count > h.entries - seen) {
      fail(status::invalid_format, file, line_of_entry(file, s, h.entries - seen),
           fmt::format("{} number {}; the size line (line {}) allows {}", what, h.entries + 1, h.size_line, h.entries));
    }
    if (s.failed) diagnose<T>(file, h, s.error);
    seen += s.count;
  }
  if (seen < h.entries) {
    fail(status::invalid_format, file, line_of(file.text, file.text.size() - 1),
         fmt::format("the file ends after {} number {}; the size line (line {}) wants {}", what, seen, h.size_line,
                     h.entries));
  }
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
  return symmetry == mm_symmetry::general     ? deal_out<mm_symmetry::general, E>
         : symmetry == mm_symmetry::symmetric ? deal_out<mm_symmetry::symmetric, E>
                                              : deal_out<mm_symmetry::skew_symmetric, E>;
}

}  // namespace

terminated_text::terminated_text(const source& file, const std::vector<segment>& segments) : text_(file.text) {
  if (segments.empty() || text_.ends_with('\n') || text_.ends_with('\r')) return;
  tail_ = text_.substr(segments.back().begin);
  tail_ += '\n';
}

std::string_view terminated_text::operator[](const segment& s) const noexcept {
  return s.end == text_.size() && !tail_.empty() ? tail_ : text_.substr(s.begin, s.end - s.begin);
}

template <class E>
entry_list<E> parse_entries(const context& ctx, const source& file, const header& h) {
  entry_list<E> list;
  list.segments = cut_at_line_ends(file, h.data, ctx.threads());
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
  const int threads = static_cast<int>(std::clamp<std::ptrdiff_t>(segments, 1, ctx.threads()));
  const int copies = h.symmetry == mm_symmetry::general ? 1 : 2;
  const auto [total, largest] = make_room(ctx, file, h, copies, list.segments);
  choose_buckets(h, total, list);
  list.entries = buffer<E>(ctx, total);
  buffer<E> scratch(ctx, largest * static_cast<std::size_t>(threads));
  const terminated_text text(file, list.segments);
  const auto parse = parser_for<E>(h);
  const auto deal = dealer_for<E>(h.symmetry);
  const std::size_t room = largest;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    const auto number = static_cast<std::size_t>(i);
    segment& s = list.segments[number];
    E* mine = scratch.data() + static_cast<std::size_t>(omp_get_thread_num()) * room;
    parse(text[s], h, mine, s);
    const std::span<std::uint32_t> starts =
        std::span(list.starts).subspan(number * (list.buckets + 1), list.buckets + 1);
    deal({mine, static_cast<std::size_t>(s.count)}, list.shift, starts, list.entries.data() + s.first);
  }
  check<typename E::type>(file, h, list.segments);
  return list;
}

template <scalar T>
value_list<T> parse_values(const context& ctx, const source& file, const header& h) {
  value_list<T> list;
  list.segments = cut_at_line_ends(file, h.data, ctx.threads());
  const std::size_t total = make_room(ctx, file, h, 1, list.segments).first;
  list.entries = buffer<array_entry<T>>(ctx, total);
  const terminated_text text(file, list.segments);
  const auto parse = parser_for<array_entry<T>>(h);
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx.threads()) if (segments > 1)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    segment& s = list.segments[static_cast<std::size_t>(i)];
    parse(text[s], h, list.entries.data() + s.first, s);
  }
  check<T>(file, h, list.segments);
  return list;
}

template entry_list<pattern_entry> parse_entries<pattern_entry>(const context&, const source&, const header&);
#define TULLE_INSTANTIATE(T)                                                                                         \
  template entry_list<valued_entry<T>> parse_entries<valued_entry<T>>(const context&, const source&, const header&); \
  template value_list<T> parse_values<T>(const context&, const source&, const header&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)

}  // namespace tulle::matrix_market

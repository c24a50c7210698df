// Parallel parse. The text is cut at line ends into segments; each is counted and given room in the arrays, then parsed
// into scratch memory that stays in the cache and dealt out from there by row (the first digit of a radix sort), so
// that the sort that follows works in the cache too. Errors are looked at afterwards, in the order of the file.
#include "io/matrix_market_entries.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <omp.h>

#include "core/instantiate.hpp"
#include "io/matrix_market_memory.hpp"

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

/// About 2^16 entries a bucket, so that what is sorted at a time fits the L2.
template <scalar T>
void choose_buckets(const header& h, std::size_t entries, entry_list<T>& list) {
  const std::size_t wanted = std::min(std::bit_ceil(entries >> 16), most_buckets);
  const auto rows = static_cast<std::size_t>(h.rows);
  while ((rows >> list.shift) >= std::max<std::size_t>(wanted, 1)) ++list.shift;
  list.buckets = (rows >> list.shift) + 1;
  list.starts.resize(list.segments.size() * (list.buckets + 1));
}

/// Copies the entries of a segment, and their mirror images, to their buckets. `start`: buckets + 1 of them.
template <mm_symmetry Symmetry, scalar T>
void deal_out(destination<T> from, std::int64_t count, int shift, std::span<std::uint32_t> start, destination<T> to) {
  std::fill(start.begin(), start.end(), 0);
  const auto bucket = [&](index_t row) -> std::uint32_t& { return start[static_cast<std::size_t>(row >> shift)]; };
  for (std::int64_t k = 0; k < count; ++k) {
    ++bucket(from.row[k]);
    if (Symmetry != mm_symmetry::general && from.row[k] != from.col[k]) ++bucket(from.col[k]);
  }
  std::uint32_t sum = 0;
  for (std::uint32_t& s : start) sum += std::exchange(s, sum);
  std::array<std::uint32_t, most_buckets + 1> next;
  std::copy(start.begin(), start.end(), next.begin());
  const auto place = [&](index_t row, index_t col, T value) {
    const std::uint32_t k = next[static_cast<std::size_t>(row >> shift)]++;
    to.row[k] = row;
    to.col[k] = col;
    if (to.value != nullptr) to.value[k] = value;
  };
  for (std::int64_t k = 0; k < count; ++k) {
    const T value = from.value == nullptr ? T{1} : from.value[k];
    place(from.row[k], from.col[k], value);
    if constexpr (Symmetry != mm_symmetry::general) {
      const bool mirrored = from.row[k] != from.col[k];
      if (mirrored) place(from.col[k], from.row[k], Symmetry == mm_symmetry::skew_symmetric ? -value : value);
    }
  }
}

template <scalar T>
auto dealer_for(mm_symmetry symmetry) {
  return symmetry == mm_symmetry::general     ? deal_out<mm_symmetry::general, T>
         : symmetry == mm_symmetry::symmetric ? deal_out<mm_symmetry::symmetric, T>
                                              : deal_out<mm_symmetry::skew_symmetric, T>;
}

/// Arrays of a list, or scratch for one segment a thread.
template <scalar T>
struct arrays {
  buffer<index_t> row;
  buffer<index_t> col;
  buffer<T> value;

  arrays(const context& ctx, std::size_t size, bool pattern)
      : row(ctx, size), col(ctx, size), value(ctx, pattern ? 0 : size) {}
  [[nodiscard]] destination<T> at(std::int64_t i) {
    return {row.data() + i, col.data() + i, value.empty() ? nullptr : value.data() + i};
  }
};

}  // namespace

terminated_text::terminated_text(const source& file, const std::vector<segment>& segments)
    : text_(file.text), tail_begin_(file.text.size()) {
  if (segments.empty() || text_.ends_with('\n') || text_.ends_with('\r')) return;
  tail_begin_ = segments.back().begin;
  tail_ = std::string(text_.substr(tail_begin_)) + '\n';
}

std::string_view terminated_text::operator[](const segment& s) const noexcept {
  return s.begin == tail_begin_ ? std::string_view(tail_) : text_.substr(s.begin, s.end - s.begin);
}

template <scalar T>
entry_list<T> parse_entries(const context& ctx, const source& file, const entry_rules& rules) {
  const header& h = rules.head;
  const bool pattern = h.field == mm_field::pattern;
  entry_list<T> list;
  list.segments = cut_at_line_ends(file, h.data, ctx.threads());
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
  const int threads = static_cast<int>(std::clamp<std::ptrdiff_t>(segments, 1, ctx.threads()));
  const int copies = h.symmetry == mm_symmetry::general ? 1 : 2;
  const auto [total, largest] = make_room(ctx, file, h, copies, list.segments);
  choose_buckets(h, total, list);
  arrays<T> all(ctx, total, pattern);
  prefer_huge_pages(all.row);
  prefer_huge_pages(all.col);
  prefer_huge_pages(all.value);
  arrays<T> scratch(ctx, largest * static_cast<std::size_t>(threads), pattern);
  const terminated_text text(file, list.segments);
  const line_parser<T> parse = parser_for<T>(h);
  const auto deal = dealer_for<T>(h.symmetry);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    const auto number = static_cast<std::size_t>(i);
    segment& s = list.segments[number];
    const destination<T> mine = scratch.at(omp_get_thread_num() * static_cast<std::int64_t>(largest));
    parse(text[s], rules, mine, s);
    const std::span<std::uint32_t> starts = std::span(list.starts).subspan(number * (list.buckets + 1), list.buckets + 1);
    deal(mine, s.count, list.shift, starts, all.at(s.first));
  }
  check<T>(file, rules, list.segments);
  list.row = std::move(all.row);
  list.col = std::move(all.col);
  list.value = std::move(all.value);
  return list;
}

template <scalar T>
value_list<T> parse_values(const context& ctx, const source& file, const entry_rules& rules) {
  value_list<T> list;
  list.segments = cut_at_line_ends(file, rules.head.data, ctx.threads());
  const std::size_t total = make_room(ctx, file, rules.head, 1, list.segments).first;
  list.value = buffer<T>(ctx, total);
  const terminated_text text(file, list.segments);
  const line_parser<T> parse = parser_for<T>(rules.head);
  const auto segments = static_cast<std::ptrdiff_t>(list.segments.size());
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx.threads()) if (segments > 1)
  for (std::ptrdiff_t i = 0; i < segments; ++i) {
    segment& s = list.segments[static_cast<std::size_t>(i)];
    parse(text[s], rules, {nullptr, nullptr, list.value.data() + s.first}, s);
  }
  check<T>(file, rules, list.segments);
  return list;
}

#define TULLE_INSTANTIATE(T)                                                                      \
  template entry_list<T> parse_entries<T>(const context&, const source&, const entry_rules&); \
  template value_list<T> parse_values<T>(const context&, const source&, const entry_rules&);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
#undef TULLE_INSTANTIATE

}  // namespace tulle::matrix_market

// Entries in the order of the file. A segment is parsed into scratch memory that stays in the cache; once those before
// it are parsed too it is known where its entries belong, and they are copied there, mirror images after all entries.
#include <algorithm>
#include <atomic>
#include <complex>
#include <exception>
#include <utility>
#include <vector>

#include "core/instantiate.hpp"
#include "core/parallel.hpp"
#include "io/matrix_market_entries.hpp"
#include "io/matrix_market_open.hpp"

namespace tulle {
namespace matrix_market {
namespace {

/// How many entries, and how many of them off the diagonal.
struct entry_counts {
  std::int64_t all = 0;
  std::int64_t beside = 0;
};

/// Adds the counts of segments up in the order of the file. Segments are begun in this order, so that the one that is
/// waited for is always being parsed.
class running_counts {
 public:
  /// Those of the segments before number i; waits until they are known.
  entry_counts before(std::ptrdiff_t i, const entry_counts& mine) noexcept {
    for (std::ptrdiff_t turn; (turn = turn_.load(std::memory_order_acquire)) != i;) {
      turn_.wait(turn, std::memory_order_acquire);
    }
    const entry_counts sum = sum_;
    sum_ = {sum.all + mine.all, sum.beside + mine.beside};
    turn_.store(i + 1, std::memory_order_release);
    turn_.notify_all();
    return sum;
  }

 private:
  std::atomic<std::ptrdiff_t> turn_ = 0;
  entry_counts sum_;
};

template <scalar T, class E>
class lister {
 public:
  lister(const context& ctx, const source& file, const header& h)
      : ctx_(ctx), file_(file), h_(h), parse_(parser_for<E, entry_arrays<T>>(h)) {}

  mm_entries<T> run() {
    constexpr std::size_t smallest = std::size_t{1} << 14, in_cache = std::size_t{1} << 16;  // characters
    std::vector<segment> segments = cut_at_line_ends(file_, h_.data, ctx_.threads(), smallest, in_cache);
    const std::int64_t most = std::min(h_.entries, most_entries(file_.size(), h_));
    const auto room = static_cast<std::size_t>(is_mirrored() ? 2 * most : most);
    mm_entries<T> list{
        h_.rows, h_.cols, h_.entries, buffer<index_t>(ctx_, room), buffer<index_t>(ctx_, room), buffer<T>(ctx_, room)};
    parse_all(segments, most, {list.row.data(), list.col.data(), list.values.data()});
    check<T>(file_, h_, segments);
    if (is_mirrored()) list.count += beside_;
    return list;
  }

 private:
  [[nodiscard]] bool is_mirrored() const { return h_.symmetry != mm_symmetry::general; }

  /// `most`: entries that there is room for, the same again for mirror images.
  void parse_all(std::vector<segment>& segments, std::int64_t most, const entry_arrays<T>& to) {
    std::size_t longest = 0;
    for (const segment& s : segments) longest = std::max(longest, s.end - s.begin);
    const std::int64_t room = std::min(most_entries(longest, h_), h_.entries) + 1;
    const auto count = static_cast<std::ptrdiff_t>(segments.size());
    const int threads = static_cast<int>(std::clamp<std::ptrdiff_t>(count, 1, ctx_.threads()));
    const auto all = static_cast<std::size_t>(room * threads);
    buffer<index_t> rows(ctx_, all), cols(ctx_, all);
    buffer<T> values(ctx_, all);
    std::vector<std::vector<char>> held(static_cast<std::size_t>(threads));
    for (std::vector<char>& mine : held) mine = room_for_lines(file_, segments);
    running_counts counts;
    parallel_chunks(threads, count, 1, [&](int part, auto next) {
      const entry_arrays<T> scratch = entry_arrays<T>{rows.data(), cols.data(), values.data()}.from(part * room);
      next([&](std::ptrdiff_t i) {
        segment& s = segments[static_cast<std::size_t>(i)];
        s.room = room;
        std::exception_ptr failure;
        try {
          const auto lines = lines_of(file_, s, held[static_cast<std::size_t>(part)]);
          if (lines) parse_(*lines, h_, scratch, s);
          s.failed = s.failed || !lines;
        } catch (...) {
          failure = std::current_exception();
        }
        const entry_counts mine{s.count, is_mirrored() ? count_beside(scratch, s.count) : 0};
        const entry_counts before = counts.before(i, mine);  // others wait for these, whatever became of the segment
        if (failure) std::rethrow_exception(failure);
        if (before.all + mine.all <= most && most == h_.entries) store(scratch, mine, before, to);
      });
    });
    beside_ = counts.before(count, {}).beside;
  }

  static std::int64_t count_beside(const entry_arrays<T>& from, std::int64_t n) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += from.row[k] != from.col[k] ? 1 : 0;
    return sum;
  }

  void store(const entry_arrays<T>& from, const entry_counts& mine, const entry_counts& before,
             const entry_arrays<T>& to) const {
    std::copy_n(from.row, mine.all, to.row + before.all);
    std::copy_n(from.col, mine.all, to.col + before.all);
    if constexpr (requires(const E& e) { e.value; }) {
      std::copy_n(from.value, mine.all, to.value + before.all);
      if (mine.beside > 0) mirror(from, mine, to.from(h_.entries + before.beside));
    } else {
      std::fill_n(to.value + before.all, mine.all, T{1});
      std::fill_n(to.value + h_.entries + before.beside, mine.beside, T{1});
      if (mine.beside > 0) mirror(from, mine, to.from(h_.entries + before.beside));
    }
  }
  void mirror(const entry_arrays<T>& from, const entry_counts& mine, const entry_arrays<T>& to) const {
    constexpr bool has_value = requires(const E& e) { e.value; };
    for (std::int64_t k = 0, at = 0; k < mine.all; ++k) {
      if (from.row[k] == from.col[k]) continue;
      to.row[at] = from.col[k];
      to.col[at] = from.row[k];
      if constexpr (has_value) to.value[at] = image(from.value[k]);
      ++at;
    }
  }
  [[nodiscard]] T image(const T& value) const {
    if constexpr (complex_scalar<T>) {
      if (h_.symmetry == mm_symmetry::hermitian) return std::conj(value);
    }
    return h_.symmetry == mm_symmetry::skew_symmetric ? -value : value;
  }

  const context& ctx_;
  const source& file_;
  const header& h_;
  line_parser<E, entry_arrays<T>> parse_;
  std::int64_t beside_ = 0;
};

template <scalar T>
mm_entries<T> entries_of(const context& ctx, csr<T> a) {
  const auto nnz = static_cast<std::size_t>(a.nnz());
  mm_entries<T> list{a.rows, a.cols, a.nnz(), buffer<index_t>(ctx, nnz), std::move(a.colind), std::move(a.values)};
  const std::int64_t* const rowptr = a.rowptr.data();
  for (index_t r = 0; r < a.rows; ++r) std::fill(list.row.data() + rowptr[r], list.row.data() + rowptr[r + 1], r);
  return list;
}

template <scalar T>
bool has_real_diagonal(const mm_entries<T>& list) {
  if constexpr (complex_scalar<T>) {
    for (std::int64_t k = 0; k < list.count; ++k) {
      if (list.row.data()[k] == list.col.data()[k] && list.values.data()[k].imag() != 0) return false;
    }
  }
  return true;
}

template <scalar T>
mm_entries<T> parse_entries_of(const source& file, const matrix_market_options& options, matrix_market_info& info) {
  const context ctx = context_for(file, options);
  const header h = opened_header<T>(file, options, info);
  if (h.array || options.strict) {
    return entries_of(ctx, parse_csr<T>(file, options, info));
  }
  mm_entries<T> list = h.field == mm_field::pattern ? lister<T, pattern_entry>(ctx, file, h).run()
                                                    : lister<T, valued_entry<T>>(ctx, file, h).run();
  if (h.symmetry == mm_symmetry::hermitian && !has_real_diagonal(list)) {
    (void)parse_csr<T>(file, options, info);  // says which entry it is, unless those of its place add up to a real one
  }
  return list;
}

}  // namespace
}  // namespace matrix_market

template <scalar T>
mm_entries<T> parse_matrix_market_entries(std::string_view text, std::string_view name,
                                          const matrix_market_options& options, matrix_market_info* info) {
  return matrix_market::of_text(text, name, info, [&](const matrix_market::source& file, matrix_market_info& learnt) {
    return matrix_market::parse_entries_of<T>(file, options, learnt);
  });
}

template <scalar T>
mm_entries<T> read_matrix_market_entries(const std::filesystem::path& file, const matrix_market_options& options,
                                         matrix_market_info* info) {
  return matrix_market::of_file(file, options, info,
                                [&](const matrix_market::source& opened, matrix_market_info& learnt) {
                                  return matrix_market::parse_entries_of<T>(opened, options, learnt);
                                });
}

#define TULLE_INSTANTIATE(T)                                                                                       \
  template mm_entries<T> read_matrix_market_entries<T>(const std::filesystem::path&, const matrix_market_options&, \
                                                       matrix_market_info*);                                       \
  template mm_entries<T> parse_matrix_market_entries<T>(std::string_view, std::string_view,                        \
                                                        const matrix_market_options&, matrix_market_info*);
TULLE_FOR_EACH_VALUE(TULLE_INSTANTIATE)
TULLE_FOR_EACH_FURTHER_READ(TULLE_INSTANTIATE)

}  // namespace tulle

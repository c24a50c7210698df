// gustavson: every row by the accumulator that suits it.
//
// Method: Gustavson's row-wise product (ACM TOMS 4(3), 1978) with accumulators chosen by row, as in Nagasaka et al.,
// "High-performance sparse matrix-matrix products on Intel KNL and multicore architectures" (ICPP 2018). The columns of
// C are found first, exactly and without values, and kept; then values are added at known columns, which is all that
// `numeric` does. Both walk the rows in parts of about equal work. One thread finds the columns of a row by
//   single  nothing: a row of A with one entry scales a row of B;
//   repeat  nothing: a row of A with the columns of the row before, as where a node has several unknowns;
//   shifted nothing: a row of A, and the rows of B that it names, are those before, one further: stencils and bands;
//   alike   an earlier row that is shifted by more, in a table: the ends of a grid's lines;
//   tiny    sorting, up to 32 products, or 64 with AVX-512;
//   window  bits for a range of columns, set by words where B is compressed to words (Wolf et al., HPEC 2017); with
//   AVX2
//           a list of columns or words, each as it is met first, which is sorted in registers where it is short;
//   hash    a hash table, where the products are few in a range too wide for a window;
//   wide    one window after another, where they are many;
// and adds in a window of sums, 8 or 4 neighbours at a time where B's rows have such, in the hash table where C's row
// is too wide, or in place where rows are shifted: where their products belong is the same in all. The products of an
// entry are added in the order of A's entries, so that bits depend on neither threads nor panels. Bytes per product: 4
// + sizeof(T) of B and, for the columns, 4 of B or 12 for a word of neighbours. Always chosen.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tulle/core/buffer.hpp>
#include <vector>

#include "core/parallel.hpp"
#include "cpu/spgemm/alike_rows.hpp"
#include "cpu/spgemm/blocked_rows.hpp"
#include "cpu/spgemm/compressed_rows.hpp"
#include "cpu/spgemm/hash_table.hpp"
#include "cpu/spgemm/kept_columns.hpp"
#include "cpu/spgemm/row_columns.hpp"
#include "cpu/spgemm/row_product.hpp"
#include "cpu/spgemm/row_schedule.hpp"
#include "cpu/spgemm/row_sums.hpp"
#include "cpu/spgemm/shifted_rows.hpp"
#include "cpu/spgemm/sink.hpp"
#include "cpu/spgemm/spread_rows.hpp"
#include "cpu/spgemm/window.hpp"

namespace tulle::cpu {

std::unique_ptr<spgemm_operator> make_spgemm_further(const context& ctx, const spgemm_problem& p);  // further.cpp

std::unique_ptr<spgemm_operator> make_spgemm_masked(const context& ctx, const spgemm_problem& p);  // masked.cpp

namespace {

/// Products in windows for a row and entry of B from which B is compressed.
constexpr std::int64_t worth_compressing = 4;

/// Columns of B in a word of 64, on average, from which words are marked in place of columns.
constexpr double full_words = 1.5;
/// The same where columns are listed otherwise.
constexpr double full_words_listed = 2.2;
/// Entries of B, with AVX2 alone, above which its rows are fetched ahead: they are not in the L2.
constexpr std::int64_t fetched_ahead = 1 << 16;
/// Entries of B in 8 columns, on average, from which they are added with vectors.
constexpr double full_blocks = 3;
/// The same in 4 columns, with AVX2.
constexpr double full_spread = 1.95;

template <scalar T, offset O>
class gustavson final : public spgemm_operator {
 public:
  gustavson(const context& ctx, const spgemm_problem& p) : ctx_(ctx), product_{p.a.as<T, O>(), p.b.as<T, O>()} {
    product_.fetches_ahead = lists_ && product_.b.nnz > fetched_ahead;
  }

  std::int64_t symbolic() override {
    const index_t rows = product_.a.rows;
    offsets_ = buffer<std::int64_t>(ctx_, static_cast<std::size_t>(rows) + 1);
    kinds_ = buffer<row_kind>(ctx_, static_cast<std::size_t>(rows));
    const needs need = classify();
    scan_counts(ctx_.threads(), offsets_.data(), rows);
    schedule_ = row_schedule(ctx_, rows, offsets_.data());
    if (need.in_windows / worth_compressing > std::int64_t{product_.b.rows} + product_.b.nnz) {
      words_ = compressed_rows::of(ctx_, isa_, product_.b, lists_ ? full_words_listed : full_words);
#if TULLE_X86
      if (isa_ == isa::avx512) blocks_ = blocked_rows::of(ctx_, product_.b, full_blocks);
      if (lists_) spread_ = spread_rows<T>::of(ctx_, isa_, product_.b, full_spread);
#endif
    }
    allocate_scratch(need);
    const std::vector<std::int64_t> most = begin_threads();
    columns_.resize(most.size());
    for (std::size_t part = 0; part < most.size(); ++part) columns_[part].prepare(ctx_, most[part]);
    std::vector<std::size_t> places(most.size());
    schedule_.run([&](int thread, int part, index_t begin, index_t end) {
      places[static_cast<std::size_t>(part)] = find_columns(thread, part, begin, end);
    });
    words_ = {};
    shifted_ = {};
    places_bytes_ = *std::ranges::max_element(places);
    places_ = buffer<std::byte>(ctx_, places_bytes_ * static_cast<std::size_t>(schedule_.threads()));
    scan_counts(schedule_.threads(), offsets_.data(), rows);
    return offsets_.data()[rows];
  }

  void fill(const spgemm_values& values, const csr_sink& c) override {
    const row_product<T, O> p = product_.with(values);
    spread_.read(ctx_, p.b);
    schedule_.run([&](int thread, int part, index_t begin, index_t end) {
      write_offsets(offsets_.data(), begin, end, c);
      copy_columns(part, begin, end, c.colind + c.first);
      add(p, thread, begin, end, c);
    });
    const std::int64_t rows = product_.a.rows;
    write_offsets(offsets_.data(), rows, rows + 1, c);
  }

  void numeric(const spgemm_values& values, const csr_sink& c) override {
    const row_product<T, O> p = product_.with(values);
    spread_.read(ctx_, p.b);
    schedule_.run([&](int thread, int, index_t begin, index_t end) { add(p, thread, begin, end, c); });
  }

  [[nodiscard]] std::size_t workspace_bytes() const noexcept override {
    std::size_t sum = offsets_.bytes() + kinds_.bytes() + schedule_.bytes() + scratch_.bytes() + words_.bytes() +
                      blocks_.bytes() + spread_.bytes() + shifted_.bytes() + places_.bytes();
    for (const kept_columns& part : columns_) sum += part.bytes();
    return sum;
  }

 private:
  struct needs {
    std::int64_t hashed;      // the most products of a row that needs a table
    std::int64_t in_windows;  // products whose columns are looked for there
    bool repeats;             // whether a row has the columns of the row before
    index_t last = -1;        // the row that was looked at last
    std::int64_t products_of_last = 0;
  };

  /// Kinds, and the work of row i in offsets_[i + 1].
  needs classify() {
    const csr_view<T, O>& a = product_.a;
    if (a.nnz >= product_.b.rows) shifted_ = shifted_rows::of(ctx_, product_.b);
    const needs least{product_.b.cols > widest_window ? tiny_products : 0, 0, false};
    std::int64_t* work = offsets_.data();
    row_kind* kinds = kinds_.data();
    const auto classify_row = [&](index_t i, needs& found) {
      const std::int64_t products = product_.products(i), entries = a.rowptr[i + 1] - a.rowptr[i];
      row_kind kind = kind_of(i, entries, products);
      if (kind == row_kind::hash) found.hashed = std::max(found.hashed, products);
      if (kind != row_kind::single && kind != row_kind::wide && has_columns_of_row_before(i)) kind = row_kind::repeat;
      if (kind == row_kind::window || kind == row_kind::wide) found.in_windows += products;
      found.repeats = found.repeats || kind == row_kind::repeat;
      kinds[i] = kind;
      work[i + 1] = products + overhead(i);
    };
    // A shifted row has as many products as the row before: they are not counted again.
    const auto classify_shifted = [&](index_t i, needs& found) {
      const bool is_next = found.last == i - 1;
      found.last = i;
      if (is_shifted(i)) {
        if (!is_next) found.products_of_last = product_.products(i);
        if (found.products_of_last <= most_shifted_products) {
          kinds[i] = row_kind::shifted;
          work[i + 1] = found.products_of_last + overhead(i);
          return;
        }
      }
      classify_row(i, found);
      found.products_of_last = work[i + 1] - overhead(i);
    };
    const auto join = [](needs& all, const needs& mine) {
      all = {std::max(all.hashed, mine.hashed), all.in_windows + mine.in_windows, all.repeats || mine.repeats};
    };
    const int threads = row_schedule::threads_for(ctx_.threads(), a);
    return shifted_.empty() ? parallel_reduce(threads, a.rows, 1024, least, classify_row, join)
                            : parallel_reduce(threads, a.rows, 1024, least, classify_shifted, join);
  }

  /// Work of row i that is no product.
  [[nodiscard]] std::int64_t overhead(index_t i) const {
    return 2 * (product_.a.rowptr[i + 1] - product_.a.rowptr[i]) + 4;
  }

  [[nodiscard]] row_kind kind_of(index_t i, std::int64_t entries, std::int64_t products) const {
    if (entries == 1) return row_kind::single;
    if (lists_) return row_kind::window;
    if (products <= (isa_ == isa::avx512 ? tiny_products : most_inserted)) return row_kind::tiny;
    if (product_.b.cols <= widest_window) return row_kind::window;
    const std::int64_t span = span_of(product_, i).size();
    if (span <= widest_window) return row_kind::window;
    return products < span / sparse_span ? row_kind::hash : row_kind::wide;
  }

  [[nodiscard]] bool has_columns_of_row_before(index_t i) const {
    if (i == 0) return false;
    const csr_view<T, O>& a = product_.a;
    const O before = a.rowptr[i - 1], begin = a.rowptr[i], end = a.rowptr[i + 1];
    return begin < end && end - begin == begin - before && a.colind[begin] == a.colind[before] &&
           a.colind[end - 1] == a.colind[begin - 1] && std::equal(a.colind + begin, a.colind + end, a.colind + before);
  }

  /// Whether C's row is the row before, shifted, by few enough entries of A, but more than one.
  [[nodiscard]] bool is_shifted(index_t i) const {
    const csr_view<T, O>&a = product_.a, &b = product_.b;
    const bool square = a.rowptr == b.rowptr && a.colind == b.colind;
    const std::uint8_t* const flags = shifted_.flags.data();
    if (!(square ? flags[i] != 0 : is_row_before_shifted(a, i))) return false;
    const O begin = a.rowptr[i], end = a.rowptr[i + 1];
    if (end - begin < 2 || end - begin > most_shifted_entries) return false;
    std::uint8_t all = 1;  // no branch for each
    for (O k = begin; k < end; ++k) all &= flags[a.colind[k]];
    return all != 0;
  }

  /// For each thread a window, sums of rows that are added together, and a hash table.
  void allocate_scratch(const needs& need) {
    hash_ = {static_cast<std::size_t>(need.hashed)};
    together_bytes_ =
        need.repeats && !(blocks_.empty() && spread_.empty()) ? together_layout(product_.b.cols).bytes(sizeof(T)) : 0;
    const std::size_t last_rows = lists_ && words_.empty() ? static_cast<std::size_t>(product_.b.cols) : 0;
    list_bytes_ = lists_ ? (list_space::size + (last_rows + 15) / 16 * 16) * sizeof(index_t) : 0;
    scratch_bytes_ =
        window_layout(product_.b.cols).bytes(sizeof(T)) + together_bytes_ + list_bytes_ + hash_.bytes(sizeof(T));
    scratch_ = buffer<std::byte>(ctx_, scratch_bytes_ * static_cast<std::size_t>(schedule_.threads()));
  }

  /// Every thread clears its scratch and counts what its parts keep: the most columns of each part.
  std::vector<std::int64_t> begin_threads() {
    std::vector<std::int64_t> most(static_cast<std::size_t>(schedule_.parts()));
    for_each_part(schedule_.threads(), [&](int thread) {
      std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
      std::fill_n(memory, scratch_bytes_ - hash_.bytes(sizeof(T)), std::byte{0});
      std::fill_n(scratch(thread).table.slots, hash_.slots(), hash_table<T>::free_slot);
      if (index_t* const rows = lists(thread).last_row; rows != nullptr) std::fill_n(rows, product_.b.cols, -1);
      schedule_.for_each_part_of(thread, [&](int part, index_t begin, index_t end) {
        find_first(part, begin, end);
        most[static_cast<std::size_t>(part)] = most_kept(part, begin, end);
      });
    });
    return most;
  }

  /// The columns of a part's first row are looked for: those of the row before are another part's.
  void find_first(int part, index_t begin, index_t end) {
    if (begin == end || !has_columns_by_row_before(begin)) return;
    const std::int64_t products = offsets_.data()[begin + 1] - schedule_.before(part) - overhead(begin);
    kinds_.data()[begin] = kind_of(begin, product_.a.rowptr[begin + 1] - product_.a.rowptr[begin], products);
  }

  [[nodiscard]] std::int64_t most_kept(int part, index_t begin, index_t end) const {
    std::int64_t sum = 0;
    for_each_row(
        part, begin, end,
        [&](index_t i, std::int64_t products) { sum += is_kept(i, products) ? most_columns(products) : 0; },
        [](index_t, index_t) {});
    return sum;
  }

  sum_space<T> scratch(int thread) {
    std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread);
    const window_layout wide(product_.b.cols);
    std::byte* together = memory + wide.bytes(sizeof(T));
    return {wide.at<T>(memory), hash_.at<T>(together + together_bytes_ + list_bytes_),
            together_bytes_ > 0 ? reinterpret_cast<sum_of<T>*>(together) : nullptr};
  }

  list_space lists(int thread) {
    if (!lists_) return {};
    std::byte* memory = scratch_.data() + scratch_bytes_ * static_cast<std::size_t>(thread) +
                        window_layout(product_.b.cols).bytes(sizeof(T)) + together_bytes_;
    auto* const numbers = reinterpret_cast<index_t*>(memory);
    return {numbers, list_bytes_ > list_space::size * sizeof(index_t) ? numbers + list_space::size : nullptr};
  }

  [[nodiscard]] std::int64_t most_columns(std::int64_t products) const {
    return std::min<std::int64_t>(products, product_.b.cols);
  }

  /// f(i, products) for the rows of a part that have columns of their own, same(first, end) for runs of those that have
  /// them by the row before. On entry offsets_[i + 1] is the work before row i + 1, which both may overwrite.
  template <class F, class Same>
  void for_each_row(int part, index_t begin, index_t end, F f, Same same) const {
    std::int64_t before = schedule_.before(part);
    for (index_t i = begin; i < end; ++i) {
      const index_t first = i;
      while (i < end && has_columns_by_row_before(i)) ++i;
      if (i > first) {
        before = offsets_.data()[i];
        same(first, i);
        if (i == end) return;
      }
      const std::int64_t after = offsets_.data()[i + 1];
      f(i, after - before - overhead(i));
      before = after;
    }
  }
  [[nodiscard]] bool has_columns_by_row_before(index_t i) const {
    return kinds_.data()[i] == row_kind::repeat || kinds_.data()[i] == row_kind::shifted;
  }
  /// Whether the columns of row i are found by its own products, and kept.
  [[nodiscard]] bool has_own_columns(index_t i) const {
    return kinds_.data()[i] != row_kind::single && !has_columns_by_row_before(i);
  }
  [[nodiscard]] bool is_kept(index_t i, std::int64_t products) const { return has_own_columns(i) && products > 0; }

  /// The columns of a part's rows to columns_, their numbers to offsets_[i + 1]. Returns what the places of rows
  /// alike take.
  std::size_t find_columns(int thread, int part, index_t begin, index_t end) {
    const sum_space<T> s = scratch(thread);
    kept_columns& home = columns_[static_cast<std::size_t>(part)];
    kept_columns kept = std::move(home);  // its counters, on no cache line of another thread
    const row_columns<T, O> columns{product_, words_, s.wide, s.table, lists(thread), isa_};
    std::optional<alike_rows<T, O>> alike;
    if (!shifted_.patterns.empty()) alike.emplace(product_, isa_, shifted_.patterns.data());
    std::int64_t* offsets = offsets_.data();
    const auto find = [&](index_t i, std::int64_t products) {
      offsets[i + 1] = products;
      if (!is_kept(i, products)) return;
      row_kind& kind = kinds_.data()[i];
      const auto look = [&](index_t* colind) { return columns.find(kind, i, products, colind); };
      index_t* const room = kept.reserve(ctx_, most_columns(products));
      const bool is_repeated = i + 1 < end && kinds_.data()[i + 1] == row_kind::repeat;
      const bool may_be_alike = alike && !is_repeated && alike->may_hold(i, products);
      const std::int64_t n = may_be_alike ? alike->columns(i, products, kind, room, look) : look(room);
      kept.keep(n);
      offsets[i + 1] = n;
    };
    for_each_row(part, begin, end, find, [&](index_t first, index_t last) {
      std::fill(offsets + first + 1, offsets + last + 1, offsets[first]);
    });
    kept.finish();
    home = std::move(kept);
    return alike ? alike->places_bytes() : 0;
  }

  void copy_columns(int part, index_t begin, index_t end, index_t* colind) const {
    kept_columns::reader kept(columns_[static_cast<std::size_t>(part)]);
    const std::int64_t* offsets = offsets_.data();
    const row_kind* kinds = kinds_.data();
    for (index_t i = begin; i < end;) {
      const index_t first = i++;
      const std::int64_t at = offsets[first], n = offsets[i] - at;
      if (kinds[first] == row_kind::repeat) {
        std::copy_n(colind + at - n, n, colind + at);
      } else if (kinds[first] == row_kind::shifted) {
        while (i < end && kinds[i] == row_kind::shifted) ++i;
        copy_shifted(isa_, colind + at - n, n, 1, i - first, colind + at);
      } else if (kinds[first] == row_kind::single) {
        std::copy_n(product_.b.colind + product_.b.rowptr[product_.a.colind[product_.a.rowptr[first]]], n, colind + at);
      } else {
        while (i < end && has_own_columns(i)) ++i;
        kept.copy(offsets[i] - at, colind + at);
      }
    }
  }

  void add(const row_product<T, O>& p, int thread, index_t begin, index_t end, const csr_sink& c) {
    std::byte* const places = places_.data() + places_bytes_ * static_cast<std::size_t>(thread);
    const row_sums<T, O> sums{p, blocks_, spread_, scratch(thread), kinds_.data(), offsets_.data(), places, isa_};
    sums.add(begin, end, c.colind + c.first, static_cast<T*>(c.values) + c.first);
  }

  context ctx_;
  isa isa_ = best_isa();
  row_product<T, O> product_;
  bool lists_ = isa_ == isa::avx2 && product_.b.cols <= widest_window;  // whether columns are listed
  buffer<std::int64_t> offsets_;                                        // rows + 1, from 0
  buffer<row_kind> kinds_;                                              // rows
  row_schedule schedule_;
  shifted_rows shifted_;               // of B, while columns are looked for; empty where they are too few
  compressed_rows words_;              // of B, while columns are looked for; empty where they are too few
  blocked_rows blocks_;                // of B; empty where they hold few entries
  spread_rows<T> spread_;              // the same with AVX2
  std::vector<kept_columns> columns_;  // of the parts; of all but single and repeat rows
  hash_layout hash_{0};
  std::size_t together_bytes_ = 0;  // of one thread
  std::size_t list_bytes_ = 0;      // of one thread
  std::size_t scratch_bytes_ = 0;   // of one thread
  buffer<std::byte> scratch_;
  std::size_t places_bytes_ = 0;  // of one thread
  buffer<std::byte> places_;      // of rows alike
};

}  // namespace

std::unique_ptr<spgemm_operator> make_spgemm_gustavson(const context& ctx, const spgemm_problem& p) {
  if (is_further(p.a.types.value)) return make_spgemm_further(ctx, p);
  return p.mask ? make_spgemm_masked(ctx, p) : make_operator<gustavson>(ctx, p);
}

}  // namespace tulle::cpu
